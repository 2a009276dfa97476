#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// Round robin through one atomic counter, drawn in runs: a thread takes kRun tickets at a time,
/// and each is a turn of the next partition. One shared write for kRun turns, and an exact rotation
/// for each thread and, run by run, for all together.
///
/// A turn takes as many items as the gates of the round before allowed at the least. So all turns
/// of a round are equally long, and one partition's backlog does not draw items to it.
class Router {
 public:
  /// A prime, so that the runs begin at every partition.
  static constexpr std::int64_t kRun = 251;

  /// `first_ticket` other than 0 is for tests of the counter's wrap.
  explicit Router(std::size_t partition_count, std::uint64_t first_ticket = 0) noexcept
      : partition_count_(partition_count), next_ticket_(first_ticket) {}

  /// The slot whose turn comes behind that of the seat's cursor.
  [[nodiscard]] Slot& following(Seat& seat) noexcept {
    if (seat.tickets_left <= 0) draw(seat);
    return *seat.cursor->next;
  }

  /// It is the turn of this slot: following(), or one behind it, if those before have no room.
  /// `run`: Gate::run_length(). `least`: items that the turn takes in any case, if they are
  /// admitted.
  static void take_turn(Seat& seat, Slot& slot, std::uint64_t run,
                        std::uint64_t least = 1) noexcept {
    if (slot.partition_index <= seat.cursor->partition_index) {  // a new round
      seat.run = std::exchange(seat.next_run, run);
    }
    seat.next_run = std::min(seat.next_run, run);
    seat.cursor = &slot;
    --seat.tickets_left;
    // relaxed: only this thread writes it.
    const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
    slot.turn_until = std::min(slot.room_until, word + std::max(least, seat.run));
  }

  /// The slot has not used its turn, which comes again.
  void give_turn_back(Seat& seat, const Slot& slot) const noexcept {
    seat.cursor = before(seat, slot.partition_index);
    seat.cursor->turn_until = 0;  // Its own is over, even if a batch left some of it.
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
