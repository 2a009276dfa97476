// Goal: a handler, a drop, a hook or an item may call its own buffer: no insert waits there, calls
// that would wait for themselves are refused, and a buffer may be destroyed by its own handler.
// Method: by hand, on one thread: a wait for itself would hang, and the watchdog would tell.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
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
using databuffer::support::numbers;

namespace {

/// A buffer that its handler destroys: options for it, and what happened.
struct SelfDestruct {
  std::unique_ptr<Buffer<int>> buffer;
  std::vector<int> flushed;
  std::vector<int> dropped;
  ManualClock clock;

  void start(Options options) {
    options.name = "b";
    options.max_size = 3;
    options.capacity = 100;
    options.threading = Threading::kManual;
    options.clock = &clock;
    options.on_drop = [this](std::span<int> items, const DropInfo&) {
      dropped.insert(dropped.end(), items.begin(), items.end());
    };
    buffer = std::make_unique<Buffer<int>>(std::move(options), [this](std::span<int> items) {
      flushed.insert(flushed.end(), items.begin(), items.end());
      buffer.reset();
    });
  }
};

}  // namespace

TEST_SUITE("re-entrancy of a handler") {
  TEST_CASE("it may insert into its own buffer while there is room") {
    Buffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 10},
                             [&](Batch<int>& batch, const FlushContext&) {
                               if (batch[0] < 6) {
                                 CHECK(self->insert(batch[0] + 2) == InsertStatus::kAccepted);
                                 CHECK(self->try_insert(batch[1] + 2) == InsertStatus::kAccepted);
                               }
                               return FlushResult::ok();
                             });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 2));
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 8));
  }

  TEST_CASE("where an insert would have to wait it is refused at once, whatever the timeout") {
    Buffer<int>* self = nullptr;
    bool is_called = false;
    ManualBuffer<int> buffer(
        {.max_size = 1, .capacity = 1, .insert_timeout = kForever},
        [&](Batch<int>&, const FlushContext& context) {
          if (context.batch_id > 1) return FlushResult::ok();
          is_called = true;
          CHECK(self->insert(1) == InsertStatus::kAccepted);  // its own room
          CHECK(self->insert(2) == InsertStatus::kFull);
          CHECK(self->insert(2, kForever) == InsertStatus::kFull);
          CHECK(self->insert(2, std::chrono::hours::max()) == InsertStatus::kFull);
          CHECK(self->insert_keyed(1, 2) == InsertStatus::kFull);
          CHECK(self->insert_keyed(1, 2, kForever) == InsertStatus::kFull);
          CHECK(self->insert_batch(numbers(2, 2), kForever) ==
                InsertBatchResult{InsertStatus::kFull, 0});
          return FlushResult::ok();
        });
    self = &*buffer;
    buffer->insert(0);
    buffer.work_all();
    CHECK(is_called);
    CHECK(buffer.handled() == numbers(0, 2));
  }

  TEST_CASE("an item that is refused there is untouched") {
    Buffer<std::unique_ptr<int>>* self = nullptr;
    auto item = std::make_unique<int>(7);
    ManualBuffer<std::unique_ptr<int>> buffer(
        {.max_size = 1, .capacity = 1}, [&](auto&, const FlushContext& context) {
          if (context.batch_id > 1) return FlushResult::ok();
          CHECK(self->insert(nullptr) == InsertStatus::kAccepted);
          CHECK(self->insert(std::move(item), kForever) == InsertStatus::kFull);
          return FlushResult::ok();
        });
    self = &*buffer;
    buffer->insert(nullptr);
    buffer.work_all();
    REQUIRE(item != nullptr);
    CHECK(*item == 7);
  }

  TEST_CASE("under the dropping policies its inserts drop, as anybody's") {
    for (const Overflow overflow : {Overflow::kDropNewest, Overflow::kDropOldest}) {
      Buffer<int>* self = nullptr;
      std::vector<int> dropped;
      Options options{.max_size = 2, .capacity = 2, .overflow = overflow};
      options.on_drop = [&](std::span<int> items, const DropInfo&) {
        dropped.insert(dropped.end(), items.begin(), items.end());
      };
      ManualBuffer<int> buffer(options, [&](Batch<int>&, const FlushContext& context) {
        if (context.batch_id == 1) self->insert_batch(numbers(2, 5));
        return FlushResult::ok();
      });
      self = &*buffer;
      buffer->insert_batch(numbers(0, 2));
      buffer.work_all();
      const bool is_oldest = overflow == Overflow::kDropOldest;
      CHECK(dropped == (is_oldest ? numbers(2, 3) : numbers(4, 3)));
      CHECK(buffer.batches().back().items == (is_oldest ? numbers(5, 2) : numbers(2, 2)));
    }
  }

  TEST_CASE("sync_flush and close are refused with an error, and change nothing") {
    Buffer<int>* self = nullptr;
    bool is_called = false;
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 1},
                             [&](Batch<int>&, const FlushContext&) {
                               if (std::exchange(is_called, true)) return FlushResult::ok();
                               for (const Duration timeout : {Duration(0), kForever}) {
                                 const auto reports = self->sync_flush(timeout);
                                 REQUIRE(reports.size() == 2);
                                 for (const FlushReport& report : reports) {
                                   CHECK(report.status == CallStatus::kReentrant);
                                   CHECK(report.items == 0);
                                 }
                                 CHECK(self->close(timeout).status == CallStatus::kReentrant);
                               }
                               CHECK(self->insert(1) != InsertStatus::kClosed);
                               return FlushResult::ok();
                             });
    self = &*buffer;
    buffer->insert(0);
    buffer.work();
    CHECK(is_called);
    CHECK(buffer->insert(2) == InsertStatus::kAccepted);
    CHECK(buffer->close(0s).status != CallStatus::kClosed);
  }

  TEST_CASE("a refused close reports the ledger as it is") {
    Buffer<int>* self = nullptr;
    Ledger ledger;
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 10},
                             [&](Batch<int>&, const FlushContext&) {
                               ledger = self->close().ledger;
                               return FlushResult::ok();
                             });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 3));
    buffer.work();
    CHECK(ledger == Ledger{.accepted = 3, .pending = 1, .in_flight = 2});
  }

  TEST_CASE("do_work inside do_work does nothing and returns now") {
    ManualBuffer<int>* self = nullptr;
    TimePoint inner{};
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 10},
                             [&](Batch<int>&, const FlushContext&) {
                               inner = self->work();
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 4));
    buffer.work();
    CHECK(inner == buffer.now());
    CHECK(buffer.batches().size() == 1);
  }

  TEST_CASE("flush from a handler flushes what waits behind it") {
    Buffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 1h, .capacity = 10},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id == 1) self->flush();
                               return FlushResult::ok();
                             });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 4));
    buffer.work_all();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{3, 1});
  }

  TEST_CASE("a handler may use another buffer in every way, waiting included") {
    ManualBuffer<int> sink({.max_size = 2, .capacity = 2});
    ManualBuffer<int> source({.max_size = 4}, [&](Batch<int>& batch, const FlushContext&) {
      for (const int item : batch) {
        if (sink->insert(item, 0s) == InsertStatus::kTimedOut) {
          CHECK(sink->sync_flush()[0].status == CallStatus::kDone);
          CHECK(sink->insert(item, 0s) == InsertStatus::kAccepted);
        }
      }
      return FlushResult::ok();
    });
    source->insert_batch(numbers(0, 8));
    source->close();
    sink->close();
    CHECK(sink.handled() == numbers(0, 8));
  }

  TEST_CASE("a handler may destroy its own buffer: what is pending is flushed or reported") {
    SelfDestruct self;
    self.start({});
    self.buffer->insert_batch(numbers(0, 10));
    SUBCASE("from do_work") { self.buffer->do_work(self.clock.now()); }
    SUBCASE("from sync_flush") { self.buffer->sync_flush(kForever); }
    SUBCASE("from a sync_flush that polls") { self.buffer->sync_flush(0s); }
    SUBCASE("from close") { self.buffer->close(kForever); }
    CHECK(self.buffer == nullptr);
    std::vector<int> ends = self.flushed;
    ends.insert(ends.end(), self.dropped.begin(), self.dropped.end());
    CHECK(ends == numbers(0, 10));
  }

  TEST_CASE("a handler may destroy its own buffer of several partitions") {
    SelfDestruct self;
    self.start({.partitions = 3});
    for (int item = 0; item < 30; ++item) self.buffer->insert(item);
    self.buffer->do_work(self.clock.now());
    CHECK(self.buffer == nullptr);
    CHECK(self.flushed.size() + self.dropped.size() == 30);
  }
}

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
