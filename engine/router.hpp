#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// Round robin through one atomic counter, drawn in runs: a thread takes kRun tickets at a time,
/// and each is a turn of the next partition. One shared write for kRun turns, and an exact rotation
/// for each thread and, run by run, for all together. (How many items a turn takes is the gate's.)
class Router {
 public:
  /// A prime, so that the runs begin at every partition.
  static constexpr std::int64_t kRun = 251;

  /// `first_ticket` other than 0 is for tests of the counter's wrap.
  explicit Router(std::size_t partition_count, std::uint64_t first_ticket = 0) noexcept
      : partition_count_(partition_count), next_ticket_(first_ticket) {}

  /// The slot whose turn comes behind that of the seat's cursor.
  [[nodiscard]] Slot& following(Seat& seat) noexcept {
    if (seat.tickets_left == 0) draw(seat);
    return *seat.cursor->next;
  }

  /// It is the turn of this slot: following(), or one behind it, if those before have no room.
  static void take_turn(Seat& seat, Slot& slot) noexcept {
    seat.cursor = &slot;
    --seat.tickets_left;
  }

  /// The slot has not used its turn, which comes again.
  void give_turn_back(Seat& seat, const Slot& slot) const noexcept {
    seat.cursor = before(seat, slot.partition_index);
    ++seat.tickets_left;
  }

 private:
  friend struct Layout;

  [[nodiscard]] Slot* before(const Seat& seat, std::size_t partition_index) const noexcept {
    return seat.slots[partition_index == 0 ? partition_count_ - 1 : partition_index - 1];
  }

  void draw(Seat& seat) noexcept {
    if (partition_count_ == 1) {
      seat.tickets_left = std::numeric_limits<std::int64_t>::max() / 2;
      return;
    }
    // relaxed: only the number matters, and each is given out once.
    const std::uint64_t ticket = next_ticket_.fetch_add(kRun, std::memory_order_relaxed);
    seat.cursor = before(seat, ticket % partition_count_);
    seat.tickets_left = kRun;
  }

  const std::size_t partition_count_;
  alignas(kDestructiveBytes) std::atomic<std::uint64_t> next_ticket_;  // written by producers
};

}  // namespace databuffer::detail
