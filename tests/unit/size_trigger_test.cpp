// Goal: a size flush trips at the item that completes the batch, not at the next one, and no batch
// is larger than max_size and its drawn jitter.
// Method: one do_work after each insert, with a clock that stands still.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::HandledBatch;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("size trigger") {
  TEST_CASE("the item that completes the batch trips the flush, for every max_size") {
    for (const std::size_t max_size : {1U, 2U, 3U, 10U, 64U, 1000U}) {
      CAPTURE(max_size);
      ManualBuffer<int> buffer({.max_size = max_size, .flush_interval = kForever});
      for (std::size_t item = 1; item < max_size; ++item) {
        buffer->insert(0);
        CHECK(buffer.work() == TimePoint::max());
        REQUIRE(buffer.batches().empty());
      }
      buffer->insert(0);
      CHECK(buffer->next_deadline() == buffer.now());  // It asks for the step that is due.
      buffer.work();
      REQUIRE(buffer.batch_sizes() == std::vector{max_size});
      CHECK(buffer.batches()[0].reason == FlushReason::kSize);
      CHECK(buffer.batches()[0].waiting_behind == 0);
    }
  }

  TEST_CASE("an insert_batch that completes the batch trips it too") {
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = kForever});
    buffer->insert_batch(numbers(0, 9));
    buffer.work();
    CHECK(buffer.batches().empty());
    buffer->insert_batch(numbers(9, 1));
    buffer.work();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10});
  }

  TEST_CASE("a steady stream fills its batches, however often the consumer looks") {
    ManualBuffer<int> buffer({.max_size = 2048, .flush_interval = 5s});
    constexpr int kLooks = 2000;
    for (int look = 0; look < kLooks; ++look) {  // 20,000 items a second, looked at every ms
      buffer->insert_batch(numbers(0, 20));
      buffer.work_after(1ms);
    }
    REQUIRE(buffer.batches().size() == kLooks * 20 / 2048);
    for (const HandledBatch<int>& batch : buffer.batches()) CHECK(batch.size == 2048);
  }

  // Round robin spreads a trickle over all partitions: that is its price, and its bound.
  TEST_CASE("a trickle makes at most one batch for each partition and interval") {
    constexpr std::size_t kPartitions = 16;
    ManualBuffer<int> buffer({.partitions = kPartitions, .max_size = 1000, .flush_interval = 1s});
    constexpr std::size_t kSeconds = 20;
    for (std::size_t item = 0; item < 100 * kSeconds; ++item) {
      buffer->insert(0);
      buffer.work_after(10ms);
    }
    buffer.work_after(2s);
    CHECK(buffer->ledger().flushed == 100 * kSeconds);
    CHECK(buffer.batches().size() <= kPartitions * (kSeconds + 1));
  }

  TEST_CASE("each partition has its own count") {
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 3, .flush_interval = kForever});
    for (int item = 0; item < 5; ++item) buffer->insert(item);
    buffer.work_all();
    REQUIRE(buffer.batches().size() == 1);
    CHECK(buffer.batches()[0].items == std::vector{0, 2, 4});
    buffer->insert(5);
    buffer.work_all();
    REQUIRE(buffer.batches().size() == 2);
    CHECK(buffer.batches()[1].items == std::vector{1, 3, 5});
    CHECK(buffer.batches()[0].partition_index != buffer.batches()[1].partition_index);
  }

  TEST_CASE("one step hands over one batch, and asks to be called again while more is due") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100});
    buffer->insert_batch(numbers(0, 35));
    for (std::size_t batches = 1; batches <= 3; ++batches) {
      CHECK(buffer.work() == buffer.now());
      CHECK(buffer.batches().size() == batches);
    }
    CHECK(buffer.work() == buffer.now() + 10s);  // Five are left, and have their interval.
    CHECK(buffer.batches().size() == 3);
    CHECK(buffer.batches()[0].waiting_behind == 25);
    CHECK(buffer.batches()[2].waiting_behind == 5);
  }

  TEST_CASE("no batch is larger than max_size, whatever made it due") {
    for (const bool is_closed_by_force : {false, true}) {
      ManualBuffer<int> buffer({.max_size = 512, .capacity = 10'000, .close_timeout = kForever});
      buffer->insert_batch(numbers(0, 1000));
      buffer->flush();
      buffer.work_all();
      buffer->insert_batch(numbers(1000, 700));
      CHECK(buffer->sync_flush(0s)[0].status == CallStatus::kTimedOut);  // one step: one batch
      CHECK(buffer->sync_flush()[0].status == CallStatus::kDone);
      buffer->insert_batch(numbers(1700, 1300));
      buffer.work_after(10s);
      buffer->insert_batch(numbers(3000, 2000));
      if (is_closed_by_force) {
        buffer.destroy();
      } else {
        buffer->close();
      }
      for (const std::size_t size : buffer.batch_sizes()) CHECK(size <= 512);
      CHECK(buffer.handled() == numbers(0, 5000));
    }
  }

  TEST_CASE("a forced flush hands over everything at once, the tail included") {
    ManualBuffer<int> buffer({.max_size = 100, .flush_interval = 1h, .capacity = 2000});
    buffer->insert_batch(numbers(0, 1003));
    buffer->flush();
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 1003));
    CHECK(buffer.batch_sizes().back() == 3);
    CHECK(buffer.batches().back().reason == FlushReason::kManual);
  }

  TEST_CASE("with jitter every batch has its own size within the bounds, and trips exactly there") {
    ManualBuffer<int> buffer({.max_size = 10, .max_size_jitter = 5, .flush_interval = kForever});
    std::set<std::size_t> sizes;
    std::size_t in_batch = 0;
    for (int item = 0; item < 2000; ++item) {
      buffer->insert(item);
      ++in_batch;
      const std::size_t before = buffer.batches().size();
      buffer.work_all();
      if (buffer.batches().size() == before) {
        CHECK(in_batch < 15);
        continue;
      }
      REQUIRE(buffer.batches().size() == before + 1);
      // Everything that was there: it tripped at the item that completed it.
      CHECK(buffer.batches().back().size == in_batch);
      CHECK(buffer.batches().back().waiting_behind == 0);
      CHECK(in_batch >= 10);
      CHECK(in_batch <= 15);
      sizes.insert(in_batch);
      in_batch = 0;
    }
    CHECK(sizes == std::set<std::size_t>{10, 11, 12, 13, 14, 15});
  }

  TEST_CASE("with jitter a backlog is cut into batches within the bounds") {
    ManualBuffer<int> buffer({.max_size = 10, .max_size_jitter = 5, .capacity = 3000});
    buffer->insert_batch(numbers(0, 3000));
    buffer->close();
    const std::vector<std::size_t> sizes = buffer.batch_sizes();
    for (std::size_t index = 0; index + 1 < sizes.size(); ++index) {
      CHECK(sizes[index] >= 10);
      CHECK(sizes[index] <= 15);
    }
    CHECK(sizes.back() <= 15);
    CHECK(buffer.handled() == numbers(0, 3000));
  }

  TEST_CASE("while a handler is busy its next batch grows up to max_size") {
    ManualBuffer<int>* self = nullptr;
    int next = 1;
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 1s, .capacity = 100},
                             [&](Batch<int>&, const FlushContext& context) {
                               // Ten arrive one by one while the first batch is being handled.
                               for (int item = 0; context.batch_id == 1 && item < 10; ++item) {
                                 CHECK((*self)->insert(next++) == InsertStatus::kAccepted);
                               }
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert(0);
    buffer.work_after(1s);
    CHECK(buffer.work_all() == TimePoint::max());
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{1, 10});
    CHECK(buffer.handled() == numbers(0, 11));
  }

  TEST_CASE("a batch is not cut small because the consumer looks often") {
    ManualBuffer<int> buffer({.max_size = 100, .flush_interval = 10s});
    for (int item = 0; item < 1000; ++item) {
      buffer->insert(item);
      buffer.work_after(1ms);
    }
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>(10, 100));
  }

  TEST_CASE("batches are numbered from 1 in each partition") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 2});
    for (int item = 0; item < 24; ++item) buffer->insert(item);
    buffer.work_all();
    std::vector<std::uint64_t> last(3);
    for (const HandledBatch<int>& batch : buffer.batches()) {
      CHECK(batch.batch_id == ++last[batch.partition_index]);
    }
    CHECK(last == std::vector<std::uint64_t>{4, 4, 4});
  }
}
