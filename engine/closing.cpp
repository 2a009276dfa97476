// How a buffer closes: it stops accepting, flushes everything, and gives up at the deadline what
// could not be flushed. engine/README.md, "Life", has the rules.
#include <algorithm>
#include <utility>

#include "databuffer/detail/fence.hpp"
#include "engine/buffer_core.hpp"
#include "engine/cancellation.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {
namespace {

// What holds up a close that has reached its deadline, other than a handler: a removal under way
// (items' constructors), a hook, an on_drop. They are waited for this long.
constexpr Duration kGrace = std::chrono::seconds{1};

}  // namespace

CloseReport BufferCore::close(Duration timeout) {
  if (is_forked()) {
    CloseReport report;
    report.status = CallStatus::kClosed;
    return report;
  }
  if (RoleFrame::works_for(*this) || is_inserting()) {
    CloseReport report = make_close_report();
    report.status = CallStatus::kReentrant;
    return report;
  }
  CancellationHeld cancellation;
  const CloseReport report = close_by(wait_deadline(timeout), false);
  cancellation.act_on_pending();
  return report;
}

CloseReport BufferCore::close_by(TimePoint deadline, bool must_drive) {
  Closer closer{deadline};
  enter(closer);
  begin_close();
  bool is_done = false;
  try {
    is_done = await_consumers(deadline, must_drive);
  } catch (...) {  // kManual: a handler has ended its thread, which is this one.
    static_cast<void>(leave(closer));
    throw;
  }
  // Another call with more time goes on: nothing is given up that it may still flush.
  const bool is_last = leave(closer);
  if (is_forked()) return {};  // A handler forked, and this is the child.
  if (!is_done && is_last) {
    give_up_all();
    give_up_rest();
  }
  if (is_done) join_ended(deadline);
  if (is_done || is_last) note_end();
  return make_close_report();
}

void BufferCore::enter(Closer& closer) noexcept {
  const MutexLock lock(life_mutex_);
  closer.next = std::exchange(closers_, &closer);
  // relaxed: written under the mutex; a consumer that reads an older one looks again soon.
  const Duration until = close_until_.load(std::memory_order_relaxed);
  close_until_.store(std::max(until, closer.deadline.time_since_epoch()),
                     std::memory_order_relaxed);  // relaxed: as above
}

// Returns whether no other call of close() that is at work has a later deadline.
bool BufferCore::leave(Closer& closer) noexcept {
  const MutexLock lock(life_mutex_);
  bool is_last = true;
  Closer** link = &closers_;
  while (*link != nullptr) {
    if (*link == &closer) {
      *link = closer.next;
      continue;
    }
    if ((*link)->deadline > closer.deadline) is_last = false;
    link = &(*link)->next;
  }
  return is_last;
}

TimePoint BufferCore::close_until() const noexcept {
  return TimePoint(close_until_.load(std::memory_order_relaxed));  // relaxed: see enter()
}

void BufferCore::begin_close() noexcept {
  const TimePoint began = now();
  const std::uint64_t failed = ledger().failed;
  {
    const MutexLock lock(life_mutex_);
    if (std::exchange(has_close_begun_, true)) return;
    close_began_ = began;
    failed_before_close_ = failed;
  }
  // [C1] seq_cst: before the heavy fence. Before space_waiters_.close(), too: see there.
  attention.fetch_or(kClosed, std::memory_order_seq_cst);
  // After it every producer either has its mark set, or reads `attention` anew and turns back. So
  // when the consumers have seen all marks gone, nothing more can come ([P1], [P2]).
  heavy_fence();
  space_waiters_.close();
  for (const auto& partition : partitions_) {
    // release: pairs with Consumer::step(): the fence came first.
    partition->is_closing.store(true, std::memory_order_release);
    partition->doorbell.ring();
  }
}

// Whether everything accepted has its end, and nothing more will come.
bool BufferCore::has_nothing_left() const noexcept {
  return std::all_of(partitions_.begin(), partitions_.end(), [this](const auto& partition) {
    // acquire: pairs with begin_close(), whose fence came first.
    if (!partition->is_closing.load(std::memory_order_acquire)) return false;
    return (partition->is_finished() || !partition->drain.has_producer_inside()) &&
           is_idle(*partition);
  });
}

// Returns whether nothing is left by the deadline.
bool BufferCore::await_consumers(TimePoint deadline, bool must_drive) {
  if (is_manual()) {
    // With time left, each consumer also finds out that it is through.
    return attend(deadline, must_drive, [this] { return all_finished(); }) || has_nothing_left();
  }
  const MutexLock lock(life_mutex_);
  return wait_for_life(deadline, [this] { return has_nothing_left(); });
}

bool BufferCore::wait_for_life(TimePoint deadline, const std::function<bool()>& is_so) noexcept {
  if (deadline != TimePoint::max()) return life_changed_.wait_until(life_mutex_, deadline, is_so);
  life_changed_.wait(life_mutex_, is_so);
  return true;
}

// A consumer has finished, or its thread has ended.
void BufferCore::notice_finished() noexcept {
  const MutexLock lock(life_mutex_);
  life_changed_.notify_all();
}

// The deadline has come. From now on no handler is called; what no handler has is given up: by the
// consumers, and where one is stuck by the closing thread. What a handler has stays in its hands.
void BufferCore::give_up_all() noexcept {
  // seq_cst: before the seal and the fence; a removal that is under way finds it when it ends.
  has_given_up_.store(true, std::memory_order_seq_cst);
  {
    const MutexLock lock(life_mutex_);
    for (const auto& each : current_) each->call().bar();
    for (const Worker& worker : workers_) worker.consumer->call().bar();
  }
  for (const auto& partition : partitions_) partition->doorbell.seal();
  // An insert that is still inside either has its item in the counts below, or finds the seal when
  // it has published it, and gives it up itself ([P3], [P4]).
  heavy_fence();
  for (const auto& partition : partitions_) partition->doorbell.ring();
}

// What no handler has is handed over when this returns: by the consumers, and for the stuck ones
// here. Also again, by the destructor: a handler that was inside at the deadline may have returned
// since, with nobody to go on with its batch (kManual); there may be memory by now.
void BufferCore::give_up_rest() noexcept {
  if (is_manual()) static_cast<void>(poll(now()));
  await_givers_up();
  for (const auto& partition : partitions_) sweep(*partition);
  await_givers_up();  // One that was stuck a moment ago may be at it now.
}

BufferCore::Sweeper::Sweeper(BufferCore& buffer) noexcept : buffer_(buffer) { count(1); }
BufferCore::Sweeper::~Sweeper() { count(-1); }

void BufferCore::Sweeper::count(int change) noexcept {
  const MutexLock lock(buffer_.life_mutex_);
  buffer_.sweepers_ += change;
  buffer_.life_changed_.notify_all();
}

void BufferCore::sweep(Partition& partition) noexcept {
  // Whoever removes items looks for itself when it is through.
  if (RoleFrame::holds(partition.turn) || is_forked()) return;
  const Sweeper sweeper(*this);
  try {
    const std::unique_ptr<Cargo> cargo = partition.lane->make_cargo();
    std::size_t pending = partition.pending();
    while (pending > 0) {
      try {
        cargo->reserve(pending);
      } catch (const std::bad_alloc&) {
        pending /= 2;  // Without memory for one they stay pending, and the report says so.
        continue;
      }
      if (!partition.turn.acquire_until(deadline_after(steady_clock().now(), kGrace))) return;
      {
        const Turn::Holder holder(partition.turn, *this);
        const Drain::Taken taken = partition.drain.take(pending, 0, *cargo);
        // Before they are gone: then the consumer says that all requests are done.
        if (taken.items > 0) tell_given_up(partition, taken.items);
        remove(partition, taken);
      }
      if (cargo->size() == 0) return;
      give_up(partition, cargo->data(), cargo->size(), {});
      if (is_forked()) return;  // on_drop forked, and this is the child.
      cargo->clear();
      pending = partition.pending();
    }
  } catch (const std::bad_alloc&) {
    return;  // As above.
  }
}

// A sync_flush that waits learns that they failed.
void BufferCore::tell_given_up(Partition& partition, std::size_t items) noexcept {
  try {
    partition.requests.add_batch(items, items, FlushResult::failed("close() gave up"));
  } catch (const std::bad_alloc&) {
    count_hook_failure();  // It gets its status without the items.
  }
}

void BufferCore::give_up(Partition& partition, void* items, std::size_t count,
                         DropInfo info) noexcept {
  given_up_items_.fetch_add(count, std::memory_order_relaxed);  // relaxed: a statistic
  info.reason = DropReason::kClosed;
  drop(partition, items, count, info);
}

// Waits until each consumer has handed over what it gives up, or is inside its handler. An on_drop
// is waited for as long as it takes; what else holds a consumer up (a hook, a removal) for a while.
void BufferCore::await_givers_up() noexcept {
  const TimePoint grace = deadline_after(steady_clock().now(), kGrace);
  if (is_manual()) {
    attend(grace, true, [this] {
      if (is_sweeping()) return false;
      // A driver that is inside a handler has all consumers in its hands.
      const auto& consumers = manual_consumers();
      return all_finished() ||
             std::any_of(consumers.begin(), consumers.end(),
                         [](const auto& each) { return each->call().is_inside(); });
    });
    attend(TimePoint::max(), true, [this] { return !is_sweeping(); });
    return;
  }
  const MutexLock lock(life_mutex_);
  wait_for_life(grace, [this]() DATABUFFER_REQUIRES(life_mutex_) {
    return sweepers_ == 0 &&
           std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
             return worker.has_ended || worker.consumer->call().is_inside();
           });
  });
  wait_for_life(TimePoint::max(),
                [this]() DATABUFFER_REQUIRES(life_mutex_) { return sweepers_ == 0; });
}

bool BufferCore::is_sweeping() const noexcept {
  const MutexLock lock(life_mutex_);
  return sweepers_ > 0;
}

void BufferCore::give_up_if_left_alone() noexcept {
  // acquire: pairs with abandon().
  if (!is_abandoned_.load(std::memory_order_acquire) || has_given_up()) return;
  if (steady_clock().now() >= close_until()) give_up_all();
}

void BufferCore::note_end() noexcept {
  const TimePoint ended = now();
  {
    const MutexLock lock(life_mutex_);
    if (std::exchange(has_close_ended_, true)) return;
    close_took_ = ended - close_began_;
  }
  if (!listens(Event::kClosed)) return;
  const CloseReport report = make_close_report();
  TelemetryEvent event;
  event.event = Event::kClosed;
  event.duration = report.duration;
  event.size = report.dropped + report.in_flight;
  emit(event);
}

CloseReport BufferCore::make_close_report() const noexcept {
  CloseReport report;
  report.ledger = ledger();
  report.dropped = given_up_items_.load(std::memory_order_relaxed);  // relaxed: a statistic
  report.in_flight = report.ledger.in_flight;
  // An insert that was still inside at the deadline may yet bring an item, to be given up.
  const bool may_come =
      has_given_up() && std::any_of(partitions_.begin(), partitions_.end(), [](const auto& each) {
        return each->drain.has_producer_inside();
      });
  const bool is_done = report.dropped + report.in_flight + report.ledger.pending == 0 && !may_come;
  report.status = is_done ? CallStatus::kDone : CallStatus::kTimedOut;
  const MutexLock lock(life_mutex_);
  if (has_close_begun_) report.failed = report.ledger.failed - failed_before_close_;
  if (has_close_begun_) report.duration = has_close_ended_ ? close_took_ : now() - close_began_;
  return report;
}

}  // namespace databuffer::detail
