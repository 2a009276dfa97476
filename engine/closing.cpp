// How a buffer ends: stop accepting, flush everything, report what could not be flushed.
#include <algorithm>
#include <utility>

#include "databuffer/detail/fence.hpp"
#include "engine/buffer_core.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {

CloseReport BufferCore::close(Duration timeout) {
  if (is_forked()) {
    CloseReport report;
    report.status = CallStatus::kClosed;
    return report;
  }
  if (RoleFrame::works_for(*this) || is_inserting()) {
    return make_close_report(CallStatus::kReentrant);
  }
  const TimePoint deadline = wait_deadline(timeout);
  const bool is_first = begin_close();
  const bool is_done = await_consumers(deadline);
  if (!is_done) give_up_pending(deadline);
  end_threads(deadline);
  {
    const std::lock_guard lock(life_mutex_);
    if (is_first) close_took_ = now() - close_began_;
  }
  const CloseReport report = make_close_report(is_done ? CallStatus::kDone : CallStatus::kTimedOut);
  if (is_first) {
    TelemetryEvent event;
    event.event = Event::kClosed;
    event.duration = report.duration;
    event.size = report.dropped + report.in_flight;
    emit(event);
  }
  return report;
}

// The consumers flush what is pending and end by themselves; each of their threads owns the buffer.
void BufferCore::abandon() noexcept {
  if (is_forked()) return;
  if (!RoleFrame::works_for(*this)) {
    // A close that has reached its deadline is not waited for twice.
    if (!has_given_up()) close(options_.close_timeout);
    return;
  }
  is_abandoned_.store(true, std::memory_order_release);  // release: pairs with poll()
  begin_close();
  end_threads(TimePoint{});
}

// Returns whether this was the first.
bool BufferCore::begin_close() noexcept {
  {
    const std::lock_guard lock(life_mutex_);
    if (std::exchange(has_close_begun_, true)) return false;
    close_began_ = now();
  }
  // [C1] seq_cst: before the heavy fence, and in RoomBell's total order.
  attention.fetch_or(kClosed, std::memory_order_seq_cst);
  // After it every producer either has its mark set, or reads `attention` anew and turns back. So
  // when the consumers have seen all marks gone, nothing more can come ([P1], [P2]).
  heavy_fence();
  room_bell_.ring();
  for (const auto& partition : partitions_) {
    // release: pairs with Consumer::step(): the fence came first.
    partition->is_closing.store(true, std::memory_order_release);
    partition->doorbell.ring();
  }
  return true;
}

// Returns whether all consumers have finished by the deadline.
bool BufferCore::await_consumers(TimePoint deadline) noexcept {
  if (options_.threading == Threading::kManual) {
    poll_until(deadline, [this] { return all_finished(); });
    return all_finished();
  }
  std::unique_lock lock(life_mutex_);
  return wait_for_life(lock, deadline, [this] { return ended_ == thread_count_; });
}

template <class Condition>
bool BufferCore::wait_for_life(std::unique_lock<std::mutex>& lock, TimePoint deadline,
                               Condition condition) noexcept {
  if (deadline != TimePoint::max()) return life_changed_.wait_until(lock, deadline, condition);
  life_changed_.wait(lock, condition);
  return true;
}

// The deadline has come: what is pending goes to on_drop. What a handler has stays in its hands.
void BufferCore::give_up_pending(TimePoint deadline) noexcept {
  has_given_up_.store(true, std::memory_order_relaxed);  // relaxed: see has_given_up()
  for (const auto& partition : partitions_) {
    try {
      const std::unique_ptr<Cargo> cargo = partition->lane->make_cargo();
      if (!partition->turn.acquire_until(deadline)) continue;  // An item's constructor hangs.
      {
        const Turn::Holder holder(partition->turn, *this);
        const std::size_t pending = partition->pending();
        cargo->reserve(pending);
        partition->remove(partition->drain.take(pending, 0, *cargo));
      }
      DropInfo info;
      info.reason = DropReason::kClosed;
      drop(*partition, cargo->data(), cargo->size(), info);
    } catch (const std::bad_alloc&) {
      continue;  // No memory to hand them over in: they stay pending, and the report says so.
    }
  }
}

// Joins the threads if all have ended by the deadline, else lets them go: each owns the buffer
// until it ends. A hook on `overdue` may hold the watch up.
void BufferCore::end_threads(TimePoint deadline) noexcept {
  if (options_.threading == Threading::kManual) return;
  if (watch_ != nullptr) watch_->stop();
  std::vector<std::thread> threads;
  bool may_join = false;
  {
    std::unique_lock lock(life_mutex_);
    may_join = wait_for_life(lock, deadline,
                             [this] { return ended_ == thread_count_ && !is_watch_running_; });
    threads.swap(threads_);
    are_threads_over_ = true;
  }
  for (std::thread& thread : threads) {
    if (may_join) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

CloseReport BufferCore::make_close_report(CallStatus status) const noexcept {
  CloseReport report;
  report.status = status;
  report.ledger = ledger();
  report.dropped = report.ledger.dropped_closed;
  report.in_flight = report.ledger.in_flight;
  const std::lock_guard lock(life_mutex_);
  report.duration = close_took_;
  return report;
}

}  // namespace databuffer::detail
