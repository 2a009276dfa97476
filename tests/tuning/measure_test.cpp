// Your own items and handlers, measured: whole runs, of which counts are asserted, never times.

#include "tools/tuning/measure.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>

#include "databuffer/databuffer.hpp"
#include "tuning/runs.hpp"

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

struct Event {
  std::uint64_t id = 0;
};

struct TimedEvent {
  std::uint64_t id = 0;
  TimePoint due{};
};

TEST_SUITE("measure") {
  TEST_CASE("your own items and handler are measured, and each item is another one") {
    std::mutex mutex;
    std::set<std::uint64_t> ids;
    std::uint64_t items = 0;
    const Measure measure = make_measure<Event>(
        {.producers = 3}, {.name = "events", .overflow = Overflow::kBlock},
        [](std::uint64_t index) { return Event{index}; },
        [&](std::span<Event> batch) {
          const std::lock_guard lock(mutex);
          for (const Event& event : batch) ids.insert(event.id);
          items += batch.size();
        });
    // Each run begins to count anew.
    const auto is_right = [&](const Measurement& measured) {
      const std::lock_guard lock(mutex);
      CHECK(ids.size() == items);
      ids.clear();
      items = 0;
      return measured.flushed > 0;
    };
    const Measurement measured =
        measure_until(measure, {.partitions = 2, .max_size = 50, .capacity = 200}, is_right);
    CHECK(measured.is_age_of_oldest);
  }

  TEST_CASE("an item that carries the time it was due has an exact age") {
    std::atomic<std::uint64_t> without_time{0};
    const Measure measure = make_measure<TimedEvent>(
        {.producers = 1}, {.name = "events"},
        [](std::uint64_t index) {
          return TimedEvent{index, {}};
        },
        [&](Batch<TimedEvent>& batch) {
          for (const TimedEvent& event : batch) without_time += event.due == TimePoint{} ? 1 : 0;
        });
    const Measurement measured =
        measure_until(measure, {.max_size = 50, .capacity = 200},
                      [](const Measurement& so_far) { return so_far.age.max > 0; });
    CHECK_FALSE(measured.is_age_of_oldest);
    CHECK(without_time == 0);
  }

  TEST_CASE("a candidate's values are in force, and the others stay as they are") {
    const Options options = with_candidate(
        {.name = "base", .max_size_jitter = 3, .flush_interval = 7ms},
        {.partitions = 4, .max_size = 9, .capacity = 99, .wait = WaitStrategy::kPark});
    CHECK(options.name == "base");
    CHECK(options.max_size_jitter == 3);
    CHECK(options.flush_interval == 7ms);
    CHECK(options.partitions == 4);
    CHECK(options.max_size == 9);
    CHECK(options.capacity == 99);
    CHECK(options.wait_strategy == WaitStrategy::kPark);

    std::atomic<std::size_t> largest{0};
    const Measure measure = make_measure<Event>(
        {}, {.name = "events"}, [](std::uint64_t index) { return Event{index}; },
        [&](Batch<Event>& batch, const FlushContext& context) {
          if (batch.size() > largest) largest = batch.size();
          return context.size == batch.size();
        });
    static_cast<void>(measure_until(measure, {.max_size = 10, .capacity = 40}, has_flushed));
    CHECK(largest == 10);
    static_cast<void>(measure_until(measure, {.max_size = 20, .capacity = 40}, has_flushed));
    CHECK(largest == 20);
  }

  TEST_CASE("a factory makes a handler for each partition, anew in each run") {
    std::mutex mutex;
    std::multiset<std::size_t> made;
    const auto factory = [&](std::size_t partition_index) {
      const std::lock_guard lock(mutex);
      made.insert(partition_index);
      return [batches = 0](std::span<Event>) mutable { return ++batches > 0; };
    };
    const Measure measure = make_measure<Event>(
        {}, {.name = "events"}, [](std::uint64_t index) { return Event{index}; }, factory);
    for (int runs = 0; runs < 2; ++runs) {
      check_sums(measure({.partitions = 3, .max_size = 10, .capacity = 40}, 5ms));
    }
    CHECK(made == std::multiset<std::size_t>{0, 0, 1, 1, 2, 2});
  }

  TEST_CASE("after the run the handler is not called, whatever is left") {
    std::atomic<bool> is_over{false};
    const auto called_late = std::make_shared<std::atomic<bool>>(false);
    const Measure measure = make_measure<Event>(
        {}, {.name = "events"}, [](std::uint64_t index) { return Event{index}; },
        [&, called_late](std::span<Event>) {
          if (is_over) *called_late = true;
          std::this_thread::sleep_for(1ms);
        });
    const Measurement measured =
        measure_until(measure, {.max_size = 10, .capacity = 100'000}, has_batches);
    is_over = true;
    CHECK(measured.flushed <= measured.inserted);
    CHECK_FALSE(*called_late);
  }

  // Otherwise making the buffer would count as the producers' lateness.
  TEST_CASE("an open loop has nothing due before the buffer and its threads are there") {
    std::atomic<TimePoint> made{TimePoint{}};
    std::atomic<std::uint64_t> due_before{0};
    const Measure measure = make_measure<TimedEvent>(
        {.rate = 10'000, .warm_up = 0ms}, {.name = "events", .flush_interval = 1ms},
        [](std::uint64_t index) {
          return TimedEvent{index, {}};
        },
        [&](std::size_t) {
          made = steady_clock().now();
          return [&](std::span<TimedEvent> batch) {
            for (const TimedEvent& event : batch) due_before += event.due < made.load() ? 1 : 0;
          };
        });
    static_cast<void>(measure_until(measure, {.max_size = 10, .capacity = 40}, has_flushed));
    CHECK(due_before == 0);
  }

  TEST_CASE("what make_item throws ends the run, and comes out of it") {
    std::atomic<int> made{0};
    const Measure measure = make_measure<Event>(
        {.producers = 2}, {.name = "events"},
        [&](std::uint64_t index) {
          if (++made > 1000) throw std::runtime_error("out of items");
          return Event{index};
        },
        [](std::span<Event>) {});
    CHECK_THROWS_WITH_AS(static_cast<void>(measure({}, 1h)), "out of items", std::runtime_error);
  }

  TEST_CASE("a factory that throws ends the run, and nothing is left behind") {
    const Measure measure = make_measure<Event>(
        {}, {.name = "events"}, [](std::uint64_t index) { return Event{index}; },
        [](std::size_t partition_index) {
          if (partition_index == 1) throw std::runtime_error("no connection");
          return [](std::span<Event>) {};
        });
    CHECK_THROWS_WITH_AS(static_cast<void>(measure({.partitions = 2}, 5ms)), "no connection",
                         std::runtime_error);
  }

  TEST_CASE("a bad workload is refused at once, a bad candidate when it is run") {
    const auto make_item = [](std::uint64_t index) { return Event{index}; };
    const auto handler = [](std::span<Event>) {};
    CHECK_THROWS_AS(
        static_cast<void>(make_measure<Event>({.producers = 0}, {.name = "x"}, make_item, handler)),
        OptionsError);
    const Measure measure = make_measure<Event>({}, {.name = "x"}, make_item, handler);
    CHECK_THROWS_AS(static_cast<void>(measure({.max_size = 100, .capacity = 50}, 5ms)),
                    OptionsError);
    CHECK_THROWS_AS(static_cast<void>(measure({}, 0ms)), OptionsError);
  }

  TEST_CASE("a fifth of a search's run warms up, or less") {
    CHECK(plan_for({.warm_up = 1s}, {}, 500ms).workload.warm_up == 100ms);
    CHECK(plan_for({.warm_up = 1s}, {}, 500ms).measured == 400ms);
    CHECK(plan_for({.warm_up = 10ms}, {}, 500ms).workload.warm_up == 10ms);
    CHECK(plan_for({.warm_up = 10ms}, {}, 500ms).measured == 490ms);
  }

  TEST_CASE("few enough calls are timed, and at least every sixteenth item's") {
    const std::size_t single = sampling_period(1);
    CHECK(single >= 16);
    CHECK(single <= 1024);
    CHECK(sampling_period(8) <= single);
    CHECK(sampling_period(2000) == 1);
  }
}

}  // namespace
}  // namespace databuffer::tuning
