// Goal: a seat that is given back is adopted, slots, items and round included, so that their number
// is the most that were out at the same time; a thread finds its seat in every buffer it uses.
// Method: the class alone, borrowing as threads that come and go would; then many buffers on one
// thread, more than its cache holds.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "engine/partition.hpp"
#include "engine/seats.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::LaneOf;
using databuffer::detail::LaneSlot;
using databuffer::detail::Partition;
using databuffer::detail::Seat;
using databuffer::detail::Seats;
using databuffer::detail::Slot;
using databuffer::support::ManualBuffer;

namespace {

/// The partitions of a buffer, without the buffer.
struct Hall {
  explicit Hall(std::size_t partition_count) : seats(partitions) {
    const Options options{.name = "h", .max_size = 1000};
    for (std::size_t index = 0; index < partition_count; ++index) {
      partitions.push_back(
          std::make_unique<Partition>(index, options, std::make_unique<LaneOf<int>>()));
    }
  }

  /// As the consumers do, until no more depart.
  void forget_departed() {
    while (partitions[0]->drain.has_departed()) {
      for (const auto& partition : partitions) partition->drain.forget_departed();
      seats.trim();
    }
  }

  std::vector<std::unique_ptr<Partition>> partitions;
  Seats seats;
};

void insert_one(Slot& slot, int item) {
  REQUIRE(static_cast<LaneSlot<int>&>(slot).push(std::move(item)));
  slot.word = slot.word + 1;
}

}  // namespace

TEST_SUITE("seats") {
  TEST_CASE("a seat has one slot in each partition, in a ring") {
    Hall hall(3);
    const Seat& seat = hall.seats.borrow();
    for (std::size_t index = 0; index < 3; ++index) {
      CHECK(seat.slots[index]->partition_index == index);
      CHECK(seat.slots[index]->next == seat.slots[(index + 1) % 3]);
      CHECK(seat.slots[index]->watch == &hall.partitions[index]->doorbell.watch());
    }
    CHECK(seat.tickets_left == 0);  // It draws when it inserts.
  }

  TEST_CASE("a seat that is out is not lent again") {
    Hall hall(2);
    std::set<const Seat*> seats;
    for (int thread = 0; thread < 10; ++thread) seats.insert(&hall.seats.borrow());
    CHECK(seats.size() == 10);
    CHECK(hall.partitions[0]->drain.slot_count() == 10);
  }

  TEST_CASE("however many threads come and go, there are as many seats as were out at once") {
    Hall hall(4);
    for (int round = 0; round < 10'000; ++round) {
      Seat& one = hall.seats.borrow();
      Seat& other = hall.seats.borrow();
      CHECK(&one != &other);
      hall.seats.give_back(one);
      hall.seats.give_back(other);
    }
    for (const auto& partition : hall.partitions) CHECK(partition->drain.slot_count() == 2);
  }

  TEST_CASE("of many free seats a few are kept, the oldest, and the others' slots depart") {
    Hall hall(2);
    std::vector<Seat*> seats;
    for (int thread = 0; thread < 100; ++thread) seats.push_back(&hall.seats.borrow());
    // As many as half of those that are out.
    for (std::size_t thread = 50; thread < 100; ++thread) hall.seats.give_back(*seats[thread]);
    hall.forget_departed();
    for (const auto& partition : hall.partitions) CHECK(partition->drain.slot_count() == 75);
    for (std::size_t thread = 0; thread < 50; ++thread) hall.seats.give_back(*seats[thread]);
    hall.forget_departed();
    for (const auto& partition : hall.partitions) {
      CHECK(partition->drain.slot_count() == Seats::kSpareSeats);
      CHECK_FALSE(partition->drain.has_departed());
    }
    for (std::size_t thread = 0; thread < Seats::kSpareSeats; ++thread) {
      CHECK(&hall.seats.borrow() == seats[thread]);
    }
    static_cast<void>(hall.seats.borrow());
    CHECK(hall.partitions[0]->drain.slot_count() == Seats::kSpareSeats + 1);
  }

  TEST_CASE("where none is forgotten seats are adopted: their number follows the threads at once") {
    Hall hall(2);
    constexpr std::size_t kThreads = 40;
    std::size_t most = 0;
    for (int wave = 0; wave < 100; ++wave) {
      std::vector<Seat*> seats;
      for (std::size_t thread = 0; thread < kThreads; ++thread) {
        seats.push_back(&hall.seats.borrow());
        insert_one(*seats.back()->slots[0], 1);  // So that it has items when it departs.
      }
      for (Seat* const seat : seats) hall.seats.give_back(*seat);
      most = std::max(most, hall.partitions[0]->drain.slot_count());
      CHECK(hall.partitions[1]->drain.departed_count() <= kThreads + Seats::kSpareSeats);
    }
    CHECK(most <= 2 * kThreads + 2 * Seats::kSpareSeats);
  }

  TEST_CASE("free seats are adopted from the oldest on, and none that is older than asked for") {
    Hall hall(1);
    std::vector<Seat*> seats;
    for (int thread = 0; thread < 4; ++thread) seats.push_back(&hall.seats.borrow());
    for (const std::size_t index : {2U, 0U, 3U}) hall.seats.give_back(*seats[index]);
    CHECK(&hall.seats.borrow() == seats[0]);
    hall.seats.give_back(*seats[0]);
    CHECK(&hall.seats.borrow(seats[1]->number) == seats[2]);
    CHECK(&hall.seats.borrow(seats[3]->number) == seats[3]);
    Seat& built = hall.seats.borrow(seats[1]->number);
    CHECK(built.number > seats[3]->number);
    CHECK(&hall.seats.borrow() == seats[0]);
  }

  TEST_CASE("an adopted seat goes on where it was left, and the items of its thread are there") {
    Hall hall(2);
    Seat& first = hall.seats.borrow();
    insert_one(*first.slots[0], 7);
    first.cursor = first.slots[1];
    first.tickets_left = 5;
    hall.seats.give_back(first);

    const Seat& adopted = hall.seats.borrow();
    REQUIRE(&adopted == &first);
    CHECK(adopted.cursor == adopted.slots[1]);
    CHECK(adopted.tickets_left == 5);
    insert_one(*adopted.slots[0], 8);
    CHECK(hall.partitions[0]->pending() == 2);
    const auto cargo = hall.partitions[0]->lane->make_cargo();
    cargo->reserve(2);
    REQUIRE(hall.partitions[0]->drain.take(2, 0, *cargo).items == 2);
    CHECK(static_cast<int*>(cargo->data())[0] == 7);
    CHECK(static_cast<int*>(cargo->data())[1] == 8);
  }

  TEST_CASE("the debt of a thread that ends is settled, so that the others see it") {
    const Options options{.name = "h", .max_size = 10, .capacity = 1000};
    Hall hall(0);
    hall.partitions.push_back(
        std::make_unique<Partition>(0, options, std::make_unique<LaneOf<int>>()));
    Seat& seat = hall.seats.borrow();
    REQUIRE(hall.partitions[0]->gate.settle(*seat.slots[0]));
    for (int item = 0; item < 10; ++item) insert_one(*seat.slots[0], item);  // unsettled
    Seat& other = hall.seats.borrow();
    CHECK(hall.partitions[0]->gate.reserve(*other.slots[0], 1, 5000) == 1000);
    CHECK(hall.partitions[0]->gate.finish_reserved(*other.slots[0], 1000, 0) == 1000);
    REQUIRE_FALSE(hall.partitions[0]->gate.release(1000));
    hall.seats.give_back(seat);
    CHECK(hall.partitions[0]->gate.reserve(*other.slots[0], 1, 5000) == 990);
  }

  TEST_CASE("a thread finds its seat in many buffers, more than it remembers") {
    std::deque<ManualBuffer<int>> buffers;
    for (int index = 0; index < 50; ++index) buffers.emplace_back(Options{.max_size = 100});
    for (int round = 0; round < 5; ++round) {
      for (auto& buffer : buffers) CHECK(buffer->insert(round) == InsertStatus::kAccepted);
    }
    for (auto& buffer : buffers) {
      CHECK(buffer->dump() == std::vector{0, 1, 2, 3, 4});
      CHECK(buffer->info()[0].producer_slots == 1);
    }
  }

  TEST_CASE("buffers that come and go leave nothing that a later one trips over") {
    for (int index = 0; index < 3000; ++index) {
      ManualBuffer<int> buffer({.max_size = 100});
      REQUIRE(buffer->insert(index) == InsertStatus::kAccepted);
      REQUIRE(buffer->dump() == std::vector{index});
    }
  }
}
