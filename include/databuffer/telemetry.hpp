#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "databuffer/batch.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"

namespace databuffer {

enum class Event : std::uint8_t {
  kInsertStart,      ///< A call of the insert family begins. size: items offered.
  kInsertStop,       ///< … and returns. duration; size: items taken; `insert_status`.
  kInsertException,  ///< … or ends by an exception of an item or range; error.
  kFlushStart,       ///< A handler call begins. size, waiting_behind, age; batch_id, reason.
  kFlushStop,        ///< … and returns ok. As kFlushStart, with duration.
  kFlushException,   ///< … or fails or throws. As kFlushStop, with error.
  kDrop,             ///< Items were given up. size; drop_reason, error.
  kBlocked,          ///< An insert found no room and begins to wait. size: items that wait.
  kOverdue,          ///< A handler has run for longer than flush_timeout. duration, size; batch_id.
  kClosed,           ///< close() ended. duration; size: items it could not flush.
};

/// "databuffer.insert.start", …: `data_buffer`'s names for the events it had.
[[nodiscard]] std::string_view to_string(Event event) noexcept;

/// A set of events to listen to.
class EventSet {
 public:
  /// One event.
  constexpr EventSet(Event event) noexcept  // NOLINT(google-explicit-constructor)
      : bits_(1U << static_cast<unsigned>(event)) {}
  /// Several; none: nothing.
  constexpr EventSet(std::initializer_list<Event> events) noexcept {
    for (const Event event : events) bits_ |= EventSet(event).bits_;
  }
  /// Every event there is, and those to come.
  [[nodiscard]] static constexpr EventSet all() noexcept {
    EventSet every{};
    every.bits_ = ~0U;
    return every;
  }
  /// Whether `event` is among them.
  [[nodiscard]] constexpr bool contains(Event event) const noexcept {
    return (bits_ >> static_cast<unsigned>(event) & 1U) != 0;
  }
  /// A bit for each event: 1 << its number.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

 private:
  std::uint32_t bits_ = 0;
};

/// What a hook is told. Views are borrowed until the hook returns; a field that an event does not
/// name above is at its default.
struct TelemetryEvent {
  Event event = Event::kInsertStart;  ///< What happened.

  // Measurements.
  std::chrono::nanoseconds system_time{};  ///< Wall clock, since the Unix epoch.
  Duration duration{};                     ///< On the buffer's clock.
  std::size_t size = 0;                    ///< Items.
  std::size_t waiting_behind = 0;          ///< Items that stayed in the partition.
  Duration age{};                          ///< How long the batch's first item had waited.

  // Metadata.
  std::string_view buffer;                               ///< `Options::name`.
  std::size_t partition_index = 0;                       ///< Of the batch, or of the items.
  std::uint64_t batch_id = 0;                            ///< As in FlushContext.
  std::uint32_t attempt = 0;                             ///< As in FlushContext.
  FlushReason reason = FlushReason::kSize;               ///< As in FlushContext.
  InsertStatus insert_status = InsertStatus::kAccepted;  ///< What the insert answers.
  DropReason drop_reason = DropReason::kNewest;          ///< As in DropInfo.
  std::string_view error;                                ///< A message or exception text.
};

using TelemetryHook = std::function<void(const TelemetryEvent&)>;

namespace detail {
class HookTable;
}

/// Hooks on events, each known by an id. One object for each buffer (Buffer::telemetry()) and one
/// for all buffers of the process (databuffer::telemetry()); where the process has several copies
/// of the library, for all that were made by the caller's copy.
///
/// A hook runs on the thread on which the event happens, with no lock held, so it may call the
/// buffer, attach and detach; what it does on its thread makes no events, in any buffer. A hook
/// that throws is detached and counted; nothing else breaks. Detaching does not wait: a call that
/// began before may still be running on another thread. While nothing is attached no clock is read
/// and nothing is allocated.
class Telemetry {
 public:
  /// The library's: Buffer::telemetry() and databuffer::telemetry() return one.
  explicit Telemetry(std::shared_ptr<detail::HookTable> hooks) noexcept;

  /// Calls `hook` for `events` from now on. Returns false, and changes nothing, if `id` is taken.
  /// Throws      std::invalid_argument if `hook` is null; std::bad_alloc.
  bool attach(std::string id, EventSet events, TelemetryHook hook);

  /// Returns whether `id` was attached.
  bool detach(std::string_view id);

  /// Hooks detached because they threw, and exceptions of on_drop.
  [[nodiscard]] std::uint64_t hook_failures() const noexcept;

 private:
  std::shared_ptr<detail::HookTable> hooks_;
};

/// Hooks for every buffer of the process, present and future.
[[nodiscard]] Telemetry telemetry();

}  // namespace databuffer
