#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

struct Partition;

/// A buffer's seats. A thread takes one at its first insert and gives it back when it ends; the
/// next thread adopts it, slots, items and half-finished run of tickets included. So their number
/// is the most threads that inserted at the same time, however many came and went.
///
/// A thread that still inserts after that (or that cannot have a seat of its own) borrows one for
/// each call, never an older one than it had before: items in older seats leave first (Drain), so
/// its items keep their order. Free seats are adopted from the oldest on, so that newer ones are
/// left for such threads.
class Seats {
 public:
  explicit Seats(std::vector<std::unique_ptr<Partition>>& partitions) : partitions_(partitions) {}

  /// The oldest free seat whose number is at least `least`, or a new one. Throws std::bad_alloc.
  [[nodiscard]] Seat& borrow(std::uint64_t least = 0);

  /// Its debts are settled here.
  void give_back(Seat& seat) noexcept;

 private:
  Seat& build();

  std::vector<std::unique_ptr<Partition>>& partitions_;  // fixed
  std::mutex mutex_;
  std::deque<Seat> seats_;                         // guarded by the mutex; never shrinks
  std::deque<std::vector<Slot*>> slots_of_seats_;  // likewise; the slots belong to the lanes
  std::vector<Seat*> free_;                        // likewise; by number
};

}  // namespace databuffer::detail
