// Goal: the deadline runs from the first item of the batch, to the nanosecond; an empty partition
// wants no step at all, and its handler is never called.
// Method: do_work by hand at chosen times.

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <set>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

TEST_SUITE("interval trigger") {
  TEST_CASE("a partial batch is flushed when flush_interval has passed, and not before") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 5ms});
    buffer->insert(7);
    const TimePoint due = buffer.now() + 5ms;
    CHECK(buffer.work() == due);
    CHECK(buffer->next_deadline() == due);

    SUBCASE("one nanosecond early: nothing") {
      buffer.advance(5ms - 1ns);
      CHECK(buffer.work() == due);
      CHECK(buffer.batches().empty());
    }
    SUBCASE("exactly on time: one batch with the item, once") {
      buffer.advance(5ms);
      buffer.work_all();
      REQUIRE(buffer.batches().size() == 1);
      CHECK(buffer.batches()[0].items == std::vector{7});
      CHECK(buffer.batches()[0].reason == FlushReason::kInterval);
      CHECK(buffer.work_after(1h) == TimePoint::max());
      CHECK(buffer.batches().size() == 1);
    }
    SUBCASE("late: one batch") {
      buffer.work_after(1h);
      CHECK(buffer.batch_sizes() == std::vector<std::size_t>{1});
    }
  }

  // However long after the insert somebody first looks, and after the look before it.
  TEST_CASE("the deadline runs from the insert, not from the look that finds the item") {
    std::mt19937_64 random(6);
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 1s});
    for (int item = 0; item < 2000; ++item) {
      buffer.advance(Duration(random() % 3'000'000'000));
      if (random() % 2 == 0) buffer.work();  // A look at the empty partition changes nothing.
      buffer.advance(Duration(random() % 1'000'000'000));
      buffer->insert(item);
      const TimePoint due = buffer.now() + 1s;
      buffer.advance(Duration(random() % 1'000'000'000));
      REQUIRE(buffer.work() == due);
      buffer.advance(due - buffer.now() - 1ns);
      REQUIRE(buffer.work() == due);
      REQUIRE(buffer.batches().size() == static_cast<std::size_t>(item));
      buffer.advance(1ns);
      buffer.work_all();
      REQUIRE(buffer.batches().size() == static_cast<std::size_t>(item) + 1);
    }
  }

  TEST_CASE("later items do not move the deadline") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 10s});
    buffer->insert(0);
    const TimePoint due = buffer.now() + 10s;
    for (int item = 1; item < 10; ++item) {
      CHECK(buffer.work_after(1s) == due);
      buffer->insert(item);
    }
    CHECK(buffer.work() == due);
    buffer.work_after(1s);
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10});
  }

  TEST_CASE("each batch has its own deadline, from its own first item") {
    ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 10s});
    buffer->insert(0);
    buffer.work_after(10s);
    REQUIRE(buffer.batches().size() == 1);
    buffer.work_after(7s);
    buffer->insert(1);
    const TimePoint due = buffer.now() + 10s;
    CHECK(buffer.work_after(1s) == due);
    buffer.advance(9s - 1ns);
    CHECK(buffer.work() == due);
    buffer.work_after(1ns);
    CHECK(buffer.batches().size() == 2);
  }

  TEST_CASE("each partition has its own deadline") {
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 1000, .flush_interval = 10s});
    const TimePoint start = buffer.now();
    buffer->insert(0);
    CHECK(buffer.work_after(4s) == start + 10s);
    buffer->insert(1);
    CHECK(buffer.work_after(6s) == start + 14s);
    CHECK(buffer.handled() == std::vector{0});
    CHECK(buffer.work_after(4s) == TimePoint::max());
    CHECK(buffer.handled() == std::vector{0, 1});
  }

  TEST_CASE("a deadline that passes while the handler runs: the rest is flushed when it returns") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 1s, .capacity = 100},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id == 1) {
                                 self->advance(100ms);
                                 for (int item = 10; item < 14; ++item) (*self)->insert(item);
                                 self->advance(5s);
                               }
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 10));
    buffer.work();
    REQUIRE(buffer.batches().size() == 1);
    // No further insert, no further look than the one that was asked for.
    CHECK(buffer.work_all() == TimePoint::max());
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10, 4});
    CHECK(buffer.batches()[1].reason == FlushReason::kInterval);
  }

  // Behind batches that fill at once, too, where nobody would ring for the first item of the next.
  TEST_CASE("items that came while the handler ran have their interval from then") {
    for (const std::uint64_t quick_batches : {0U, 49U}) {
      CAPTURE(quick_batches);
      ManualBuffer<int>* self = nullptr;
      TimePoint came{};
      ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 10s, .capacity = 100},
                               [&](Batch<int>&, const FlushContext& context) {
                                 if (context.batch_id == quick_batches + 1) {
                                   self->advance(3s);
                                   (*self)->insert(10);
                                   came = self->now();
                                   self->advance(2s);
                                 }
                                 return FlushResult::ok();
                               });
      self = &buffer;
      TimePoint next{};
      for (std::uint64_t batch = 0; batch <= quick_batches; ++batch) {
        buffer->insert_batch(numbers(0, 10));
        buffer.advance(11us);
        next = buffer.work_all();
      }
      CHECK(next == came + 10s);
    }
  }

  // An item's wait is bounded also where its batch is not the first that left.
  TEST_CASE("items left behind by a batch keep their deadline, however late that batch was") {
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 10s, .capacity = 100});
    buffer->insert_batch(numbers(0, 13));
    const TimePoint inserted = buffer.now();
    buffer.advance(8s);  // Nobody looked till now.
    buffer.work();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10});
    CHECK(buffer.work() <= inserted + 10s);
    buffer.advance(2s);
    buffer.work_all();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10, 3});
  }

  // Nobody reads a clock for an item. What a batch leaves behind came after the last pass that has
  // left as a whole, and its deadline runs from there: never too late, and a batch early at most.
  TEST_CASE("the deadline of what is left behind runs from the batch before, and no older one") {
    Options options{.max_size = 4, .flush_interval = 10s, .capacity = 100};
    SUBCASE("without weights") {}
    SUBCASE("with weights") {
      options.max_bytes = 1000;
      options.weigh = [](const int&) { return std::size_t{1}; };
    }
    ManualBuffer<int> buffer(options);
    buffer->insert_batch(numbers(0, 6));
    TimePoint batch_before = buffer.now();
    buffer.work_all();
    // Each round leaves two behind, of those that just came.
    for (std::size_t round = 1; round <= 4; ++round) {
      buffer.advance(9s);
      buffer->insert_batch(numbers(0, 4));
      const TimePoint next = buffer.work_all();
      REQUIRE(buffer.batch_sizes() == std::vector<std::size_t>(1 + round, 4));
      CHECK(next == batch_before + 10s);
      batch_before = buffer.now();
    }
  }

  TEST_CASE("items left behind by a batch during a long handler call are not late either") {
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 10s, .capacity = 100},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id == 1) {
                                 self->advance(1s);
                                 (*self)->insert_batch(numbers(10, 13));
                                 self->advance(29s);
                               }
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert_batch(numbers(0, 10));
    buffer.work();
    // Thirteen came 29 s ago: ten leave by size, and the three others are long due.
    CHECK(buffer.work_all() == TimePoint::max());
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10, 10, 3});
  }

  TEST_CASE("an interval of 0 flushes at the next look, one of 1 ns a nanosecond later") {
    ManualBuffer<int> at_once({.max_size = 1000, .flush_interval = 0s});
    at_once->insert(1);
    at_once.work();
    CHECK(at_once.batch_sizes() == std::vector<std::size_t>{1});

    ManualBuffer<int> soon({.max_size = 1000, .flush_interval = 1ns});
    soon->insert(1);
    CHECK(soon.work() == soon.now() + 1ns);
    CHECK(soon.batches().empty());
    soon.work_after(1ns);
    CHECK(soon.batch_sizes() == std::vector<std::size_t>{1});
  }

  TEST_CASE("an interval or a jitter of for ever never trips, and never overflows") {
    for (const bool is_jitter : {false, true}) {
      Options options{.max_size = 1000};
      options.flush_interval = is_jitter ? 10s : kForever;
      options.flush_jitter = is_jitter ? kForever : Duration(1s);
      ManualBuffer<int> buffer(options);
      buffer->insert(1);
      const TimePoint next = buffer.work();
      CHECK(next > buffer.now() + 10s);
      buffer.advance(kForever);  // The end of time.
      CHECK_NOTHROW(buffer.work());
      CHECK(buffer.batches().size() <= 1);
    }
  }

  TEST_CASE("with jitter each delay is within its bounds, and they differ") {
    for (const Duration jitter : {Duration(1ns), Duration(5s), Duration(8s)}) {
      CAPTURE(jitter);
      ManualBuffer<int> buffer({.max_size = 1000, .flush_interval = 5s, .flush_jitter = jitter});
      std::set<Duration> delays;
      for (int batch = 0; batch < 200; ++batch) {
        buffer->insert(batch);
        const TimePoint inserted = buffer.now();
        const TimePoint due = buffer.work();
        CHECK(due - inserted >= 5s);
        CHECK(due - inserted <= 5s + jitter);
        delays.insert(due - inserted);
        buffer.advance(due - inserted - 1ns);
        buffer.work();
        CHECK(buffer.batches().size() == static_cast<std::size_t>(batch));
        buffer.work_after(1ns);
        REQUIRE(buffer.batches().size() == static_cast<std::size_t>(batch) + 1);
      }
      CHECK(delays.size() >= (jitter == 1ns ? 2U : 190U));
    }
  }

  TEST_CASE("the partitions of a buffer draw different delays") {
    ManualBuffer<int> buffer({.partitions = 8, .max_size = 1000, .flush_jitter = 3s});
    for (int item = 0; item < 8; ++item) buffer->insert(item);
    std::set<TimePoint> handled_at;
    for (TimePoint next = buffer.work(); next != TimePoint::max(); next = buffer.work_all()) {
      buffer.advance(next - buffer.now());
    }
    for (const auto& batch : buffer.batches()) handled_at.insert(batch.at);
    CHECK(buffer.batches().size() == 8);
    CHECK(handled_at.size() == 8);
  }

  TEST_CASE("two buffers without a seed draw different delays, with the same seed the same") {
    const auto delay = [](std::uint64_t seed) {
      const ManualClock clock;
      Options options{.name = "b", .threading = Threading::kManual, .clock = &clock, .seed = seed};
      Buffer<int> buffer(options, [](std::span<int>) {});
      buffer.insert(1);
      return buffer.do_work(clock.now());
    };
    CHECK(delay(0) != delay(0));
    CHECK(delay(5) == delay(5));
    CHECK(delay(5) != delay(6));
  }

  TEST_CASE("an empty partition wants no step, and its handler is never called") {
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 1s});
    for (int tick = 0; tick < 1000; ++tick) CHECK(buffer.work_after(1min) == TimePoint::max());
    CHECK(buffer->next_deadline() == TimePoint::max());
    buffer->flush();
    buffer.work_all();
    buffer->sync_flush();
    buffer.work_all();
    CHECK(buffer->take().empty());
    buffer->close();
    CHECK(buffer.batches().empty());
    CHECK(buffer->info()[0].batches == 0);
  }

  TEST_CASE("after its batch has gone a partition wants no step again") {
    ManualBuffer<int> buffer({.max_size = 10, .flush_interval = 1s});
    buffer->insert_batch(numbers(0, 10));
    CHECK(buffer.work_all() == TimePoint::max());
    buffer->insert(10);
    CHECK(buffer.work_after(1s) == TimePoint::max());
    CHECK(buffer->next_deadline() == TimePoint::max());
  }

  TEST_CASE("next_deadline tells what has come up since the last step") {
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 10s});
    CHECK(buffer->next_deadline() == buffer.now());  // It was never looked after.
    buffer.work();
    CHECK(buffer->next_deadline() == TimePoint::max());
    buffer->insert(1);
    CHECK(buffer->next_deadline() == buffer.now());  // The first item: a deadline to be set.
    const TimePoint due = buffer.work();
    CHECK(buffer->next_deadline() == due);
    buffer->insert(2);
    CHECK(buffer->next_deadline() == due);
    buffer->flush();
    CHECK(buffer->next_deadline() == buffer.now());
    buffer.work_all();
    CHECK(buffer->next_deadline() == TimePoint::max());
  }

  TEST_CASE(
      "next_deadline is never later than what do_work returned, however far the clock has gone") {
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 10s});
    buffer->insert(1);
    const TimePoint due = buffer.work();
    buffer.advance(1h);
    CHECK(buffer->next_deadline() == due);
    SUBCASE("a batch is completed") { buffer->insert_batch(numbers(2, 2)); }
    SUBCASE("a flush is asked for") { buffer->flush(); }
    CHECK(buffer->next_deadline() == due);
  }
}
