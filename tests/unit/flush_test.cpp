// Goal: flush() starts and returns; sync_flush() reports for each partition what became of all that
// was inserted before it, and of nothing it need not wait for.
// Method: by hand: sync_flush does the consumers' work itself. What needs waiting is in
// tests/stress.

#include <doctest/doctest.h>

#include <any>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("flush") {
  TEST_CASE("flush starts a flush and returns: nothing is handed over inside the call") {
    ManualBuffer<int> buffer({.max_size = 100});
    buffer->insert_batch(numbers(0, 5));
    buffer->flush();
    CHECK(buffer.batches().empty());
    CHECK(buffer->next_deadline() == buffer.now());
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 5));
    CHECK(buffer.batches()[0].reason == FlushReason::kManual);
  }

  TEST_CASE("flush covers all partitions") {
    ManualBuffer<int> buffer({.partitions = 4, .max_size = 100});
    for (int item = 0; item < 12; ++item) buffer->insert(item);
    buffer->flush();
    buffer.work_all();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{3, 3, 3, 3});
  }

  TEST_CASE("one flush is one: items that come later wait for their own batch") {
    ManualBuffer<int> buffer({.max_size = 100, .flush_interval = 10s});
    buffer->insert(1);
    buffer->flush();
    buffer.work_all();
    buffer->insert(2);
    CHECK(buffer.work_all() == buffer.now() + 10s);
    CHECK(buffer.handled() == std::vector{1});
  }

  TEST_CASE("a flush of nothing is done with the next step, and does not flush what comes later") {
    ManualBuffer<int> buffer({.max_size = 100, .flush_interval = 10s});
    buffer->flush();
    buffer.work_all();
    buffer->insert(1);
    CHECK(buffer.work_all() == buffer.now() + 10s);
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("flush after close does nothing") {
    ManualBuffer<int> buffer;
    buffer->close();
    buffer->flush();
    CHECK(buffer.work_all() == TimePoint::max());
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("constant inserts cannot hold a flush up") {
    for (int arriving = 1; arriving <= 30; ++arriving) {
      CAPTURE(arriving);
      ManualBuffer<int>* self = nullptr;
      int next = 35;
      bool is_flowing = true;
      ManualBuffer<int> buffer({.max_size = 10, .flush_interval = kForever, .capacity = 100'000},
                               [&](Batch<int>&, const FlushContext&) {
                                 for (int item = 0; is_flowing && item < arriving; ++item) {
                                   CHECK((*self)->insert(next++) == InsertStatus::kAccepted);
                                 }
                                 return FlushResult::ok();
                               });
      self = &buffer;
      buffer->insert_batch(numbers(0, 35));
      // Must return, though more comes in than goes out, with all 35 handled.
      const FlushReport report = buffer->sync_flush(kForever)[0];
      is_flowing = false;
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.items >= 35);
      CHECK(report.batches <= 8);
      CHECK(buffer.handled().size() == report.items);
    }
  }
}

TEST_SUITE("sync_flush") {
  TEST_CASE("one report for each partition, in order, with what it handled") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 100});
    for (int item = 0; item < 5; ++item) buffer->insert(item);
    const std::vector<FlushReport> reports = buffer->sync_flush();
    REQUIRE(reports.size() == 3);
    const std::vector<std::uint64_t> items{2, 2, 1};
    for (std::size_t index = 0; index < 3; ++index) {
      CHECK(reports[index].partition_index == index);
      CHECK(reports[index].status == CallStatus::kDone);
      CHECK(reports[index].batches == 1);
      CHECK(reports[index].items == items[index]);
      CHECK(reports[index].failed_items == 0);
      REQUIRE(reports[index].result != nullptr);
      CHECK(reports[index].result->is_ok());
    }
    CHECK(buffer->size() == 0);
  }

  TEST_CASE("of an empty buffer it is done at once, with no batch and no result") {
    ManualBuffer<int> buffer({.partitions = 2});
    for (const FlushReport& report : buffer->sync_flush(0s)) {
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.batches == 0);
      CHECK(report.items == 0);
      CHECK(report.result == nullptr);
    }
    CHECK(buffer.batches().empty());
  }

  TEST_CASE("the handler's value reaches the caller") {
    ManualBuffer<int> buffer({.max_size = 100}, [](Batch<int>& batch, const FlushContext&) {
      return FlushResult::ok(std::string("stored ") + std::to_string(batch.size()));
    });
    buffer->insert_batch(numbers(0, 3));
    const FlushReport report = buffer->sync_flush()[0];
    REQUIRE(report.result != nullptr);
    CHECK(std::any_cast<std::string>(report.result->value()) == "stored 3");
  }

  TEST_CASE("of several batches the last one's value is the result") {
    ManualBuffer<int> buffer({.max_size = 2}, [](Batch<int>&, const FlushContext& context) {
      return FlushResult::ok(context.batch_id);
    });
    buffer->insert_batch(numbers(0, 5));
    const FlushReport report = buffer->sync_flush()[0];
    CHECK(report.batches == 3);
    CHECK(report.items == 5);
    CHECK(std::any_cast<std::uint64_t>(report.result->value()) == 3);
  }

  TEST_CASE("a failed batch is the result that counts, the first of several") {
    ManualBuffer<int> buffer({.max_size = 2}, [](Batch<int>&, const FlushContext& context) {
      if (context.batch_id == 2) return FlushResult::failed("second", 22);
      if (context.batch_id == 3) throw std::runtime_error("third");
      return FlushResult::ok();
    });
    buffer->insert_batch(numbers(0, 8));
    const FlushReport report = buffer->sync_flush()[0];
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.batches == 4);
    CHECK(report.items == 8);
    CHECK(report.failed_items == 4);
    REQUIRE(report.result != nullptr);
    CHECK(report.result->status() == FlushStatus::kFailed);
    CHECK(report.result->message() == "second");
    CHECK(std::any_cast<int>(report.result->value()) == 22);
  }

  // By hand one poll is one step: one batch in each partition.
  TEST_CASE("a timeout of 0 or less polls: one step, and the truth about the rest") {
    for (const Duration timeout : {Duration(0), Duration(-1), Duration::min()}) {
      ManualBuffer<int> buffer({.max_size = 10, .capacity = 100});
      buffer->insert_batch(numbers(0, 25));
      FlushReport report = buffer->sync_flush(timeout)[0];
      CHECK(report.status == CallStatus::kTimedOut);
      CHECK(report.batches == 1);
      CHECK(report.items == 10);
      report = buffer->sync_flush(timeout)[0];
      CHECK(report.status == CallStatus::kTimedOut);
      report = buffer->sync_flush(timeout)[0];
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.items == 5);
      CHECK(buffer.handled() == numbers(0, 25));
    }
  }

  TEST_CASE("any timeout will do, and for ever has no limit") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 1000});
    const auto check_done = [&](const std::vector<FlushReport>& reports) {
      CHECK(reports[0].status == CallStatus::kDone);
      CHECK(buffer->size() == 0);
      buffer->insert_batch(numbers(0, 95));
    };
    check_done(buffer->sync_flush(std::chrono::hours::max()));
    check_done(buffer->sync_flush(Duration::max()));
    check_done(buffer->sync_flush(std::chrono::duration<double>(1e300)));
    check_done(buffer->sync_flush(1h));
    check_done(buffer->sync_flush());
  }

  TEST_CASE("what a timed-out sync_flush started goes on") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100});
    buffer->insert_batch(numbers(0, 25));
    CHECK(buffer->sync_flush(0s)[0].status == CallStatus::kTimedOut);
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 25));
  }

  // An exact bound, as nobody else inserts: what comes in meanwhile is not waited for.
  TEST_CASE("it covers exactly what was inserted before the call") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = kForever, .capacity = 1000},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id == 1) (*self)->insert_batch(numbers(20, 9));
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 20));
    const FlushReport report = buffer->sync_flush()[0];
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.batches == 2);
    CHECK(report.items == 20);
    CHECK(buffer->dump() == numbers(20, 9));
  }

  TEST_CASE("items that dump has looked at are covered like all others") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100});
    buffer->insert_batch(numbers(0, 25));
    CHECK(buffer->dump().size() == 25);
    const FlushReport report = buffer->sync_flush()[0];
    CHECK(report.items == 25);
    CHECK(buffer.handled() == numbers(0, 25));
  }

  TEST_CASE("no report is closed before all partitions are through") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 10},
                             [&](Batch<int>& batch, const FlushContext& context) {
                               // What partition 1 hands on is a full batch of partition 0.
                               if (context.partition_index == 1 && batch.size() == 3) {
                                 for (int item = 0; item < 20; ++item) (*self)->insert(item);
                               }
                               return FlushResult::ok();
                             });
    self = &buffer;
    for (int item = 0; item < 6; ++item) buffer->insert(item);
    const std::vector<FlushReport> reports = buffer->sync_flush();
    REQUIRE(reports.size() == 2);
    std::uint64_t reported = 0;
    for (const FlushReport& report : reports) {
      CHECK(report.status == CallStatus::kDone);
      reported += report.items;
    }
    CHECK(reported == buffer.handled().size());
  }

  TEST_CASE("items that were taken are not waited for") {
    ManualBuffer<int> buffer({.max_size = 10});
    buffer->insert_batch(numbers(0, 5));
    buffer->flush();
    CHECK(buffer->take().size() == 5);
    const FlushReport report = buffer->sync_flush(0s)[0];
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.items == 0);
  }

  TEST_CASE("after close every partition answers kClosed") {
    ManualBuffer<int> buffer({.partitions = 3});
    buffer->insert(1);
    buffer->close();
    for (const Duration timeout : {Duration(0), Duration(kForever)}) {
      const std::vector<FlushReport> reports = buffer->sync_flush(timeout);
      REQUIRE(reports.size() == 3);
      for (std::size_t index = 0; index < 3; ++index) {
        CHECK(reports[index].partition_index == index);
        CHECK(reports[index].status == CallStatus::kClosed);
        CHECK(reports[index].batches == 0);
      }
    }
  }

  TEST_CASE("a result outlives the buffer") {
    std::vector<FlushReport> reports;
    {
      ManualBuffer<int> buffer({}, [](Batch<int>&, const FlushContext&) {
        return FlushResult::ok(std::string("kept"));
      });
      buffer->insert(1);
      reports = buffer->sync_flush();
    }
    REQUIRE(reports[0].result != nullptr);
    CHECK(std::any_cast<std::string>(reports[0].result->value()) == "kept");
  }
}
