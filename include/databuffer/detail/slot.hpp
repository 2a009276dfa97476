#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "databuffer/detail/cache_line.hpp"

namespace databuffer::detail {

/// One producer thread's place in one partition. Written by the thread that owns its seat; the
/// consumer reads `word`. A Slot is the first part of a LaneSlot<T>, which adds the segment that
/// items go into; both lie on one line that only the producer writes.
///
///   word    items inserted; with the highest bit set while the producer is inside the queue.
///   debt    word - settled_word: items inserted and not yet told to the partition's gate.
///
/// turn_until <= room_until, or the slot has no turn (turn_until <= word).
struct Slot {
  std::atomic<std::uint64_t> word{0};  // written by the producer; read by the consumer and close
  std::uint64_t turn_until = 0;        // producer only: round robin moves on when `word` is there
  const std::atomic<std::uint64_t>* watch = nullptr;  // fixed: the partition's doorbell watch
  std::uint64_t room_until = 0;       // producer only: the gate is asked when `word` is there
  std::uint64_t settled_word = 0;     // producer only
  Slot* next = nullptr;               // fixed: same seat, next partition; a ring
  std::uint32_t noted_pending = 0;    // producer only: what the gate said, up to some number
  std::uint32_t partition_index = 0;  // fixed

  // The highest, so that one comparison with `turn_until` or `room_until` finds it, too.
  static constexpr std::uint64_t kInside = std::uint64_t{1} << 63U;

  [[nodiscard]] static std::uint64_t items_of(std::uint64_t word) noexcept {
    return word & ~kInside;
  }
};

/// One producer thread's places in all partitions of a buffer, and where it stands in its round.
/// Owned by the buffer; lent to one thread at a time.
struct alignas(kDestructiveBytes) Seat {
  Slot* cursor = nullptr;             // the slot whose turn it is
  std::int64_t tickets_left = 0;      // turns to take behind it; then draw anew
  std::uint64_t turn_items = 1;       // of each turn of this round
  std::uint64_t next_turn_items = 1;  // of the next, by the slots of this one so far
  Slot** slots = nullptr;             // fixed: by partition index
  std::uint64_t number = 0;           // fixed: a seat that was built later has a higher one
};

}  // namespace databuffer::detail
