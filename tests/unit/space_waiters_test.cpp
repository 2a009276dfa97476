// Goal: who waits for room is served when there is room for it, in the order of waiting, and nobody
// else is disturbed.
// Method: the class alone over partitions without a buffer; nobody sleeps: a waiter joins, and is
// asked whether its wait is over. Partitions are filled by reservations, without items.

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/partition.hpp"
#include "engine/space_waiters.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::Core;
using databuffer::detail::kAnyPartition;
using databuffer::detail::LaneOf;
using databuffer::detail::Partition;
using databuffer::detail::Slot;
using databuffer::detail::SpaceWaiters;
using Outcome = SpaceWaiters::Outcome;

namespace {

constexpr std::size_t kCapacity = 5;

/// Full partitions of kCapacity items and, if it is given, of a weight.
class FullPartitions {
 public:
  explicit FullPartitions(std::size_t count, std::size_t capacity_bytes = 0)
      : space_(partitions_, count, attention_), slots_(count) {
    const Options options{
        .name = "p", .max_size = 1, .capacity = kCapacity, .capacity_bytes = capacity_bytes};
    for (std::size_t index = 0; index < count; ++index) {
      partitions_.push_back(
          std::make_unique<Partition>(index, options, std::make_unique<LaneOf<int>>()));
      REQUIRE(partitions_[index]->gate.reserve(slots_[index], 1, kCapacity) == kCapacity);
    }
  }

  SpaceWaiters::Waiter& join(std::size_t partition_index, std::size_t items = 1,
                             std::size_t weight = 0) {
    SpaceWaiters::Waiter& waiter = waiters_.emplace_back(partition_index, items, weight);
    space_.join(waiter);
    return waiter;
  }

  void release(std::size_t partition_index, std::size_t items, std::size_t weight = 0) {
    space_.release(*partitions_[partition_index], items, weight);
  }

  /// Its deadline has come.
  Outcome give_up(SpaceWaiters::Waiter& waiter) { return space_.wait(waiter, TimePoint{}); }

  void close() {
    attention_ |= Core::kClosed;
    space_.close();
  }
  void fork() { attention_ |= Core::kForked; }

  /// What an insert that does not wait gets of this many.
  std::size_t take(std::size_t partition_index, std::size_t items = 1) {
    return partitions_[partition_index]->gate.reserve(slots_[partition_index], 1, items);
  }

  Partition& partition(std::size_t index) { return *partitions_[index]; }

 private:
  std::atomic<std::uint32_t> attention_{0};
  std::vector<std::unique_ptr<Partition>> partitions_;
  SpaceWaiters space_;
  std::deque<Slot> slots_;
  std::deque<SpaceWaiters::Waiter> waiters_;
};

}  // namespace

TEST_SUITE("space waiters") {
  TEST_CASE("of a thousand that wait each place wakes one, in the order of waiting") {
    FullPartitions full(1);
    std::vector<SpaceWaiters::Waiter*> waiters;
    for (int count = 0; count < 1000; ++count) waiters.push_back(&full.join(0));
    std::size_t served = 0;
    for (const std::size_t places : {1U, 3U, 1U, 5U, 2U}) {
      full.release(0, places);
      served += places;
      for (std::size_t index = 0; index < waiters.size(); ++index) {
        CHECK(waiters[index]->is_over() == (index < served));
      }
    }
  }

  TEST_CASE("room in one partition is not for those who wait for another") {
    FullPartitions full(3);
    const auto& bound = full.join(1);
    full.release(0, kCapacity);
    full.release(2, kCapacity);
    CHECK_FALSE(bound.is_over());
    CHECK(full.take(0) == 1);  // Nor are those two closed for others.
    CHECK(full.take(2) == 1);
    full.release(1, 1);
    CHECK(bound.is_over());
    CHECK(bound.partition_index() == 1);
  }

  TEST_CASE("who takes any partition is served by the first that has room, and once") {
    FullPartitions full(3);
    const auto& first = full.join(kAnyPartition);
    const auto& second = full.join(kAnyPartition);
    full.release(2, 1);
    CHECK(first.is_over());
    CHECK(first.partition_index() == 2);
    CHECK_FALSE(second.is_over());
    full.release(0, 2);
    CHECK(second.partition_index() == 0);
    CHECK(full.take(0, 9) == 1);  // The other place is everybody's.
    full.release(1, 1);
    CHECK(full.take(1, 9) == 1);
  }

  TEST_CASE("between the lines it is the order of waiting, too") {
    FullPartitions full(2);
    const auto& first = full.join(0);
    const auto& second = full.join(kAnyPartition);
    const auto& third = full.join(0);
    full.release(0, 1);
    CHECK(first.is_over());
    CHECK_FALSE(second.is_over());
    full.release(0, 1);
    CHECK(second.is_over());
    CHECK_FALSE(third.is_over());
    full.release(0, 1);
    CHECK(third.is_over());
  }

  TEST_CASE("while one waits nobody else gets room, and when none does everybody") {
    FullPartitions full(2);
    const auto& bound = full.join(0);
    full.release(1, 2);
    CHECK(full.take(0) == 0);
    CHECK(full.take(1) == 1);
    full.join(kAnyPartition);  // The place that was left.
    const auto& any = full.join(kAnyPartition);
    CHECK_FALSE(any.is_over());
    full.release(0, 3);
    CHECK(bound.is_over());
    CHECK(any.is_over());
    CHECK(full.take(0, 9) == 1);
    full.release(1, 1);
    CHECK(full.take(1, 9) == 1);
  }

  TEST_CASE("a waiter of many items takes what is free, at least one place") {
    FullPartitions full(1);
    const auto& many = full.join(0, 1000);
    const auto& other = full.join(0, 2);
    full.release(0, 3);
    CHECK(many.room() == 3);
    CHECK_FALSE(other.is_over());
    full.release(0, 3);
    CHECK(other.room() == 2);
    CHECK(full.take(0, 9) == 1);
  }

  TEST_CASE("who joins when there is room after all is served at once") {
    FullPartitions full(2);
    full.release(1, 1);
    const auto& any = full.join(kAnyPartition);
    CHECK(any.is_over());
    CHECK(any.partition_index() == 1);
    full.release(0, 1);
    CHECK(full.join(0).is_over());
    CHECK(full.take(0) == 0);
    CHECK(full.take(1) == 0);
  }

  TEST_CASE("by weight room is kept for the oldest, however light the others are") {
    FullPartitions full(1, 100);
    REQUIRE(full.partition(0).weight_gate.reserve(100));
    const auto& heavy = full.join(0, 1, 70);
    const auto& light = full.join(0, 1, 1);
    full.release(0, 2, 40);
    CHECK_FALSE(heavy.is_over());
    CHECK_FALSE(light.is_over());
    CHECK(full.take(0) == 0);
    full.release(0, 1, 30);
    CHECK(heavy.is_over());
    CHECK_FALSE(light.is_over());
    CHECK(full.partition(0).weight_gate.pending() == 100);
    full.release(0, 1, 1);
    CHECK(light.is_over());
  }

  TEST_CASE("whoever finds no room by weight has a batch made, each time") {
    FullPartitions full(1, 100);
    Partition& partition = full.partition(0);
    REQUIRE(partition.weight_gate.reserve(95));
    const std::uint64_t rings = partition.doorbell.rings();
    full.join(0, 1, 10);
    full.release(0, 1);
    CHECK(partition.weight_gate.is_due());
    CHECK(partition.doorbell.rings() > rings);
    partition.weight_gate.forget_demand();
    full.release(0, 1, 3);
    CHECK(partition.weight_gate.is_due());
    partition.weight_gate.forget_demand();
    full.release(0, 1, 3);
    CHECK_FALSE(partition.weight_gate.is_due());
    CHECK(partition.weight_gate.pending() == 99);
  }

  TEST_CASE("an item heavier than the limit waits until nothing is there, and then goes in") {
    FullPartitions full(1, 100);
    REQUIRE(full.partition(0).weight_gate.reserve(10));
    const auto& heaviest = full.join(0, 1, 5000);
    full.release(0, 4, 9);
    CHECK_FALSE(heaviest.is_over());
    full.release(0, 1, 1);
    CHECK(heaviest.is_over());
  }

  TEST_CASE("weight that is taken where there is no place for an item goes back") {
    FullPartitions full(1, 100);
    const auto& waiter = full.join(0, 1, 30);
    CHECK(full.partition(0).weight_gate.pending() == 0);
    full.release(0, 1);
    CHECK(waiter.is_over());
    CHECK(full.partition(0).weight_gate.pending() == 30);
  }

  TEST_CASE("who gives up lets those pass that it kept waiting") {
    FullPartitions full(2, 100);
    REQUIRE(full.partition(0).weight_gate.reserve(50));
    REQUIRE(full.partition(1).weight_gate.reserve(50));
    auto& heavy = full.join(kAnyPartition, 1, 70);
    const auto& light0 = full.join(0, 1, 10);
    const auto& light1 = full.join(1, 1, 10);
    full.release(0, 1);
    full.release(1, 2);
    CHECK_FALSE(light0.is_over());
    CHECK_FALSE(light1.is_over());
    CHECK(full.give_up(heavy) == Outcome::kTimedOut);
    CHECK(light0.is_over());
    CHECK(light1.is_over());
    CHECK(full.take(0) == 0);
    CHECK(full.take(1, 9) == 1);
  }

  TEST_CASE("who took any partition kept those of all waiting, until it is served") {
    FullPartitions full(2, 100);
    REQUIRE(full.partition(0).weight_gate.reserve(50));
    REQUIRE(full.partition(1).weight_gate.reserve(50));
    const auto& heavy = full.join(kAnyPartition, 1, 70);
    const auto& light = full.join(1, 1, 10);
    full.release(1, 1);
    CHECK_FALSE(light.is_over());
    full.release(0, 1, 20);
    CHECK(heavy.partition_index() == 0);
    CHECK(light.is_over());
  }

  TEST_CASE("room that comes before the deadline is noticed counts") {
    FullPartitions full(1);
    auto& waiter = full.join(0);
    full.release(0, 1);
    CHECK(full.give_up(waiter) == Outcome::kServed);
    auto& next = full.join(0);
    full.release(0, waiter.room());  // It was not used.
    CHECK(full.give_up(next) == Outcome::kServed);
  }

  TEST_CASE("who has given up takes no room with it") {
    FullPartitions full(1);
    auto& first = full.join(0);
    auto& second = full.join(0);
    const auto& third = full.join(0);
    CHECK(full.give_up(second) == Outcome::kTimedOut);
    CHECK(full.give_up(first) == Outcome::kTimedOut);
    full.release(0, 2);
    CHECK(third.is_over());
    CHECK(full.take(0, 9) == 1);
  }

  TEST_CASE("after close nobody waits, whenever it came") {
    FullPartitions full(2);
    auto& bound = full.join(1);
    auto& any = full.join(kAnyPartition);
    full.close();
    auto& late = full.join(0);
    CHECK(full.give_up(bound) == Outcome::kClosed);
    CHECK(full.give_up(any) == Outcome::kClosed);
    CHECK(full.give_up(late) == Outcome::kClosed);
    full.release(0, 1);
    CHECK(full.take(0) == 1);
  }

  TEST_CASE("in a forked child nobody waits, and nobody is served") {
    FullPartitions full(1);
    const auto& parents = full.join(0);
    full.fork();
    full.release(0, 1);
    CHECK_FALSE(parents.is_over());
    auto& own = full.join(0);
    CHECK(full.give_up(own) == Outcome::kClosed);
  }
}
