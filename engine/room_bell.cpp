#include "engine/room_bell.hpp"

#include <limits>

#include "engine/futex.hpp"

namespace databuffer::detail {

void RoomBell::Waiter::wait_until(TimePoint deadline) noexcept {
  futex_wait(bell_.epoch_, epoch_, deadline);
  epoch_ = bell_.epoch_.load(std::memory_order_seq_cst);  // seq_cst: before the next look, as [B1]
}

void RoomBell::ring() noexcept {
  if (waiters_.load(std::memory_order_seq_cst) == 0) return;  // [R2]
  // seq_cst: with the load in wait_until(): a waiter that reads the new number looks again and
  // finds the room; one that sleeps on the old one is woken.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  // All of them: the room is often for many, and a waiter for one partition must not swallow the
  // wake-up of a waiter for another.
  futex_wake(epoch_, std::numeric_limits<int>::max());
}

}  // namespace databuffer::detail
