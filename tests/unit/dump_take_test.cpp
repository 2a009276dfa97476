// Goal: dump() copies the pending items and removes nothing, take() moves them out and leaves
// nothing; both by partition, in the order of delivery, which neither disturbs.
// Method: a buffer run by hand, looked at in every state.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CopyThrows;
using databuffer::support::CountedItem;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("dump") {
  TEST_CASE("all pending items, in order, and nothing is removed") {
    ManualBuffer<int> buffer({.max_size = 1000});
    CHECK(buffer->dump().empty());
    buffer->insert_batch(numbers(0, 10));
    CHECK(buffer->dump() == numbers(0, 10));
    CHECK(buffer->dump() == numbers(0, 10));
    buffer->insert_batch(numbers(10, 5));
    CHECK(buffer->dump() == numbers(0, 15));
    CHECK(buffer->size() == 15);
    CHECK(buffer->ledger() == Ledger{.accepted = 15, .pending = 15});
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("items that were looked at count, fill the partition and trip like all others") {
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 10s, .capacity = 10});
    buffer->insert_batch(numbers(0, 9));
    const TimePoint due = buffer.now() + 10s;
    CHECK(buffer->dump().size() == 9);
    CHECK(buffer.work() == due);
    CHECK(buffer->info()[0].size == 9);
    CHECK(buffer->insert_batch(numbers(9, 5), 0s).accepted == 1);
    buffer.work();
    CHECK(buffer.handled() == numbers(0, 10));
    CHECK(buffer->size() == 0);
  }

  TEST_CASE("dump, insert, flush in any sequence keep the order of one thread's items") {
    std::mt19937 random(11);
    for (int round = 0; round < 50; ++round) {
      ManualBuffer<int> buffer({.max_size = 1 + random() % 20, .capacity = 10'000});
      int next = 0;
      std::size_t handled = 0;
      for (int step = 0; step < 200; ++step) {
        const std::size_t count = random() % 12;
        switch (random() % 4) {
          case 0:
            buffer->insert_batch(numbers(next, count));
            next += static_cast<int>(count);
            break;
          case 1:
            buffer.work();
            break;
          case 2:
            buffer->flush();
            break;
          default:
            handled = buffer.handled().size();
            CHECK(buffer->dump() ==
                  numbers(static_cast<int>(handled), static_cast<std::size_t>(next) - handled));
        }
      }
      buffer->close();
      REQUIRE(buffer.handled() == numbers(0, static_cast<std::size_t>(next)));
    }
  }

  TEST_CASE("by partition, each in its own order") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 100});
    for (int item = 0; item < 9; ++item) buffer->insert(item);
    CHECK(buffer->dump() == std::vector{0, 3, 6, 1, 4, 7, 2, 5, 8});
  }

  TEST_CASE("it shows what delivery will be, item by item") {
    ManualBuffer<int> buffer({.partitions = 1, .max_size = 7, .capacity = 1000});
    buffer->insert_batch(numbers(0, 100));
    buffer.work();
    const std::vector<int> shown = buffer->dump();
    buffer->sync_flush();
    const std::vector<int> handled = buffer.handled();
    CHECK(std::vector<int>(handled.begin() + 7, handled.end()) == shown);
  }

  TEST_CASE("a copy that throws comes out, and every item is still there") {
    {
      ManualBuffer<CopyThrows> buffer({.max_size = 100});
      for (int value = 0; value < 10; ++value) buffer->insert(CopyThrows(value));
      CopyThrows::copies_left = 4;
      CHECK_THROWS_AS(static_cast<void>(buffer->dump()), std::runtime_error);
      CopyThrows::copies_left = CopyThrows::kNever;
      CHECK(buffer->size() == 10);
      const std::vector<CopyThrows> items = buffer->dump();
      REQUIRE(items.size() == 10);
      for (int value = 0; value < 10; ++value) {
        CHECK(items[static_cast<std::size_t>(value)].value == value);
      }
      CHECK(buffer->insert(CopyThrows(10)) == InsertStatus::kAccepted);
      CHECK(buffer->sync_flush()[0].items == 11);
    }
    CHECK(CopyThrows::alive == 0);
  }

  TEST_CASE("dump costs one copy of each item") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 1000});
    for (int value = 0; value < 100; ++value) buffer->insert(CountedItem(value));
    const auto items = buffer->dump();
    CHECK(CountedItem::copies == 100);
    CHECK(items.size() == 100);
  }

  TEST_CASE("inside a handler it shows what waits behind, not the batch") {
    ManualBuffer<int>* self = nullptr;
    std::vector<int> behind;
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100},
                             [&](Batch<int>&, const FlushContext&) {
                               behind = (*self)->dump();
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 15));
    buffer.work();
    CHECK(behind == numbers(10, 5));
    buffer->sync_flush();
    CHECK(buffer.handled() == numbers(0, 15));
  }

  TEST_CASE("after close there is nothing to see") {
    ManualBuffer<int> buffer;
    buffer->insert(1);
    buffer->close();
    CHECK(buffer->dump().empty());
    CHECK(buffer->take().empty());
  }
}

TEST_SUITE("take") {
  TEST_CASE("all pending items, in order, and nothing is left") {
    ManualBuffer<int> buffer({.max_size = 1000});
    CHECK(buffer->take().empty());
    buffer->insert_batch(numbers(0, 10));
    CHECK(buffer->take() == numbers(0, 10));
    CHECK(buffer->size() == 0);
    CHECK(buffer->take().empty());
    CHECK(buffer->ledger() == Ledger{.accepted = 10, .taken = 10});
    CHECK(buffer.work_after(1h) == TimePoint::max());
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("by partition, each in its own order") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 100});
    for (int item = 0; item < 9; ++item) buffer->insert(item);
    CHECK(buffer->take() == std::vector{0, 3, 6, 1, 4, 7, 2, 5, 8});
    CHECK(buffer->ledger().taken == 9);
  }

  TEST_CASE("items are moved, never copied, and move-only ones work") {
    CountedItem::reset();
    ManualBuffer<CountedItem> counted({.max_size = 1000});
    for (int value = 0; value < 100; ++value) counted->insert(CountedItem(value));
    CHECK(counted->take().size() == 100);
    CHECK(CountedItem::copies == 0);

    ManualBuffer<std::unique_ptr<int>> unique({.max_size = 1000});
    unique->insert(std::make_unique<int>(7));
    const auto taken = unique->take();
    REQUIRE(taken.size() == 1);
    CHECK(*taken[0] == 7);
  }

  TEST_CASE("a partition that was full has all its room again") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 10});
    buffer->insert_batch(numbers(0, 10));
    CHECK(buffer->try_insert(10) == InsertStatus::kFull);
    CHECK(buffer->take().size() == 10);
    CHECK(buffer->insert_batch(numbers(0, 11), 0s).accepted == 10);
  }

  TEST_CASE("what was looked at and what came since are taken together") {
    ManualBuffer<int> buffer({.max_size = 1000});
    buffer->insert_batch(numbers(0, 5));
    static_cast<void>(buffer->dump());
    buffer->insert_batch(numbers(5, 5));
    CHECK(buffer->take() == numbers(0, 10));
    CHECK(buffer->size() == 0);
  }

  TEST_CASE("an emptied partition starts its next batch's interval anew") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 10s});
    buffer->insert(1);
    buffer.work_after(6s);
    CHECK(buffer->take().size() == 1);
    CHECK(buffer.work() == TimePoint::max());
    buffer.advance(2s);
    buffer->insert(2);
    const TimePoint due = buffer.now() + 10s;
    CHECK(buffer.work() == due);
    buffer.advance(10s - 1ns);
    buffer.work();
    CHECK(buffer.batches().empty());
    buffer.work_after(1ns);
    CHECK(buffer.handled() == std::vector{2});
  }

  TEST_CASE("a partition that was emptied unseen rings for its next item all the same") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 10s});
    buffer.work();      // Empty: it waits for the first item.
    buffer->insert(1);  // It has rung.
    CHECK(buffer->take().size() == 1);
    CHECK(buffer.work() == TimePoint::max());
    const std::uint64_t rings = buffer->info()[0].rings;
    buffer.advance(3s);
    buffer->insert(2);
    CHECK(buffer->info()[0].rings == rings + 1);
    buffer.advance(4s);
    CHECK(buffer.work() == buffer.now() + 6s);
  }

  TEST_CASE("inside a handler it takes what waits behind, not the batch") {
    ManualBuffer<int>* self = nullptr;
    std::vector<int> behind;
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100},
                             [&](Batch<int>&, const FlushContext&) {
                               behind = (*self)->take();
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 25));
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 10));
    CHECK(behind == numbers(10, 15));
    CHECK(buffer->ledger() == Ledger{.accepted = 25, .flushed = 10, .taken = 15});
  }
}
