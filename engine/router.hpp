#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// Round robin through one atomic counter, drawn in runs: a thread takes kRun tickets at a time and
/// visits the partitions one by one along its run. One shared write for kRun inserts, and an exact
/// rotation for each thread and, run by run, for all together.
class Router {
 public:
  /// A prime, so that the runs begin at every partition.
  static constexpr std::int64_t kRun = 251;

  /// `first_ticket` other than 0 is for tests of the counter's wrap.
  explicit Router(std::size_t partition_count, std::uint64_t first_ticket = 0) noexcept
      : partition_count_(partition_count), next_ticket_(first_ticket) {}

  /// Puts the seat at the beginning of a new run.
  void draw(Seat& seat) noexcept {
    if (partition_count_ == 1) {
      seat.cursor = seat.slots[0];
      seat.tickets_left = std::numeric_limits<std::int64_t>::max();
      return;
    }
    // relaxed: only the number matters, and each is given out once.
    const std::uint64_t ticket = next_ticket_.fetch_add(kRun, std::memory_order_relaxed);
    seat.cursor = seat.slots[ticket % partition_count_];
    seat.tickets_left = kRun;
  }

 private:
  friend struct Layout;

  const std::size_t partition_count_;
  alignas(kDestructiveBytes) std::atomic<std::uint64_t> next_ticket_;  // written by producers
};

}  // namespace databuffer::detail
