#include "engine/doorbell.hpp"

#include "engine/futex.hpp"

namespace databuffer::detail {

bool Doorbell::count_down(std::size_t items, const Clock& clock) noexcept {
  const auto taken = static_cast<std::int64_t>(items);
  // relaxed: only names the arming for the exchange below.
  std::uint64_t arming = watch_.load(std::memory_order_relaxed);
  // acq_rel: release, so that the consumer that reads the new value in arm() finds the items that
  // were published before; acquire for nothing but symmetry among producers.
  const std::int64_t before = missing_.fetch_sub(taken, std::memory_order_acq_rel);
  if (before <= 0 || before > taken) return false;

  // This call completed the count. Take the watch down, so that others stop counting; if the
  // consumer has armed anew since, that watch is its own and stays.
  // relaxed: an optimisation; the ring below orders the wake-up.
  if (arming != 0 && arming != kSealed &&
      watch_.compare_exchange_strong(arming, 0, std::memory_order_relaxed)) {
    // relaxed: published by ring().
    rung_at_.store(clock.now().time_since_epoch(), std::memory_order_relaxed);
  }
  ring();
  return true;
}

void Doorbell::ring() noexcept {
  rings_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  // acq_rel: release pairs with sleep_until(), so that the consumer sees why it was rung; acquire
  // pairs with its going to sleep.
  if (state_.exchange(kRung, std::memory_order_acq_rel) == kAsleep) futex_wake(state_, 1);
}

void Doorbell::begin_watch(std::int64_t missing) noexcept {
  // relaxed: the heavy fence behind it orders both before the second count; producers that see
  // the watch but an older `missing_` are covered by the correction.
  rung_at_.store(kNoTime, std::memory_order_relaxed);
  missing_.store(missing, std::memory_order_relaxed);
  // [A1] seq_cst: where there is no membarrier this write and [P4] are in one total order. It is 0,
  // or sealed: then nothing is armed.
  std::uint64_t unarmed = 0;
  watch_.compare_exchange_strong(unarmed, ++armings_, std::memory_order_seq_cst);
}

void Doorbell::seal() noexcept {
  // seq_cst: as [A1].
  watch_.store(kSealed, std::memory_order_seq_cst);
}

bool Doorbell::is_sealed() const noexcept {
  // acquire: pairs with seal(): who finds it sealed finds that the buffer has given up.
  return watch_.load(std::memory_order_acquire) == kSealed;
}

std::int64_t Doorbell::missing() const noexcept {
  // acquire: pairs with count_down(), whose items the count that follows must include.
  return missing_.load(std::memory_order_acquire);
}

void Doorbell::correct(std::int64_t unseen) noexcept {
  missing_.fetch_sub(unseen, std::memory_order_acq_rel);  // acq_rel: as in count_down()
}

void Doorbell::disarm() noexcept {
  // relaxed: a producer that still sees the watch counts down a stale number, which arm() corrects.
  std::uint64_t armed = armings_;
  watch_.compare_exchange_strong(armed, 0, std::memory_order_relaxed);
}

bool Doorbell::is_armed() const noexcept {
  // relaxed: whoever uses the arming up rings after that, so a look that comes too early for it is
  // followed by another.
  return watch_.load(std::memory_order_relaxed) == armings_ &&
         missing_.load(std::memory_order_relaxed) > 0;
}

Duration Doorbell::take_rung_at() noexcept {
  // relaxed: the ring that brought us here published it; a later one's value is as good.
  return rung_at_.exchange(kNoTime, std::memory_order_relaxed);
}

Duration Doorbell::rung_at() const noexcept {
  return rung_at_.load(std::memory_order_relaxed);  // relaxed: as above
}

void Doorbell::sleep_until(TimePoint deadline) noexcept {
  std::uint32_t state = kAwake;
  // acq_rel: acquire pairs with ring() where the token is already there.
  if (state_.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel)) {
    // acquire: pairs with ring().
    while (state_.load(std::memory_order_acquire) == kAsleep) {
      futex_wait(state_, kAsleep, deadline);
      if (deadline != TimePoint::max() && steady_clock().now() >= deadline) break;
    }
    wake_ups_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  }
  // acq_rel: takes the token, if any; acquire pairs with ring().
  state_.exchange(kAwake, std::memory_order_acq_rel);
}

std::uint64_t Doorbell::rings() const noexcept {
  return rings_.load(std::memory_order_relaxed);  // relaxed: a statistic
}

std::uint64_t Doorbell::wake_ups() const noexcept {
  return wake_ups_.load(std::memory_order_relaxed);  // relaxed: a statistic
}

}  // namespace databuffer::detail
