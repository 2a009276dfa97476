#pragma once

#include <cstdint>

namespace databuffer::detail {

class Core;
class Turn;

/// What this thread is doing for which buffer, innermost first: so that a call that would wait for
/// its own thread is refused instead. Lives on the stack while a thread works for a buffer.
class RoleFrame {
 public:
  enum class Role : std::uint8_t {
    kWork,  ///< Is one of its threads, does a consumer's work, or removes items.
    kDrop,  ///< … gives items up: on_drop runs.
    kHook,  ///< Is in a hook, of any kind of thread: this alone is no work for the buffer.
    kRead,  ///< Reads a range for an insert, which may have taken room: nor is this.
  };

  explicit RoleFrame(const Core& core, Role role = Role::kWork) noexcept
      : RoleFrame(core, role, nullptr) {}
  /// The thread holds a partition's turn.
  RoleFrame(const Core& core, const Turn* turn) noexcept : RoleFrame(core, Role::kWork, turn) {}
  ~RoleFrame();
  RoleFrame(const RoleFrame&) = delete;
  RoleFrame& operator=(const RoleFrame&) = delete;

  /// Whether this thread is inside a handler, a drop, or a removal of that buffer.
  [[nodiscard]] static bool works_for(const Core& core) noexcept;
  [[nodiscard]] static bool has(const Core& core, Role role) noexcept;
  /// Whether this thread is inside a hook, of any buffer.
  [[nodiscard]] static bool is_in_hook() noexcept;
  [[nodiscard]] static bool holds(const Turn& turn) noexcept;
  [[nodiscard]] static bool holds_a_turn_of(const Core& core) noexcept;

 private:
  RoleFrame(const Core& core, Role role, const Turn* turn) noexcept;

  const Core* core_;
  Role role_;
  const Turn* turn_;
  const RoleFrame* outer_;
};

}  // namespace databuffer::detail
