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
  std::array<Entry, kEntries> entries;

  [[nodiscard]] Entry& entry(std::uint64_t buffer_id) noexcept {
    return entries[buffer_id % kEntries];
  }
};

extern constinit thread_local SeatCache seat_cache;

}  // namespace databuffer::detail
