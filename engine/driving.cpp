// threading = kManual: a thread of the user's does the consumers' work.
#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/buffer_core.hpp"
#include "engine/cancellation.hpp"
#include "engine/thread_id.hpp"

namespace databuffer::detail {
namespace {

// How long a call that waits sleeps between two looks: one that does the work, and one that leaves
// it to the thread that drives the buffer.
constexpr std::chrono::microseconds kOwnPause{100};
constexpr std::chrono::milliseconds kDriversPause{1};

}  // namespace

TimePoint BufferCore::do_work(TimePoint now) {
  if (!is_manual() || is_forked()) return TimePoint::max();
  const pid_t own = this_thread_id();
  // relaxed, both: a thread need not see itself as the driver in another; see may_drive().
  if (driver_.load(std::memory_order_relaxed) != own) {
    driver_.store(own, std::memory_order_relaxed);
  }
  CancellationHeld cancellation;
  const TimePoint next = poll(now).value_or(now);
  cancellation.act_on_pending();
  return next;
}

// Whether this thread may run handlers in a call that waits. A thread that drives the buffer may be
// a loop that relies on running them itself.
bool BufferCore::may_drive() const noexcept {
  // relaxed: an older driver seen is still alive, or not; a newer one polls (is_polling_) by
  // itself.
  const pid_t driver = driver_.load(std::memory_order_relaxed);
  return driver == 0 || driver == this_thread_id() || !is_alive(driver);
}

// Where this thread waited for room, nobody would make any.
bool BufferCore::is_driver() const noexcept {
  if (!is_manual()) return false;
  const pid_t driver = driver_.load(std::memory_order_relaxed);  // relaxed: as in may_drive()
  return this_thread_id() == (driver != 0 ? driver : creator_);
}

// One step of every consumer. Returns nothing if another thread, or one further up this stack, is
// at it. A handler may destroy the front: then everything is finished here.
std::optional<TimePoint> BufferCore::poll(TimePoint now) {
  // acquire: pairs with the release below: the consumers are as the last poller left them.
  if (is_polling_.exchange(true, std::memory_order_acquire)) return std::nullopt;
  struct End {
    std::atomic<bool>& is_polling;
    // release: pairs with the acquire above. Also where a handler ends this thread.
    ~End() { is_polling.store(false, std::memory_order_release); }
  };
  const End end{is_polling_};
  TimePoint next = TimePoint::max();
  for (;;) {
    next = TimePoint::max();
    for (const auto& each : manual_consumers()) {
      next = std::min(next, each->do_work(now));
      if (is_forked()) return TimePoint::max();  // A handler forked, and this is the child.
    }
    // acquire: pairs with abandon(), whose last call may have come from a handler just now.
    if (!is_abandoned_.load(std::memory_order_acquire) || all_finished()) break;
    if (next > now) std::this_thread::sleep_for(kOwnPause);
    now = std::max(now, this->now());
  }
  return next;
}

// Waits until it is done, at the latest until `deadline` (steady clock), after one step at least.
// Does the consumers' work meanwhile, unless another thread drives the buffer. Returns whether it
// is done.
bool BufferCore::attend(TimePoint deadline, bool must_drive, const std::function<bool()>& is_done) {
  while (!is_done()) {
    const bool drives = must_drive || may_drive();
    const TimePoint now = this->now();
    const std::optional<TimePoint> next = drives ? poll(now) : std::nullopt;
    if (is_done()) return true;
    if (is_forked()) return false;  // As in poll().
    if (steady_clock().now() >= deadline) return false;
    if (!drives) {
      std::this_thread::sleep_for(kDriversPause);
    } else if (!next || *next > now) {
      std::this_thread::sleep_for(kOwnPause);
    }
  }
  return true;
}

TimePoint BufferCore::next_deadline() const noexcept {
  if (!is_manual() || is_forked()) return TimePoint::max();
  TimePoint next = TimePoint::max();
  for (const auto& each : manual_consumers()) next = std::min(next, each->next_deadline(now()));
  return next;
}

}  // namespace databuffer::detail
