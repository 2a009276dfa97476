#pragma once

namespace databuffer::detail {

class Core;
class Turn;

/// What this thread is doing for which buffer, innermost first: so that a call that would wait for
/// its own thread is refused instead. Lives on the stack while a thread works for a buffer.
class RoleFrame {
 public:
  /// `turn`: the partition's turn that the thread holds, if it does.
  explicit RoleFrame(const Core& core, const Turn* turn = nullptr) noexcept;
  ~RoleFrame();
  RoleFrame(const RoleFrame&) = delete;
  RoleFrame& operator=(const RoleFrame&) = delete;

  /// Whether this thread is inside a handler, a drop, or a removal of that buffer.
  [[nodiscard]] static bool works_for(const Core& core) noexcept;
  [[nodiscard]] static bool holds(const Turn& turn) noexcept;

 private:
  const Core* core_;
  const Turn* turn_;
  const RoleFrame* outer_;
};

}  // namespace databuffer::detail
