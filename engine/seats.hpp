#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

class BufferCore;
struct Partition;

/// A buffer's seats. A thread takes one at its first insert and gives it back when it ends; the
/// next thread adopts it, slots, items and half-finished run of tickets included. So their number
/// is the most threads that inserted at the same time, however many came and went.
class Seats {
 public:
  explicit Seats(std::vector<std::unique_ptr<Partition>>& partitions) : partitions_(partitions) {}

  /// A free seat, or a new one. Throws std::bad_alloc.
  [[nodiscard]] Seat& borrow();

  /// Calls `work` while no seat is built.
  void exclude_new(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    work();
  }

  /// Its debts are settled here.
  void give_back(Seat& seat) noexcept;

 private:
  Seat& build();

  std::vector<std::unique_ptr<Partition>>& partitions_;  // fixed
  std::mutex mutex_;
  std::deque<Seat> seats_;                         // guarded by the mutex; never shrinks
  std::deque<std::vector<Slot*>> slots_of_seats_;  // likewise; the slots belong to the lanes
  std::vector<Seat*> free_;                        // likewise
};

/// This thread's seat in the buffer: found, or taken until the thread ends. Null if there is no
/// memory, or so late in the thread's life that nobody could give it back; then borrow one.
[[nodiscard]] Seat* seat_of_this_thread(BufferCore& buffer) noexcept;

}  // namespace databuffer::detail
