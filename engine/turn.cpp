#include "engine/turn.hpp"

#include "engine/futex.hpp"

namespace databuffer::detail {

// The three-state futex mutex of Ulrich Drepper, "Futexes Are Tricky" (2011), section 5.

bool Turn::try_acquire() noexcept {
  std::uint32_t state = kFree;
  // acquire: pairs with give_back(): the last holder's removals are seen.
  return state_.compare_exchange_strong(state, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed);
}

bool Turn::acquire_until(TimePoint deadline) noexcept {
  if (try_acquire()) return true;
  // acq_rel: acquire as in try_acquire(); release: whoever gives back finds what a waiter that gave
  // up has written before (BufferCore::sweep).
  while (state_.exchange(kAwaited, std::memory_order_acq_rel) != kFree) {
    futex_wait(state_, kAwaited, deadline);
    // The last try says kAwaited too: a wake-up that came here may have been another waiter's, and
    // whoever gives back next must pass it on.
    // acq_rel: as above.
    if (deadline != TimePoint::max() && steady_clock().now() >= deadline) {
      return state_.exchange(kAwaited, std::memory_order_acq_rel) == kFree;
    }
  }
  return true;
}

void Turn::give_back() noexcept {
  // acq_rel: release pairs with the acquiring side; acquire with a waiter that gave up.
  if (state_.exchange(kFree, std::memory_order_acq_rel) == kAwaited) futex_wake(state_, 1);
}

}  // namespace databuffer::detail
