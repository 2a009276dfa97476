#include "tools/tuning/pacing.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1000s};

TEST_SUITE("pacing") {
  TEST_CASE("one producer's calls are evenly apart, the first at the start") {
    const Schedule schedule(kStart, 1000, 1, 1, 0);
    for (std::uint64_t call = 0; call < 100; ++call) {
      CHECK(schedule.due(call) == kStart + static_cast<int>(call) * 1ms);
    }
  }

  TEST_CASE("calls of several items are as much rarer") {
    const Schedule schedule(kStart, 1000, 50, 1, 0);
    CHECK(schedule.due(1) == kStart + 50ms);
    CHECK(schedule.due(20) == kStart + 1s);
  }

  TEST_CASE("several producers take turns, so that all of them together are even") {
    std::set<TimePoint> due;
    for (std::size_t producer = 0; producer < 4; ++producer) {
      const Schedule schedule(kStart, 1000, 1, 4, producer);
      for (std::uint64_t call = 0; call < 25; ++call) due.insert(schedule.due(call));
    }
    REQUIRE(due.size() == 100);
    TimePoint expected = kStart;
    for (const TimePoint each : due) {
      CHECK(each == expected);
      expected += 1ms;
    }
  }

  TEST_CASE("a distance that is no whole number of nanoseconds does not add up to an error") {
    const Schedule schedule(kStart, 3e6, 1, 1, 0);
    CHECK(schedule.due(1) == kStart + 333ns);
    CHECK(schedule.due(3) == kStart + 1us);
    constexpr std::uint64_t kDay = 86'400;
    CHECK(schedule.due(kDay * 3'000'000) == kStart + 24h);
  }

  TEST_CASE("what is due before a time is counted to the call") {
    for (const double rate : {1.0, 7.0, 1000.0, 3e6, 1e9}) {
      for (const std::size_t producers : {1U, 3U}) {
        for (std::size_t index = 0; index < producers; ++index) {
          CAPTURE(rate);
          CAPTURE(producers);
          const Schedule schedule(kStart, rate, 2, producers, index);
          for (const Duration after : {0ns, 1ns, 2ns, 999ns, 1'000'000ns, 5'000'000'000ns}) {
            const TimePoint end = kStart + after;
            const std::uint64_t calls = schedule.calls_before(end);
            CHECK(schedule.due(calls) >= end);
            if (calls > 0) CHECK(schedule.due(calls - 1) < end);
          }
          CHECK(schedule.calls_before(kStart - 1s) == 0);
        }
      }
    }
  }

  TEST_CASE("what would be due after the end of time is due never") {
    const Schedule schedule(kStart, 1, 1'000'000, 1024, 1023);
    CHECK(schedule.due(UINT64_MAX) == TimePoint::max());
  }

  TEST_CASE("sleeping towards the past returns at once, and towards the future not beyond it") {
    const TimePoint now = steady_clock().now();
    CHECK(sleep_towards(now - 1h) >= now);
    CHECK(sleep_towards(now + 100us) >= now + 100us);
    const TimePoint long_way = now + 1h;
    CHECK(sleep_towards(long_way) < long_way);
  }
}

}  // namespace
}  // namespace databuffer::tuning
