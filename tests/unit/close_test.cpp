// Goal: close stops accepting, flushes everything, and reports what it could not; once, whoever
// calls it. What needs threads is in tests/stress.
// Method: by hand: close does the consumers' work itself, in real time only as a limit.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "databuffer/detail/fence.hpp"
#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CountedItem;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("close") {
  TEST_CASE("one item that could have waited for hours is flushed at once") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 24h});
    buffer->insert(1);
    buffer.work();
    const CloseReport report = buffer->close();
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.dropped == 0);
    CHECK(report.in_flight == 0);
    CHECK(report.ledger == Ledger{.accepted = 1, .flushed = 1});
    CHECK(buffer.handled() == std::vector{1});
    CHECK(buffer.batches()[0].reason == FlushReason::kClose);
  }

  TEST_CASE("of an empty buffer it is done, and no handler is called") {
    ManualBuffer<int> buffer({.partitions = 4});
    CHECK(buffer->close().status == CallStatus::kDone);
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("everything pending is flushed, in order, in batches of at most max_size") {
    ManualBuffer<int> buffer({.max_size = 7, .capacity = 1000});
    buffer->insert_batch(numbers(0, 100));
    CHECK(buffer->close().status == CallStatus::kDone);
    CHECK(buffer.handled() == numbers(0, 100));
    for (const std::size_t size : buffer.batch_sizes()) CHECK(size <= 7);
    CHECK(buffer.batches().back().reason == FlushReason::kClose);
    CHECK(buffer.batches().front().reason == FlushReason::kSize);
  }

  TEST_CASE("all partitions are flushed") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 100});
    for (int item = 0; item < 10; ++item) buffer->insert(item);
    const CloseReport report = buffer->close();
    CHECK(report.ledger.flushed == 10);
    CHECK(buffer.batches().size() == 3);
  }

  TEST_CASE("items whose batch fails at close are reported, not lost") {
    std::vector<int> dropped;
    Options options{.max_size = 4};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(info.reason == DropReason::kFailed);
      dropped.insert(dropped.end(), items.begin(), items.end());
    };
    ManualBuffer<int> buffer(options, [](Batch<int>&, const FlushContext&) -> FlushResult {
      throw std::runtime_error("gone");
    });
    buffer->insert_batch(numbers(0, 6));
    const CloseReport report = buffer->close();
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.ledger == Ledger{.accepted = 6, .failed = 6});
    CHECK(report.failed == 6);
    CHECK_FALSE(report.is_complete());
    CHECK(dropped == numbers(0, 6));
  }

  TEST_CASE("what failed before it began is not in its report") {
    bool is_up = false;
    ManualBuffer<int> buffer({.max_size = 4}, [&](Batch<int>&, const FlushContext&) {
      return is_up ? FlushResult::ok() : FlushResult::failed("down");
    });
    buffer->insert_batch(numbers(0, 4));
    buffer.work_all();
    is_up = true;
    buffer->insert_batch(numbers(4, 2));
    const CloseReport report = buffer->close();
    CHECK(report.ledger == Ledger{.accepted = 6, .flushed = 2, .failed = 4});
    CHECK(report.failed == 0);
    CHECK(report.is_complete());
  }

  TEST_CASE("at its deadline it gives up what is pending and says how much") {
    for (const Duration timeout : {Duration(0), Duration(-1), Duration::min()}) {
      std::vector<int> dropped;
      Options options{.max_size = 5, .capacity = 100};
      options.on_drop = [&](std::span<int> items, const DropInfo& info) {
        CHECK(info.reason == DropReason::kClosed);
        dropped.insert(dropped.end(), items.begin(), items.end());
      };
      ManualBuffer<int> buffer(options);
      buffer->insert_batch(numbers(0, 23));
      const CloseReport report = buffer->close(timeout);
      CHECK(report.status == CallStatus::kTimedOut);
      CHECK(report.dropped == 18);
      CHECK(report.in_flight == 0);
      CHECK(report.ledger == Ledger{.accepted = 23, .flushed = 5, .dropped_closed = 18});
      CHECK(report.ledger.balances());
      CHECK(buffer.handled() == numbers(0, 5));
      CHECK(dropped == numbers(5, 18));
    }
  }

  // A barrier cannot be seen. Without this one an insert that began before the close could be
  // missed.
  TEST_CASE("it makes every producer pass a barrier before it counts on their marks, once") {
    ManualBuffer<int> buffer;
    buffer.work();  // armed, as an empty partition is
    const std::uint64_t fences = detail::heavy_fence_count();
    CHECK(buffer->close().status == CallStatus::kDone);
    CHECK(detail::heavy_fence_count() == fences + 1);
    buffer->close();
    CHECK(detail::heavy_fence_count() == fences + 1);
  }

  TEST_CASE("at its deadline it does so again, for inserts that are still inside") {
    ManualBuffer<int> buffer({.max_size = 1, .capacity = 10});
    buffer->insert_batch(numbers(0, 3));
    const std::uint64_t fences = detail::heavy_fence_count();
    CHECK(buffer->close(0s).status == CallStatus::kTimedOut);
    CHECK(detail::heavy_fence_count() >= fences + 2);
  }

  TEST_CASE("a timeout of 0 that is enough is done") {
    ManualBuffer<int> buffer({.max_size = 100});
    CHECK(buffer->close(0s).status == CallStatus::kDone);
  }

  TEST_CASE("any timeout will do") {
    const auto close_with = [](auto timeout) {
      ManualBuffer<int> buffer({.max_size = 10, .capacity = 1000});
      buffer->insert_batch(numbers(0, 95));
      const CloseReport report = buffer->close(timeout);
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.ledger.flushed == 95);
    };
    close_with(std::chrono::hours::max());
    close_with(Duration::max());
    close_with(std::chrono::duration<double>(1e300));
    close_with(1h);
  }

  TEST_CASE("closing again reports the same end") {
    ManualBuffer<int> buffer({.max_size = 100});
    buffer->insert_batch(numbers(0, 3));
    const CloseReport first = buffer->close();
    for (int again = 0; again < 3; ++again) {
      const CloseReport report = buffer->close(0s);
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.ledger == first.ledger);
      CHECK(report.dropped == 0);
      CHECK(report.duration == first.duration);
    }
    CHECK(buffer.batches().size() == 1);
  }

  TEST_CASE("closing again after the deadline gives nothing up twice") {
    int drops = 0;
    Options options{.max_size = 5, .capacity = 100};
    options.on_drop = [&](std::span<int> items, const DropInfo&) {
      drops += static_cast<int>(items.size());
    };
    ManualBuffer<int> buffer(options);
    buffer->insert_batch(numbers(0, 23));
    const CloseReport first = buffer->close(0s);
    const CloseReport second = buffer->close();
    CHECK(second.dropped == first.dropped);
    CHECK(second.ledger == first.ledger);
    buffer.destroy();
    CHECK(drops == 18);
  }

  TEST_CASE("the duration is the buffer's clock's") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100},
                             [&](Batch<int>&, const FlushContext&) {
                               self->advance(5s);
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 25));
    CHECK(buffer->close().duration == 15s);
  }

  TEST_CASE("after close every call answers, and does nothing") {
    ManualBuffer<int> buffer({.partitions = 2});
    buffer->insert(1);
    buffer->close();
    const Ledger ledger = buffer->ledger();
    CHECK(buffer->insert(1) == InsertStatus::kClosed);
    CHECK(buffer->insert(1, kForever) == InsertStatus::kClosed);
    CHECK(buffer->try_insert(1) == InsertStatus::kClosed);
    CHECK(buffer->insert_keyed(1, 1) == InsertStatus::kClosed);
    CHECK(buffer->insert_batch(numbers(0, 3)).status == InsertStatus::kClosed);
    CHECK(buffer->insert_batch(std::vector<int>{}).status == InsertStatus::kClosed);
    buffer->flush();
    CHECK(buffer->sync_flush()[1].status == CallStatus::kClosed);
    CHECK(buffer->dump().empty());
    CHECK(buffer->take().empty());
    CHECK(buffer->size() == 0);
    CHECK(buffer->info().size() == 2);
    CHECK(buffer.work() == TimePoint::max());
    CHECK(buffer->next_deadline() == TimePoint::max());
    Ledger expected = ledger;
    expected.refused_closed = 7;
    CHECK(buffer->ledger() == expected);
    CHECK(buffer.batches().size() == 1);
  }

  TEST_CASE("a handler that inserts while the buffer closes is refused, and close ends") {
    Buffer<int>* self = nullptr;
    std::vector<InsertStatus> answers;
    ManualBuffer<int> buffer({.max_size = 3}, [&](Batch<int>&, const FlushContext&) {
      answers.push_back(self->insert(9, kForever));
      return FlushResult::ok();
    });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 7));
    CHECK(buffer->close().status == CallStatus::kDone);
    CHECK(answers == std::vector(3, InsertStatus::kClosed));
  }

  TEST_CASE("the destructor closes, within close_timeout") {
    std::vector<int> flushed;
    std::vector<int> dropped;
    const auto run = [&](Duration close_timeout) {
      Options options{.name = "b", .max_size = 5, .capacity = 100, .close_timeout = close_timeout};
      options.threading = Threading::kManual;
      options.on_drop = [&](std::span<int> items, const DropInfo&) {
        dropped.insert(dropped.end(), items.begin(), items.end());
      };
      Buffer<int> buffer(options, [&](std::span<int> items) {
        flushed.insert(flushed.end(), items.begin(), items.end());
      });
      buffer.insert_batch(numbers(0, 23));
    };
    SUBCASE("in time") {
      run(kForever);
      CHECK(flushed == numbers(0, 23));
      CHECK(dropped.empty());
    }
    SUBCASE("out of time") {
      run(0s);
      CHECK(flushed == numbers(0, 5));
      CHECK(dropped == numbers(5, 18));
    }
  }

  TEST_CASE("the destructor after a close does nothing more") {
    CountedItem::reset();
    {
      ManualBuffer<CountedItem> buffer({.max_size = 3, .capacity = 100});
      for (int value = 0; value < 20; ++value) buffer->insert(CountedItem(value));
      buffer->close(0s);
      const std::size_t batches = buffer.batches().size();
      buffer.destroy();
      CHECK(buffer.batches().size() == batches);
    }
    CHECK(CountedItem::alive == 0);
  }
}
