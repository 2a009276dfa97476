// Goal: an item that is moved, weighed or destroyed, and a range that is read, may call the buffer:
// no insert waits there, no room is taken twice, and calls that would wait for themselves are
// refused.
// Method: by hand, on one thread: a wait for itself would hang, and the watchdog would tell.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CallingItem;
using databuffer::support::made_forward;
using databuffer::support::ManualBuffer;

TEST_SUITE("re-entrancy of an item") {
  TEST_CASE(
      "what is inserted while a range of one is read, or its item weighed, takes no room twice") {
    constexpr std::size_t kCapacity = 64;
    bool is_weighed = false;
    SUBCASE("read") {}
    SUBCASE("weighed") { is_weighed = true; }
    Buffer<int>* self = nullptr;
    bool is_filling = false;
    const auto fill = [&] {
      if (std::exchange(is_filling, true)) return;
      while (self->try_insert(0) == InsertStatus::kAccepted) {
      }
    };
    Options options{.max_size = kCapacity, .capacity = kCapacity};
    if (is_weighed) {
      options.capacity_bytes = 1'000'000;
      // The second item is weighed when room is taken for both: then others come.
      options.weigh = [&](const int& item) {
        if (item == 1) fill();
        return std::size_t{1};
      };
    }
    ManualBuffer<int> buffer(options);
    self = &*buffer;
    const auto two = made_forward(2, [&](int item) {
      if (!is_weighed) fill();
      return item;
    });
    CHECK(buffer->insert_batch(two, 0s) == InsertBatchResult{InsertStatus::kAccepted, 2});
    CHECK(is_filling);
    CHECK(buffer->size() == kCapacity);
  }

  TEST_CASE("an item may insert while it is being moved into the queue") {
    CallingItem::reset();
    int inserted = 0;
    {
      ManualBuffer<CallingItem> buffer({.max_size = 100, .capacity = 100});
      CallingItem::on_move = [&](int value) {
        if (value < 100 && inserted < 20) {
          ++inserted;
          CHECK(buffer->insert(CallingItem(100 + value), kForever) == InsertStatus::kAccepted);
        }
      };
      for (int value = 0; value < 5; ++value) {
        CHECK(buffer->insert(CallingItem(value)) == InsertStatus::kAccepted);
      }
      CallingItem::reset();
      CHECK(inserted == 5);
      CHECK(buffer->size() == 10);
      CHECK(buffer->take().size() == 10);
      CHECK(buffer->ledger().balances());
    }
    CallingItem::reset();
  }

  TEST_CASE("an item that is being moved in may insert where it goes itself, and drop the oldest") {
    ManualBuffer<CallingItem> buffer({.max_size = 10,
                                      .capacity = 100,
                                      .capacity_bytes = 2,
                                      .weigh = [](const CallingItem&) { return std::size_t{1}; },
                                      .overflow = Overflow::kDropOldest});
    CHECK(buffer->insert_keyed(1, CallingItem(0)) == InsertStatus::kAccepted);
    int nested = 0;
    CallingItem::on_move = [&](int value) {
      if (value != 1 || nested++ > 0) return;
      // Its own room is taken, so that this is one too many.
      CHECK(buffer->insert_keyed(1, CallingItem(101)) == InsertStatus::kAccepted);
    };
    CHECK(buffer->insert_keyed(1, CallingItem(1)) == InsertStatus::kAccepted);
    CallingItem::reset();
    CHECK(nested > 0);
    CHECK(buffer->size() == 2);
    const Ledger ledger = buffer->ledger();
    CHECK(ledger.balances());
    CHECK(ledger.dropped_oldest == 1);
    CHECK(buffer->insert_keyed(1, CallingItem(5)) == InsertStatus::kAccepted);
    CHECK(buffer->size() == 2);
  }

  TEST_CASE("an item that is being moved out of the queue may call: what would wait is refused") {
    CallingItem::reset();
    {
      ManualBuffer<CallingItem> buffer({.max_size = 2, .capacity = 2});
      CHECK(buffer->insert(CallingItem(0)) == InsertStatus::kAccepted);
      CHECK(buffer->insert(CallingItem(1)) == InsertStatus::kAccepted);
      int calls = 0;
      CallingItem::on_move = [&](int) {
        const auto outer = std::exchange(CallingItem::on_move, nullptr);
        ++calls;
        CHECK(buffer->insert(CallingItem(7), kForever) == InsertStatus::kFull);
        CHECK(buffer->sync_flush(kForever)[0].status == CallStatus::kReentrant);
        CHECK(buffer->close(kForever).status == CallStatus::kReentrant);
        CHECK_THROWS_AS(static_cast<void>(buffer->take()), ReentrantCall);
        CHECK_THROWS_AS(static_cast<void>(buffer->dump()), ReentrantCall);
        CHECK(buffer->size() == 2);
        buffer->flush();
        CallingItem::on_move = outer;
      };
      buffer.work();
      CallingItem::reset();
      CHECK(calls >= 2);
      CHECK(buffer->ledger() ==
            Ledger{.accepted = 2, .flushed = 2, .refused_full = static_cast<std::uint64_t>(calls)});
    }
  }

  TEST_CASE("take() from an item that is being moved out returns what other partitions have") {
    CallingItem::reset();
    {
      ManualBuffer<CallingItem> buffer({.partitions = 2, .max_size = 2, .capacity = 4});
      CHECK(buffer->insert(CallingItem(0)) == InsertStatus::kAccepted);  // partition 0
      std::vector<CallingItem> both;
      both.emplace_back(1);
      both.emplace_back(2);
      CHECK(buffer->insert_batch(std::move(both)).accepted == 2);  // partition 1: a batch
      std::size_t taken = 0;
      CallingItem::on_move = [&](int value) {
        if (value == 0) return;
        CallingItem::on_move = nullptr;
        taken = buffer->take().size();
      };
      buffer.work_all();
      CHECK(taken == 1);
      CHECK(buffer->ledger() == Ledger{.accepted = 3, .flushed = 2, .taken = 1});
    }
    CallingItem::reset();
  }

  TEST_CASE("an item may insert as it is destroyed, its batch handled") {
    CallingItem::reset();
    {
      ManualBuffer<CallingItem> buffer({.max_size = 2, .capacity = 10});
      int inserted = 0;
      buffer->insert(CallingItem(0));
      buffer->insert(CallingItem(1));
      CallingItem::on_destroy = [&](int value) {
        if (value < 100) {
          ++inserted;
          CHECK(buffer->insert(CallingItem(100 + value), kForever) == InsertStatus::kAccepted);
        }
      };
      buffer.work();
      CHECK(inserted == 2);
      CallingItem::reset();
      CHECK(buffer->size() == 2);
    }
  }

  TEST_CASE(
      "under kDropOldest an item that inserts while it is moved out does not wait for itself") {
    CallingItem::reset();
    {
      ManualBuffer<CallingItem> buffer(
          {.max_size = 2, .capacity = 2, .overflow = Overflow::kDropOldest});
      buffer->insert(CallingItem(0));
      buffer->insert(CallingItem(1));
      std::vector<InsertStatus> answers;
      CallingItem::on_move = [&](int value) {
        if (value >= 100) return;
        answers.push_back(buffer->insert(CallingItem(100 + value)));
      };
      buffer.work();
      CallingItem::reset();
      CHECK_FALSE(answers.empty());
      for (const InsertStatus answer : answers) {
        CHECK((answer == InsertStatus::kDropped || answer == InsertStatus::kFull ||
               answer == InsertStatus::kAccepted));
      }
      CHECK(buffer->ledger().balances());
    }
  }

  TEST_CASE("a range may insert into the buffer that reads it") {
    ManualBuffer<int> buffer({.max_size = 100, .capacity = 100, .insert_timeout = 0s});
    const auto range = made_forward(5, [&](int item) {
      CHECK(buffer->insert(100 + item) == InsertStatus::kAccepted);
      return item;
    });
    CHECK(buffer->insert_batch(range) == InsertBatchResult{InsertStatus::kAccepted, 5});
    const std::vector<int> items = buffer->dump();
    CHECK(items == std::vector{100, 101, 102, 103, 104, 0, 1, 2, 3, 4});
  }
}
