#include "engine/overdue_watch.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace databuffer::detail {

std::optional<std::stop_token> HandlerCall::begin(TimePoint now, std::uint64_t batch_id,
                                                  std::size_t items) noexcept {
  const MutexLock lock(mutex_);
  if (is_barred_) return std::nullopt;
  if (!stop_.stop_possible()) renew_stop_source();  // The last one was used.
  phase_ = Phase::kInside;
  is_reported_ = false;
  began_ = now;
  batch_id_ = batch_id;
  items_ = items;
  return stop_.get_token();
}

void HandlerCall::renew_stop_source() noexcept {
  try {
    stop_ = std::stop_source();
  } catch (const std::bad_alloc&) {
    // This call gets a token that is never set; the next one tries again.
  }
}

bool HandlerCall::leave() noexcept {
  const MutexLock lock(mutex_);
  phase_ = Phase::kReturned;
  return !is_disowned_;
}

HandlerCall::Ended HandlerCall::end(TimePoint now) noexcept {
  std::stop_source used(std::nostopstate);  // ends outside the lock
  const MutexLock lock(mutex_);
  phase_ = Phase::kIdle;
  ended_ = now;
  last_duration_ = now - began_;
  // Whoever reported it may only now be about to set the token: the next call gets another.
  if (is_reported_) used = std::exchange(stop_, std::stop_source(std::nostopstate));
  return {last_duration_, is_reported_};
}

void HandlerCall::bar() noexcept {
  const MutexLock lock(mutex_);
  is_barred_ = true;
}

bool HandlerCall::disown() noexcept {
  const MutexLock lock(mutex_);
  is_barred_ = true;
  is_disowned_ = phase_ == Phase::kInside;
  return is_disowned_;
}

bool HandlerCall::is_inside() const noexcept {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kInside;
}

bool HandlerCall::retire(std::uint64_t batch_id, const std::function<void()>& prepare) {
  const MutexLock lock(mutex_);
  // Reported: else this is a later attempt at the same batch, and not overdue.
  if (phase_ != Phase::kInside || !is_reported_ || batch_id_ != batch_id || is_retired_.load()) {
    return false;
  }
  prepare();
  is_retired_.store(true, std::memory_order_release);  // release: pairs with is_retired()
  return true;
}

bool HandlerCall::report_overdue(TimePoint now, Duration limit, Overdue& overdue) {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kIdle || is_reported_ || now < deadline_after(began_, limit)) return false;
  is_reported_ = true;
  overdue = {batch_id_, items_, now - began_, stop_};
  return true;
}

std::optional<std::uint64_t> HandlerCall::overdue_batch() const noexcept {
  const MutexLock lock(mutex_);
  // relaxed: written under the mutex
  const bool is_retired = is_retired_.load(std::memory_order_relaxed);
  if (phase_ != Phase::kInside || !is_reported_ || is_retired) return std::nullopt;
  return batch_id_;
}

TimePoint HandlerCall::due(Duration limit) const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kInside && !is_reported_ ? deadline_after(began_, limit)
                                                   : TimePoint::max();
}

void HandlerCall::describe(TimePoint now, PartitionInfo& info) const {
  const MutexLock lock(mutex_);
  const bool is_running = phase_ != Phase::kIdle;
  info.is_flushing = is_running;
  info.is_overdue = is_running && is_reported_;
  info.flushing_for = is_running ? now - began_ : Duration::zero();
  info.since_last_flush = now - ended_;
  info.last_flush_duration = last_duration_;
}

void OverdueWatch::run() {
  bool was_woken = false;  // by a call, which may have returned by now
  const std::uint32_t generation = fork_generation();
  while (fork_generation() == generation) {  // A hook may fork.
    const TimePoint looked_at = steady_clock().now();
    {
      const MutexLock lock(mutex_);
      if (is_stopping_) return;
      // relaxed: the mutex of each call orders it. A consumer locks that mutex in begin() and reads
      // this flag afterwards; we write it first and lock then. So either we see its call, or it
      // sees that we are dormant.
      is_dormant_.store(true, std::memory_order_relaxed);
    }
    const TimePoint due = report_all();
    const MutexLock lock(mutex_);
    if (is_stopping_) return;
    if (due == TimePoint::max() && !was_woken) {
      changed_.wait(mutex_, [&]() DATABUFFER_REQUIRES(mutex_) {
        return is_stopping_ || !is_dormant_.load();
      });
      was_woken = true;
    } else {
      // No call that begins after the look can be overdue before `looked_at + flush_timeout_`. So
      // where short calls follow each other only the first one wakes us.
      // The clock may be a test's: wait for what is left of it in real time, then look again.
      const TimePoint again = due == TimePoint::max()
                                  ? deadline_after(looked_at, flush_timeout_)
                                  : deadline_after(steady_clock().now(), due - clock_.now());
      is_dormant_.store(false, std::memory_order_relaxed);  // relaxed: as above
      changed_.wait_until(mutex_, again,
                          [&]() DATABUFFER_REQUIRES(mutex_) { return is_stopping_; });
      was_woken = false;
    }
  }
}

void OverdueWatch::stop() {
  const MutexLock lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

void OverdueWatch::notice_call() {
  if (!is_dormant_.load(std::memory_order_relaxed)) return;  // relaxed: see run()
  const MutexLock lock(mutex_);
  is_dormant_.store(false, std::memory_order_relaxed);  // relaxed: see run()
  changed_.notify_all();
}

TimePoint OverdueWatch::report_all() {
  TimePoint due = TimePoint::max();
  for (std::size_t index = 0; index < partition_count_; ++index) {
    const std::shared_ptr<HandlerCall> call = call_of_(index);
    HandlerCall::Overdue overdue;
    if (call->report_overdue(clock_.now(), flush_timeout_, overdue)) report_(index, overdue);
    due = std::min(due, call->due(flush_timeout_));
  }
  return due;
}

}  // namespace databuffer::detail
