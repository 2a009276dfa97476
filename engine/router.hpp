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

/// Round robin through one atomic counter: a thread draws kTickets tickets at a time, and each is a
/// turn of the next partition. One shared write for kTickets turns, and an exact rotation for each
/// thread and, draw by draw, for all together.
///
/// A turn takes a run of items, so that a producer's lines stay where they are: an eighth of what
/// is pending, at most an eighth of a batch, kLongestTurn, and what the gate admits unasked. Where
/// little is pending, and where batches are small, that is one item. What counts is the partition
/// with the least pending in the round before: so all turns of a round are equally long, and one
/// partition's backlog does not draw items to it.
class Router {
 public:
  /// A prime, so that the draws begin at every partition.
  static constexpr std::int64_t kTickets = 251;
  static constexpr std::uint64_t kLongestTurn = 64;

  /// `first_ticket` other than 0 is for tests of the counter's wrap.
  Router(std::size_t partition_count, std::size_t max_size, std::uint64_t first_ticket = 0) noexcept
      : partition_count_(partition_count),
        longest_turn_(std::clamp<std::uint64_t>(max_size / kShare, 1, kLongestTurn)),
        next_ticket_(first_ticket) {}

  /// The slot whose turn comes behind that of the seat's cursor.
  [[nodiscard]] Slot& following(Seat& seat) noexcept {
    if (seat.tickets_left <= 0) draw(seat);
    return *seat.cursor->next;
  }

  /// It is the turn of this slot: following(), or one behind it, if those before have no room.
  /// Requires    that its gate admits `least` items; the turn takes them in any case.
  void take_turn(Seat& seat, Slot& slot, std::uint64_t least = 1) const noexcept {
    // relaxed: only this thread writes it.
    const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
    // When the gate was asked last, and the slot's own since.
    const std::uint64_t pending = slot.noted_pending + (word - slot.settled_word);
    const std::uint64_t allowed = std::clamp<std::uint64_t>(pending / kShare, 1, longest_turn_);
    if (slot.partition_index <= seat.cursor->partition_index) {  // a new round
      seat.turn_items = std::exchange(seat.next_turn_items, allowed);
    }
    seat.next_turn_items = std::min(seat.next_turn_items, allowed);
    seat.cursor = &slot;
    --seat.tickets_left;
    slot.turn_until = partition_count_ == 1
                          ? slot.room_until  // There is no other to move on to.
                          : std::min(slot.room_until, word + std::max(least, seat.turn_items));
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
    const std::uint64_t ticket = next_ticket_.fetch_add(kTickets, std::memory_order_relaxed);
    seat.cursor = before(seat, ticket % partition_count_);
    seat.tickets_left = kTickets;
  }

  static constexpr std::uint64_t kShare = 8;

  const std::size_t partition_count_;
  const std::uint64_t longest_turn_;
  alignas(kDestructiveBytes) std::atomic<std::uint64_t> next_ticket_;  // written by producers
};

}  // namespace databuffer::detail
