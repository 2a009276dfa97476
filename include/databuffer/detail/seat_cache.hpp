#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// What this thread used last: its seats in a few buffers, found by the buffer's id. Ids are never
/// reused, so an entry of a dead buffer is never found again. Plain data without constructor or
/// destructor: reading it costs one thread-local address, at any time in the thread's life.
struct SeatCache {
  static constexpr std::size_t kEntries = 8;
  struct Entry {
    std::uint64_t buffer_id;  // 0: none
    Seat* seat;               // borrowed from the buffer
  };
  Entry last;                            // of all
  std::array<Entry, kEntries> by_digit;  // by the id modulo their number

  void remember(std::uint64_t buffer_id, Seat* seat) noexcept {
    last = by_digit[buffer_id % kEntries] = {buffer_id, seat};
  }
  /// Null if there is none. It becomes the last.
  [[nodiscard]] Seat* recall(std::uint64_t buffer_id) noexcept {
    const Entry& entry = by_digit[buffer_id % kEntries];
    if (entry.buffer_id != buffer_id) return nullptr;
    last = entry;
    return entry.seat;
  }
};

extern constinit thread_local SeatCache seat_cache;

}  // namespace databuffer::detail
