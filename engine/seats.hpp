#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "databuffer/detail/slot.hpp"
#include "engine/drain.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

struct Partition;

/// A buffer's seats. A thread takes one at its first insert and gives it back when it ends; the
/// next thread adopts it, slots, items and half-finished run of tickets included. A few free ones
/// are kept; of further ones the slots depart (Drain), so that their cost and their memory end with
/// the threads:
///
///   free seats <= max(kSpareSeats, half as many as are out)
///
/// But no more depart while as many are about to be forgotten: where a consumer is held up, a new
/// thread adopts a seat, and the queue takes no more memory than its producers at once call for.
///
/// A thread that still inserts after that (or that cannot have a seat of its own) borrows one for
/// each call, never an older one than it had before: items in older seats leave first (Drain), so
/// its items keep their order. Free seats are adopted from the oldest on, so that newer ones are
/// left for such threads.
class Seats {
 public:
  static constexpr std::size_t kSpareSeats = 8;

  explicit Seats(std::vector<std::unique_ptr<Partition>>& partitions) : partitions_(partitions) {}

  /// The oldest free seat whose number is at least `least`, or a new one. Throws std::bad_alloc.
  [[nodiscard]] Seat& borrow(std::uint64_t least = 0);

  /// Its debts are settled here.
  void give_back(Seat& seat) noexcept;

  /// Departed seats have been forgotten: others may depart.
  void trim() noexcept;

 private:
  struct OwnedSeat : Seat {
    std::vector<Slot*> slots_by_index;
    std::vector<Drain::Producer*> producers;  // likewise; of the slots
  };

  Seat& build() DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] bool depart_spares() noexcept DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] std::size_t most_departed() const noexcept;
  void remove(Seat& seat) noexcept DATABUFFER_REQUIRES(mutex_);
  void depart(const OwnedSeat& seat) noexcept;

  std::vector<std::unique_ptr<Partition>>& partitions_;  // fixed
  Mutex mutex_;
  std::vector<std::unique_ptr<OwnedSeat>> seats_ DATABUFFER_GUARDED_BY(mutex_);  // by number
  std::vector<Seat*> free_ DATABUFFER_GUARDED_BY(mutex_);                        // likewise
};

}  // namespace databuffer::detail
