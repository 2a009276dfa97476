#pragma once

#include <cstddef>
#include <cstdint>

#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

class Core;

/// A buffer, and this thread's seat in it.
struct SeatCache {
  const Core* core;  // null: none
  Seat* seat;        // borrowed from the buffer
};

/// The seats this thread has, in all buffers: a hash table with open addressing, by the buffer's
/// address (ThreadSeats, which owns it, keeps the memory of each buffer that is in it; so no other
/// has its address).
struct SeatTable {
  const SeatCache* places;  // 2^(64 - shift) of them; core null: free
  unsigned shift;

  /// The buffer's own place, or the free one where it belongs.
  [[nodiscard]] std::size_t place_of(const Core& core) const noexcept {
    // The high bits of the product depend on all of the address.
    std::size_t place = (reinterpret_cast<std::uintptr_t>(&core) * 0x9E3779B97F4A7C15U) >> shift;
    while (places[place].core != &core && places[place].core != nullptr) [[unlikely]] {
        place = (place + 1) & (~std::uint64_t{0} >> shift);
      }
    return place;
  }
};
static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

// Plain data without constructor or destructor: it can be read at any time in the thread's life.
// Each copy of the library in a process has its own (hidden), and only buffers that were made by
// that copy are ever in it.
extern constinit thread_local SeatTable seat_table [[gnu::visibility("hidden")]];
/// The one this thread used last: a copy out of the table.
extern constinit thread_local SeatCache seat_cache [[gnu::visibility("hidden")]];

}  // namespace databuffer::detail
