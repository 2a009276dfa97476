// Goal: no insert is refused while fewer than `capacity` items are pending; one producer never
// passes the capacity, each further one passes it by `settle_items` at most, below 128 not at all.
// Method: the gate alone with hand-made slots; a producer is the loop of Inserter::insert.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "engine/gate.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::Gate;
using databuffer::detail::Slot;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

std::size_t settle_items(std::size_t capacity) {
  return std::clamp<std::size_t>(capacity / 64, 1, 64);
}

/// Items leave, or do not come, and nobody waits.
void release(Gate& gate, std::size_t items) { REQUIRE_FALSE(gate.release(items)); }

/// One item, as the hot path inserts it. Returns whether there was room.
bool insert_one(Gate& gate, Slot& slot) {
  const std::uint64_t word = slot.word;
  if (word == slot.room_until && !gate.settle(slot)) return false;
  slot.word = word + 1;
  return true;
}

enum class Room { kNone, kAllowed, kTaken };

/// Room for a batch, as Core::next_slot asks for it.
Room begin_batch(Gate& gate, Slot& slot, std::size_t count) {
  bool is_reserved = false;
  if (!gate.admits_batch(slot, count, is_reserved)) return Room::kNone;
  return is_reserved ? Room::kTaken : Room::kAllowed;
}

std::size_t insert_until_full(Gate& gate, Slot& slot) {
  std::size_t inserted = 0;
  while (insert_one(gate, slot)) ++inserted;
  return inserted;
}

}  // namespace

TEST_SUITE("gate") {
  TEST_CASE("one producer gets in exactly as many as the capacity, for every capacity") {
    for (const std::size_t capacity :
         {1U, 2U, 3U, 4U, 10U, 63U, 64U, 65U, 127U, 128U, 129U, 4095U, 4096U, 4097U, 100'000U}) {
      CAPTURE(capacity);
      Gate gate(capacity);
      Slot slot;
      CHECK(insert_until_full(gate, slot) == capacity);
      CHECK(gate.excess() == 1);
      release(gate, 1);
      CHECK(gate.excess() == 0);
      CHECK(insert_until_full(gate, slot) == 1);
      release(gate, capacity);
      CHECK(insert_until_full(gate, slot) == capacity);
    }
  }

  TEST_CASE("several producers are never refused below the capacity, and pass it by their debt") {
    constexpr std::size_t kProducers = 5;
    std::mt19937 random(4711);
    for (const std::size_t capacity : {1U, 2U, 3U, 64U, 128U, 1000U, 10'000U}) {
      CAPTURE(capacity);
      Gate gate(capacity);
      std::deque<Slot> slots(kProducers);
      std::size_t pending = 0;
      for (std::size_t step = 0; step < 20 * capacity + 1000; ++step) {
        Slot& slot = slots[random() % kProducers];
        if (insert_one(gate, slot)) {
          ++pending;
        } else {
          CHECK(pending >= capacity);
        }
        // The last to ask does not see the others' debts. Where all ask each time it is exact.
        const std::size_t unasked = settle_items(capacity);
        REQUIRE(pending <= capacity + (unasked == 1 ? 0 : (kProducers - 1) * unasked));
        if (random() % 3 == 0 && pending > 0) {
          const std::size_t gone = 1 + random() % pending;
          release(gate, gone);
          pending -= gone;
        }
      }
    }
  }

  TEST_CASE("a reservation gives what is free, and takes the rest back") {
    Gate gate(10);
    Slot slot;
    CHECK(gate.reserve(slot, 1, 7) == 7);
    CHECK(gate.excess() == 0);
    CHECK(gate.reserve(slot, 1, 7) == 3);
    CHECK(gate.excess() == 1);
    CHECK(gate.reserve(slot, 1, 1) == 0);
    // Of the 3 only 1 was used, of the 7 all.
    slot.word = slot.word + 1;
    CHECK(gate.finish_reserved(slot, 3, 1) == 2);
    release(gate, 2);
    slot.word = slot.word + 7;
    CHECK(gate.finish_reserved(slot, 7, 7) == 0);
    CHECK(insert_until_full(gate, slot) == 2);
  }

  TEST_CASE("a reservation that is not used leaves nothing behind") {
    Gate gate(64);
    Slot slot;
    for (int round = 0; round < 1000; ++round) {
      CHECK(gate.reserve(slot, 1, 50) == 50);
      CHECK(gate.finish_reserved(slot, 50, 0) == 50);
      release(gate, 50);
    }
    CHECK(insert_until_full(gate, slot) == 64);
  }

  TEST_CASE("a reservation of more than any capacity is cut to what is free") {
    Gate gate(5);
    Slot slot;
    CHECK(gate.reserve(slot, 1, static_cast<std::size_t>(-1)) == 5);
  }

  TEST_CASE("a reservation of all or nothing takes nothing where there is not room for all") {
    Gate gate(100);
    Slot slot;
    CHECK(gate.reserve(slot, 101, 101) == 0);
    for (int item = 0; item < 30; ++item) REQUIRE(insert_one(gate, slot));
    CHECK(gate.reserve(slot, 71, 71) == 0);
    CHECK(gate.reserve(slot, 70, 70) == 70);
    CHECK(gate.excess() == 1);
    CHECK(gate.finish_reserved(slot, 70, 0) == 70);  // The items did not go in after all.
    release(gate, 70);
    CHECK(gate.reserve(slot, 60, 60) == 60);
    slot.word = slot.word + 60;
    CHECK(gate.finish_reserved(slot, 60, 60) == 0);
    CHECK(insert_until_full(gate, slot) == 10);
  }

  TEST_CASE("while a reservation is being filled nothing goes in unasked") {
    Gate gate(1000);
    Slot slot;
    REQUIRE(insert_one(gate, slot));  // … and 14 more might, unasked
    CHECK(gate.reserve(slot, 1, 5000) == 999);
    CHECK_FALSE(insert_one(gate, slot));
  }

  TEST_CASE("a reservation counts what the slot has inserted unasked") {
    Gate gate(1000);  // settles every 15 items
    Slot slot;
    for (int item = 0; item < 10; ++item) REQUIRE(insert_one(gate, slot));
    CHECK(gate.reserve(slot, 1, 5000) == 990);
  }

  TEST_CASE("a batch that goes in at once leaves an allowance, which the next may use unasked") {
    Gate gate(20'000);  // settles every 64 items
    Slot slot;
    CHECK(begin_batch(gate, slot, 100) == Room::kTaken);
    slot.word = slot.settled_word = 100;
    CHECK(slot.room_until == 164);
    CHECK(begin_batch(gate, slot, 64) == Room::kAllowed);
    slot.word = 164;
    CHECK(begin_batch(gate, slot, 19'826) == Room::kTaken);
    slot.word = slot.settled_word = 19'990;
    CHECK(slot.room_until == 20'000);  // No more than there is room for.
    CHECK(begin_batch(gate, slot, 11) == Room::kNone);
    CHECK(slot.room_until == 19'990);  // Asks, and may find the ten.
    CHECK(insert_until_full(gate, slot) == 10);
  }

  TEST_CASE("a batch that did not go in after all leaves nothing behind") {
    Gate gate(1000);
    Slot slot;
    CHECK(begin_batch(gate, slot, 1000) == Room::kTaken);
    CHECK(gate.excess() == 1);
    Gate::end_allowance(slot);
    release(gate, 1000);
    CHECK(slot.room_until == 0);
    CHECK(insert_until_full(gate, slot) == 1000);
  }

  TEST_CASE("below a capacity of 128 a look takes the place, and what is not used goes back") {
    for (const std::size_t capacity : {1U, 2U, 64U, 127U}) {
      CAPTURE(capacity);
      Gate gate(capacity);
      std::deque<Slot> slots(capacity + 1);
      for (std::size_t index = 0; index < capacity; ++index) REQUIRE(gate.settle(slots[index]));
      CHECK_FALSE(gate.settle(slots.back()));  // Nothing is pending yet, but on its way.
      CHECK(gate.take_back(slots.front()) == 1);
      CHECK(gate.take_back(slots.front()) == 0);
      release(gate, 1);
      CHECK(insert_one(gate, slots.back()));
      CHECK(gate.take_back(slots.back()) == 0);  // It is in.
      CHECK_FALSE(insert_one(gate, slots.front()));
    }
  }

  TEST_CASE("a batch takes no room unasked behind it where the capacity is exact") {
    Gate gate(100);
    Slot slot;
    Slot other;
    CHECK(begin_batch(gate, slot, 99) == Room::kTaken);
    slot.word = slot.settled_word = 99;
    CHECK(insert_one(gate, other));
    CHECK_FALSE(insert_one(gate, slot));
  }

  TEST_CASE("a barred gate refuses who asks, grants who waits, and tells who releases") {
    for (const std::size_t capacity : {4U, 4096U}) {
      CAPTURE(capacity);
      Gate gate(capacity);
      Slot slot;
      gate.bar();
      CHECK_FALSE(gate.settle(slot));
      CHECK(gate.reserve(slot, 1, 1) == 0);
      CHECK(begin_batch(gate, slot, 2) == Room::kNone);
      CHECK(gate.grant(3) == 3);
      CHECK(gate.grant(capacity) == capacity - 3);
      CHECK(gate.grant(1) == 0);
      CHECK(gate.release(2));
      CHECK(gate.grant(1) == 1);
      gate.unbar();
      CHECK(insert_until_full(gate, slot) == 1);
      release(gate, capacity);
      CHECK(insert_until_full(gate, slot) == capacity);
    }
  }

  TEST_CASE("a thread that ends settles its debt") {
    Gate gate(1000);
    Slot slot;
    for (int item = 0; item < 10; ++item) REQUIRE(insert_one(gate, slot));
    gate.settle_up(slot);
    Slot other;
    CHECK(insert_until_full(gate, other) == 990);
  }

  TEST_CASE("the excess is what must go so that there is room for one") {
    Gate gate(4);
    Slot slot;
    CHECK(gate.excess() == 0);
    CHECK(insert_until_full(gate, slot) == 4);
    CHECK(gate.excess() == 1);
    release(gate, 1);
    CHECK(gate.excess() == 0);
  }

  TEST_CASE("the counts are right up to the last item that a slot can count") {
    Gate gate(100);
    Slot slot;
    slot.word = Slot::kInside - 201;  // At a billion a second it is 292 years to there.
    slot.settled_word = slot.word;
    slot.room_until = slot.word;
    CHECK(insert_until_full(gate, slot) == 100);
    release(gate, 100);
    CHECK(gate.reserve(slot, 1, 1000) == 100);
  }

  // From here on through the front.
  TEST_CASE("a buffer of one producer takes exactly its capacity, then answers kFull") {
    for (const std::size_t capacity : {1U, 3U, 10U, 64U, 200U, 4096U, 5000U}) {
      CAPTURE(capacity);
      ManualBuffer<int> buffer({.max_size = 1, .capacity = capacity});
      for (std::size_t item = 0; item < capacity; ++item) {
        REQUIRE(buffer->try_insert(0) == InsertStatus::kAccepted);
      }
      CHECK(buffer->try_insert(0) == InsertStatus::kFull);
      CHECK(buffer->size() == capacity);
      buffer.work();  // one batch of one
      CHECK(buffer->try_insert(0) == InsertStatus::kAccepted);
      CHECK(buffer->try_insert(0) == InsertStatus::kFull);
    }
  }

  TEST_CASE("a batch and single items fill the same capacity exactly") {
    ManualBuffer<int> buffer({.max_size = 50, .capacity = 200});
    for (int item = 0; item < 3; ++item) REQUIRE(buffer->try_insert(0) == InsertStatus::kAccepted);
    CHECK(buffer->insert_batch(numbers(0, 150), Duration::zero()).accepted == 150);
    for (int item = 0; item < 47; ++item) REQUIRE(buffer->try_insert(0) == InsertStatus::kAccepted);
    CHECK(buffer->try_insert(0) == InsertStatus::kFull);
    CHECK(buffer->insert_batch(numbers(0, 2), Duration::zero()).accepted == 0);
    CHECK(buffer->size() == 200);
  }

  TEST_CASE("batches and single items in any order take exactly the capacity, time and again") {
    std::mt19937 random(7);
    ManualBuffer<int> buffer({.max_size = 500, .capacity = 10'000});
    for (int round = 0; round < 100; ++round) {
      std::size_t inserted = buffer->size();
      for (;;) {
        const std::size_t wanted = random() % 3 == 0 ? 1 : 1 + random() % 100;
        const std::size_t accepted =
            wanted == 1 ? static_cast<std::size_t>(buffer->try_insert(0) == InsertStatus::kAccepted)
                        : buffer->insert_batch(numbers(0, wanted), Duration::zero()).accepted;
        inserted += accepted;
        if (accepted < wanted) break;
      }
      REQUIRE(inserted == 10'000);
      for (std::size_t batches = 1 + random() % 20; batches > 0; --batches) buffer.work();
    }
  }

  TEST_CASE("the free capacity is the initial one after many failed batches") {
    ManualBuffer<int> buffer(
        {.max_size = 7, .capacity = 20},
        [](Batch<int>&, const FlushContext&) -> FlushResult { throw std::runtime_error("no"); });
    for (int item = 0; item < 100 * 20; ++item) {
      REQUIRE(buffer->try_insert(item) == InsertStatus::kAccepted);
      buffer.work_all();
    }
    buffer->flush();
    buffer.work_all();
    for (int item = 0; item < 20; ++item) CHECK(buffer->try_insert(0) == InsertStatus::kAccepted);
    CHECK(buffer->try_insert(0) == InsertStatus::kFull);
  }
}
