// Goal: info() tells each partition's state, in order, whatever that state is.
// Method: a buffer run by hand, looked at in between and from inside its handler.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("info") {
  TEST_CASE("one entry for each partition, in order, with its name and capacity") {
    const ManualBuffer<int> buffer({.name = "events", .partitions = 3, .max_size = 5});
    const std::vector<PartitionInfo> infos = buffer->info();
    REQUIRE(infos.size() == 3);
    for (std::size_t index = 0; index < 3; ++index) {
      CHECK(infos[index].partition_index == index);
      CHECK(infos[index].name == "events." + std::to_string(index));
      CHECK(infos[index].capacity == 20);
      CHECK(infos[index].size == 0);
      CHECK(infos[index].in_flight == 0);
      CHECK(infos[index].batches == 0);
      CHECK(infos[index].last_error.empty());
      CHECK(infos[index].producer_slots == 0);
    }
  }

  TEST_CASE("sizes follow the items") {
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 5, .capacity = 50});
    for (int item = 0; item < 7; ++item) buffer->insert(item);
    CHECK(buffer->info()[0].size == 4);
    CHECK(buffer->info()[1].size == 3);
    CHECK(buffer->info()[0].producer_slots == 1);
    CHECK(buffer->size() == 7);
    buffer->sync_flush();
    CHECK(buffer->info()[0].size == 0);
    CHECK(buffer->info()[0].ledger == Ledger{.accepted = 4, .flushed = 4});
    CHECK(buffer->size() == 0);
  }

  TEST_CASE("inside a handler call it says so, and for how long") {
    ManualBuffer<int>* self = nullptr;
    int calls = 0;
    ManualBuffer<int> buffer({.max_size = 3, .flush_timeout = 1h, .capacity = 50},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id > 1) return FlushResult::ok();
                               ++calls;
                               self->advance(4s);
                               const PartitionInfo info = (*self)->info()[0];
                               CHECK(info.is_flushing);
                               CHECK_FALSE(info.is_overdue);
                               CHECK(info.flushing_for == 4s);
                               CHECK(info.in_flight == 3);
                               CHECK(info.size == 2);
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 5));
    buffer.work();
    CHECK(calls == 1);
    const PartitionInfo info = buffer->info()[0];
    CHECK_FALSE(info.is_flushing);
    CHECK(info.flushing_for == 0s);
    CHECK(info.last_flush_duration == 4s);
    CHECK(info.since_last_flush == 0s);
    CHECK(info.in_flight == 0);
    buffer.advance(10s);
    CHECK(buffer->info()[0].since_last_flush == 10s);
  }

  TEST_CASE("the oldest pending item's age runs from its insert, looked at or not") {
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 1h, .capacity = 50});
    CHECK(buffer->info()[0].pending_age == 0s);
    buffer.advance(5s);  // An empty partition has none.
    CHECK(buffer->info()[0].pending_age == 0s);
    buffer->insert(0);
    buffer.advance(7s);
    CHECK(buffer->info()[0].pending_age == 7s);
    buffer.work();
    buffer->insert(1);
    buffer.advance(2s);
    CHECK(buffer->info()[0].pending_age == 9s);
    buffer->sync_flush();
    CHECK(buffer->info()[0].pending_age == 0s);
    CHECK(buffer->info()[0].in_flight_age == 0s);
  }

  TEST_CASE("a batch's age is its first item's, in its handler and while it waits to be retried") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 3,
                              .flush_interval = 1h,
                              .capacity = 50,
                              .retry = {.attempts = 2, .initial_backoff = 0s, .max_backoff = 0s}},
                             [&](Batch<int>&, const FlushContext& context) {
                               const bool is_end = context.reason == FlushReason::kClose;
                               if (context.attempt > 1 || is_end) return FlushResult::ok();
                               (*self)->insert(9);
                               self->advance(4s);
                               const PartitionInfo info = (*self)->info()[0];
                               CHECK(info.in_flight_age == 14s);
                               CHECK(info.pending_age == 4s);
                               return FlushResult::retry("busy", 20s);
                             });
    self = &buffer;
    buffer->insert(0);
    buffer.advance(10s);
    buffer->insert_batch(numbers(1, 2));
    buffer.work();
    buffer.advance(6s);
    CHECK(buffer->info()[0].in_flight_age == 20s);
    CHECK(buffer->info()[0].pending_age == 10s);
    buffer.advance(14s);
    buffer.work_all();
    CHECK(buffer->info()[0].in_flight_age == 0s);
    CHECK(buffer->info()[0].size == 1);
    CHECK(buffer->info()[0].pending_age == 24s);
  }

  TEST_CASE("before the first batch the time since the last flush runs from the start") {
    ManualBuffer<int> buffer;
    buffer.advance(7s);
    CHECK(buffer->info()[0].since_last_flush == 7s);
  }

  TEST_CASE("batches, failures and the last error are counted and kept") {
    ManualBuffer<int> buffer(
        {.max_size = 1, .capacity = 50}, [](Batch<int>& batch, const FlushContext&) {
          return batch[0] % 2 == 0 ? FlushResult::ok()
                                   : FlushResult::failed("odd " + std::to_string(batch[0]));
        });
    buffer->insert_batch(numbers(0, 7));
    buffer.work_all();
    const PartitionInfo info = buffer->info()[0];
    CHECK(info.batches == 7);
    CHECK(info.failed_batches == 3);
    CHECK(info.last_error == "odd 5");
    CHECK(info.ledger == Ledger{.accepted = 7, .flushed = 4, .failed = 3});
  }

  TEST_CASE("a full partition says so") {
    ManualBuffer<int> buffer({.max_size = 4, .capacity = 4});
    buffer->insert_batch(numbers(0, 4));
    CHECK(buffer->info()[0].size == buffer->info()[0].capacity);
  }

  TEST_CASE("rings are counted: one for the item that a waiting partition asked for") {
    ManualBuffer<int> buffer({.max_size = 100});
    buffer.work();
    const std::uint64_t rings = buffer->info()[0].rings;
    for (int item = 0; item < 50; ++item) buffer->insert(item);
    CHECK(buffer->info()[0].rings == rings + 1);
    CHECK(buffer->info()[0].wake_ups == 0);  // nobody sleeps, by hand
  }
}
