// Goal: a handler may call its own buffer: no insert waits there, calls that would wait for
// themselves are refused, and a buffer may be destroyed by its own handler. What on_drop and hooks
// may call is in on_drop_test.cpp and telemetry_hooks_test.cpp.
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

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
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
