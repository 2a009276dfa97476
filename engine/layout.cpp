// What lies on which cache line: where fields of different writers share one, this does not
// compile.

#include <cstddef>
#include <cstdint>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/core.hpp"
#include "databuffer/detail/lane.hpp"
#include "databuffer/detail/slot.hpp"
#include "engine/doorbell.hpp"
#include "engine/gate.hpp"
#include "engine/partition.hpp"
#include "engine/router.hpp"

// Of types that are not standard-layout too: g++ and clang lay them out alike.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace databuffer::detail {

namespace {

constexpr std::size_t line_of(std::size_t offset) { return offset / kDestructiveBytes; }
constexpr bool is_in_second_line(std::size_t offset) {
  return offset % kDestructiveBytes >= kLineBytes;
}

template <class T>
constexpr bool kHasLinesOfItsOwn = alignof(T) >= kDestructiveBytes &&
                                   sizeof(T) % kDestructiveBytes == 0;

}  // namespace

// One thread's, each: no two of them share a line.
static_assert(kHasLinesOfItsOwn<Seat>);
static_assert(kHasLinesOfItsOwn<LaneSlot<std::uint64_t>>);
// What an insert reads and writes of it is one line, also where a line is 64 bytes.
static_assert(offsetof(LaneSlot<std::uint64_t>, tail) + sizeof(void*) <= kLineBytes);
static_assert(offsetof(LaneSlot<std::uint64_t>, head) >= kLineBytes);

// Shared parts: none shares a line with what lies beside it.
static_assert(kHasLinesOfItsOwn<Doorbell>);
static_assert(kHasLinesOfItsOwn<Gate>);
static_assert(kHasLinesOfItsOwn<WeightGate>);
static_assert(kHasLinesOfItsOwn<Router>);
static_assert(kHasLinesOfItsOwn<Core>);  // read-mostly: attention

// Of the four lines that an insert touches beside its queue, two are the first of their pair (seat
// and slot), two the second.
static_assert(is_in_second_line(offsetof(Core, attention)));

struct Layout {
  static_assert(is_in_second_line(offsetof(Doorbell, watch_)));

  // watch_ is read by every insert, missing_ is written by those that are watched, armings_ by the
  // consumer.
  static_assert(line_of(offsetof(Doorbell, watch_)) != line_of(offsetof(Doorbell, missing_)));
  static_assert(line_of(offsetof(Doorbell, missing_)) != line_of(offsetof(Doorbell, armings_)));
  static_assert(line_of(offsetof(Doorbell, watch_)) != line_of(offsetof(Doorbell, armings_)));

  // Fixed, and written by all.
  static_assert(line_of(offsetof(Gate, capacity_)) != line_of(offsetof(Gate, settled_)));
  static_assert(line_of(offsetof(WeightGate, capacity_)) !=
                line_of(offsetof(WeightGate, pending_)));
  static_assert(line_of(offsetof(Router, partition_count_)) !=
                line_of(offsetof(Router, next_ticket_)));

  // The consumer's counters, and what producers write.
  static_assert(line_of(offsetof(Partition, counts)) != line_of(offsetof(Partition, gate)));
  static_assert(line_of(offsetof(Partition, counts)) != line_of(offsetof(Partition, doorbell)));
};

}  // namespace databuffer::detail
