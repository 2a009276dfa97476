#pragma once

#include <atomic>
#include <cstdint>

#include "databuffer/clock.hpp"
#include "databuffer/detail/cache_line.hpp"

namespace databuffer::detail {

// Where producers wait until a full partition has room: one for each buffer, since round robin
// takes room anywhere.
//
// The rule: a waiter announces itself in `waiters_` [B1], then looks for room once more [B2]; who
// makes room changes the gate [R1], then reads `waiters_` [R2]. All four are seq_cst, so at least
// one sees the other: the waiter finds the room, or is woken. Close works the same way, with
// `attention` in the place of the gate. Checked by tests/model/settle_block_release.pml.
class RoomBell {
 public:
  /// Announces a waiter, until it is destroyed. Between construction and wait_until() look again.
  class Waiter {
   public:
    explicit Waiter(RoomBell& bell) noexcept : bell_(bell) {
      bell_.waiters_.fetch_add(1, std::memory_order_seq_cst);  // [B1]
      epoch_ = bell_.epoch_.load(std::memory_order_seq_cst);
    }
    ~Waiter() { bell_.waiters_.fetch_sub(1, std::memory_order_seq_cst); }  // as [B1]
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// Sleeps until somebody made room since the last call or construction, or the deadline.
    void wait_until(TimePoint deadline) noexcept;

   private:
    RoomBell& bell_;
    std::uint32_t epoch_ = 0;
  };

  /// Somebody made room, or closed.
  void ring() noexcept;

 private:
  alignas(kDestructiveBytes) std::atomic<std::uint32_t> waiters_{
      0};                                // written by producers that wait
  std::atomic<std::uint32_t> epoch_{0};  // a futex; written by who rings
};

}  // namespace databuffer::detail
