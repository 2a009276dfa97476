// Goal: round robin visits the partitions evenly, for any number of them, also when the counter
// wraps.
// Method: the router alone walks hand-made seats; then a buffer, seen through info().

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "engine/router.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::Router;
using databuffer::detail::Seat;
using databuffer::detail::Slot;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

constexpr std::uint64_t kRoom = 1000;
constexpr std::size_t kMaxSize = 1000;

/// A seat over `partition_count` slots, in a ring.
class Walker {
 public:
  explicit Walker(std::size_t partition_count) : slots_(partition_count) {
    for (std::size_t index = 0; index < partition_count; ++index) {
      slots_[index].partition_index = static_cast<std::uint32_t>(index);
      slots_[index].next = &slots_[(index + 1) % partition_count];
      pointers_.push_back(&slots_[index]);
    }
    seat_.slots = pointers_.data();
    seat_.cursor = pointers_.front();
  }

  /// The partition of the next turn.
  std::size_t step(Router& router, std::uint32_t pending = 0, std::uint64_t least = 1) {
    Slot& slot = router.following(seat_);
    slot.noted_pending = pending;
    slot.room_until = kRoom;
    router.take_turn(seat_, slot, least);
    return slot.partition_index;
  }

  /// As an insert during whose own insert another one takes the last ticket.
  void step_twice_at_once(Router& router) {
    Slot& slot = router.following(seat_);
    static_cast<void>(step(router));
    router.take_turn(seat_, slot);
  }

  /// Items of the turn.
  [[nodiscard]] std::uint64_t turn() const { return seat_.cursor->turn_until - seat_.cursor->word; }

  /// The turn comes again.
  void undo(Router& router) { router.give_turn_back(seat_, *seat_.cursor); }

 private:
  std::deque<Slot> slots_;
  std::vector<Slot*> pointers_;
  Seat seat_;
};

std::uint64_t spread(const std::vector<std::uint64_t>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return *most - *least;
}

}  // namespace

TEST_SUITE("router") {
  TEST_CASE("one thread visits the partitions strictly in turn, across runs") {
    for (const std::size_t partitions : {2U, 3U, 4U, 7U, 64U, 100U}) {
      CAPTURE(partitions);
      Router router(partitions, kMaxSize);
      Walker walker(partitions);
      for (std::size_t step = 0; step < 10 * Router::kTickets; ++step) {
        REQUIRE(walker.step(router) == step % partitions);
      }
    }
  }

  TEST_CASE("threads that insert one item each do not all choose the same partition") {
    for (const std::size_t partitions : {2U, 3U, 4U, 8U, 12U, 64U, 100U}) {
      CAPTURE(partitions);
      Router router(partitions, kMaxSize);
      std::vector<std::uint64_t> counts(partitions);
      for (std::size_t thread = 0; thread < 5 * partitions; ++thread) {
        ++counts[Walker(partitions).step(router)];
      }
      CHECK(spread(counts) == 0);
    }
  }

  TEST_CASE("a turn that was given back comes again, and nothing else changes") {
    for (const std::size_t partitions : {1U, 2U, 3U, 7U}) {
      CAPTURE(partitions);
      Router router(partitions, kMaxSize);
      Walker walker(partitions);
      for (std::size_t step = 0; step < 3 * Router::kTickets; ++step) {
        REQUIRE(walker.step(router) == step % partitions);
        walker.undo(router);
        REQUIRE(walker.step(router) == step % partitions);
      }
    }
  }

  TEST_CASE("a turn takes an eighth of what is pending, by the least of the round before") {
    Router router(3, kMaxSize);
    Walker walker(3);
    const std::uint32_t pending[5][3] = {
        {79, 40, 63}, {24, 64, 64}, {5000, 5000, 5000}, {15, 800, 800}, {0, 0, 0}};
    const std::uint64_t lengths[5] = {1, 5, 3, 64, 1};
    for (std::size_t round = 0; round < 5; ++round) {
      for (const std::uint32_t seen : pending[round]) {
        static_cast<void>(walker.step(router, seen));
        CHECK(walker.turn() == lengths[round]);
      }
    }
  }

  TEST_CASE("a turn takes no more than an eighth of a batch, and than the gate admits") {
    for (const std::size_t max_size : {1U, 15U, 16U, 100U, 512U, 10'000U}) {
      CAPTURE(max_size);
      Router router(2, max_size);
      Walker walker(2);
      for (int step = 0; step < 6; ++step) static_cast<void>(walker.step(router, 100'000));
      CHECK(walker.turn() == std::clamp<std::size_t>(max_size / 8, 1, 64));
      static_cast<void>(walker.step(router, 100'000, 500));
      CHECK(walker.turn() == 500);  // A batch goes in whole.
      static_cast<void>(walker.step(router, 100'000, 2000));
      CHECK(walker.turn() == kRoom);
    }
  }

  TEST_CASE("where there is one partition a turn takes all that may go in unasked") {
    Router router(1, kMaxSize);
    Walker walker(1);
    static_cast<void>(walker.step(router));
    CHECK(walker.turn() == kRoom);
  }

  TEST_CASE("more turns than tickets are made up for by the next draw") {
    Router router(2, kMaxSize);
    Walker walker(2);
    for (int step = 0; step < Router::kTickets - 1; ++step) static_cast<void>(walker.step(router));
    walker.step_twice_at_once(router);
    static_cast<void>(walker.step(router));  // draws: tickets 251 to 501
    Walker other(2);
    CHECK(other.step(router) == 2 * Router::kTickets % 2);
  }

  TEST_CASE("one partition needs no tickets") {
    Router router(1, kMaxSize);
    Walker walker(1);
    for (int step = 0; step < 1000; ++step) REQUIRE(walker.step(router) == 0);
  }

  TEST_CASE("many threads fill the partitions evenly, for even and odd numbers of them") {
    constexpr std::size_t kThreads = 13;
    constexpr int kRounds = 1000;
    for (const std::size_t partitions : {2U, 3U, 4U, 5U, 8U, 12U}) {
      CAPTURE(partitions);
      Router router(partitions, kMaxSize);
      std::deque<Walker> walkers;
      for (std::size_t thread = 0; thread < kThreads; ++thread) walkers.emplace_back(partitions);
      std::vector<std::uint64_t> counts(partitions);
      for (int round = 0; round < kRounds; ++round) {
        for (Walker& walker : walkers) ++counts[walker.step(router)];
      }
      // Only the runs that are not used up make a difference: at most one step a thread.
      CHECK(spread(counts) <= kThreads + 1);
    }
  }

  TEST_CASE("the distribution stays even when the ticket counter wraps") {
    for (const std::size_t partitions : {2U, 3U, 7U, 8U}) {
      CAPTURE(partitions);
      const std::uint64_t near_wrap =
          std::numeric_limits<std::uint64_t>::max() - 10 * Router::kTickets + 1;
      Router router(partitions, kMaxSize, near_wrap);
      Walker walker(partitions);
      std::vector<std::uint64_t> counts(partitions);
      std::size_t last = walker.step(router);
      for (std::size_t step = 1; step < 20 * Router::kTickets; ++step) {
        const std::size_t next = walker.step(router);
        REQUIRE(next < partitions);
        // In turn but for one place: the wrap may repeat or skip some.
        if (next != (last + 1) % partitions) CHECK(step == 10 * Router::kTickets);
        last = next;
        ++counts[next];
      }
      CHECK(spread(counts) <= 2);
    }
  }

  TEST_CASE("while little is pending a thread's inserts go to the partitions one by one") {
    for (const std::size_t partitions : {2U, 3U, 4U}) {
      CAPTURE(partitions);
      ManualBuffer<int> buffer({.partitions = partitions, .max_size = 1000});
      for (int item = 0; item < 24; ++item) buffer->insert(item);
      for (const PartitionInfo& info : buffer->info()) CHECK(info.size == 24 / partitions);
      // By partition, in the order of delivery.
      const std::vector<int> items = buffer->dump();
      for (std::size_t index = 0; index < items.size(); ++index) {
        const std::size_t per_partition = 24 / partitions;
        const std::size_t expected = index / per_partition + (index % per_partition) * partitions;
        CHECK(items[index] == static_cast<int>(expected));
      }
    }
  }

  TEST_CASE("where much is pending a turn takes a run, and the partitions stay within it") {
    for (const std::size_t partitions : {2U, 3U, 4U}) {
      CAPTURE(partitions);
      ManualBuffer<int> buffer({.partitions = partitions, .max_size = 5000});
      const int count = 10'000;
      for (int item = 0; item < count; ++item) {
        buffer->insert(item);
        if (item % 100 != 0) continue;
        std::size_t least = 10'000;
        std::size_t most = 0;
        for (const PartitionInfo& info : buffer->info()) {
          least = std::min(least, info.size);
          most = std::max(most, info.size);
        }
        CHECK(most - least <= std::clamp<std::size_t>(most / 8, 1, Router::kLongestTurn));
      }
      // By partition, in order: two neighbours that do not follow each other begin a turn.
      const std::vector<int> items = buffer->dump();
      std::ptrdiff_t early_turns = 0;
      std::ptrdiff_t late_turns = 0;
      for (std::size_t at = 1; at < items.size(); ++at) {
        if (items[at] == items[at - 1] + 1) continue;
        ++(items[at] < 24 ? early_turns : late_turns);
      }
      CHECK(early_turns >= 24 - 2 * static_cast<std::ptrdiff_t>(partitions));
      CHECK(late_turns < count / 24);
    }
  }

  TEST_CASE("a partition with a backlog gets no more than its share") {
    for (const std::size_t partitions : {2U, 3U, 4U}) {
      CAPTURE(partitions);
      ManualBuffer<int> buffer({.partitions = partitions, .max_size = 5000});
      std::size_t backlog_at = partitions;
      for (int item = 0; item < 3000; ++item) buffer->insert_keyed(7, item);
      for (const PartitionInfo& info : buffer->info()) {
        if (info.size == 3000) backlog_at = info.partition_index;
      }
      REQUIRE(backlog_at < partitions);
      const std::size_t share = 2000;
      for (std::size_t item = 0; item < partitions * share; ++item) buffer->insert(0);
      for (const PartitionInfo& info : buffer->info()) {
        const std::size_t own = info.size - (info.partition_index == backlog_at ? 3000 : 0);
        CHECK(own >= share - 64);
        CHECK(own <= share + 64);
      }
    }
  }

  TEST_CASE("round robin passes on to the next partition with room before anything is refused") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 10, .capacity = 10});
    // Fill partition 0 by one batch: a batch takes one partition.
    CHECK(buffer->insert_batch(numbers(0, 10)).accepted == 10);
    std::size_t full = 3;
    for (const PartitionInfo& info : buffer->info()) {
      if (info.size == 10) full = info.partition_index;
    }
    REQUIRE(full < 3);
    for (int item = 0; item < 20; ++item) {
      CHECK(buffer->try_insert(item) == InsertStatus::kAccepted);
    }
    CHECK(buffer->size() == 30);
    CHECK(buffer->try_insert(0) == InsertStatus::kFull);
    for (const PartitionInfo& info : buffer->info()) CHECK(info.size == 10);
  }

  TEST_CASE("an insert_batch passes on to a partition with room, too") {
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 10, .capacity = 10});
    CHECK(buffer->insert_batch(numbers(0, 10)).accepted == 10);
    CHECK(buffer->insert_batch(numbers(10, 10)).accepted == 10);
    for (const PartitionInfo& info : buffer->info()) CHECK(info.size == 10);
  }
}
