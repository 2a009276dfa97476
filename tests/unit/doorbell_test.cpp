// Goal: a consumer that asked for the n-th pending item is rung by it and not later, whatever the
// producers were doing while it asked; a ring before the sleep is not lost.
// Method: one thread plays both sides, step by step; the interleavings proper are model-checked and
// stress-tested. Sleeps only ever with a ring given or a deadline that is past.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "databuffer/databuffer.hpp"
#include "databuffer/detail/fence.hpp"
#include "engine/doorbell.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::detail::Doorbell;

namespace {

/// A doorbell, and the number of items that its producers have published.
struct Door {
  ManualClock clock{TimePoint{1h}};
  Doorbell bell;
  std::size_t published = 0;

  bool arm(std::size_t threshold) {
    return bell.arm(threshold, [this] { return published; });
  }
  [[nodiscard]] bool is_watched() const { return bell.watch().load() != 0; }

  /// As Inserter::enter: publish, look, count down. Returns whether it rang.
  bool insert(std::size_t items) {
    published += items;
    return is_watched() && bell.count_down(items, clock);
  }
};

}  // namespace

TEST_SUITE("doorbell") {
  TEST_CASE("nobody rings while nobody watches") {
    Door door;
    for (int item = 0; item < 100; ++item) CHECK_FALSE(door.insert(1));
    CHECK(door.bell.rings() == 0);
  }

  TEST_CASE("exactly the item that completes the count rings") {
    for (const std::size_t threshold : {1U, 2U, 3U, 100U}) {
      CAPTURE(threshold);
      Door door;
      REQUIRE(door.arm(threshold));
      for (std::size_t item = 1; item < threshold; ++item) CHECK_FALSE(door.insert(1));
      CHECK(door.insert(1));
      CHECK(door.bell.rings() == 1);
      CHECK_FALSE(door.is_watched());  // the others need not count any more
      CHECK_FALSE(door.insert(1));
      CHECK(door.bell.rings() == 1);
    }
  }

  TEST_CASE("items that are there already count") {
    Door door;
    door.insert(7);
    REQUIRE(door.arm(10));
    CHECK_FALSE(door.insert(2));
    CHECK(door.insert(1));
  }

  TEST_CASE("several items at once ring once, also when they pass the count") {
    Door door;
    REQUIRE(door.arm(10));
    CHECK_FALSE(door.insert(9));
    CHECK(door.insert(500));
    CHECK(door.bell.rings() == 1);
  }

  TEST_CASE("a count that is reached already is not armed") {
    Door door;
    door.insert(10);
    const std::uint64_t fences = databuffer::detail::heavy_fence_count();
    CHECK_FALSE(door.arm(10));
    CHECK_FALSE(door.arm(3));
    CHECK_FALSE(door.is_watched());
    CHECK(databuffer::detail::heavy_fence_count() == fences);  // It costs nothing to find out.
    CHECK(door.arm(11));
  }

  TEST_CASE("a disarmed bell is not watched, and can be armed again") {
    Door door;
    REQUIRE(door.arm(2));
    CHECK_FALSE(door.insert(1));
    door.bell.disarm();
    CHECK_FALSE(door.is_watched());
    CHECK_FALSE(door.insert(5));
    door.published = 0;  // the consumer took them
    REQUIRE(door.arm(2));
    CHECK_FALSE(door.insert(1));
    CHECK(door.insert(1));
  }

  TEST_CASE("an item whose producer saw no watch is found by the second count") {
    Door door;
    int looks = 0;
    REQUIRE(door.bell.arm(3, [&]() -> std::size_t {
      if (++looks == 2) ++door.published;
      return door.published;
    }));
    CHECK_FALSE(door.insert(1));
    CHECK(door.insert(1));
  }

  TEST_CASE("an item that is counted by both sides makes the ring early, never late") {
    Door door;
    int looks = 0;
    REQUIRE(door.bell.arm(3, [&]() -> std::size_t {
      if (++looks == 2) ++door.published;  // published; its producer is about to count down
      return door.published;
    }));
    CHECK_FALSE(door.bell.count_down(1, door.clock));
    CHECK(door.insert(1));  // the second item of three
  }

  TEST_CASE("a count that is reached while the bell is being armed is found there") {
    Door door;
    int looks = 0;
    CHECK_FALSE(door.bell.arm(2, [&]() -> std::size_t {
      if (++looks == 2) door.published += 2;
      return door.published;
    }));
    CHECK_FALSE(door.is_watched());
  }

  TEST_CASE("a late count of an item that has left already does not make the next ring late") {
    Door door;
    REQUIRE(door.arm(1));
    ++door.published;  // published …
    --door.published;  // … removed by the consumer, which arms again
    door.bell.disarm();
    REQUIRE(door.arm(2));
    CHECK_FALSE(door.bell.count_down(1, door.clock));  // … and only now counted
    CHECK(door.insert(1));                             // early, by one
  }

  TEST_CASE("the ring notes when the awaited item came, once") {
    Door door;
    CHECK(door.bell.take_rung_at() == Doorbell::kNoTime);
    REQUIRE(door.arm(1));
    CHECK(door.bell.take_rung_at() == Doorbell::kNoTime);
    door.clock.advance(5s);
    CHECK(door.insert(1));
    door.clock.advance(5s);
    CHECK_FALSE(door.insert(1));
    CHECK(door.bell.take_rung_at() == TimePoint{1h + 5s}.time_since_epoch());
    CHECK(door.bell.take_rung_at() == Doorbell::kNoTime);
  }

  TEST_CASE("arming forgets the time of an earlier ring") {
    Door door;
    REQUIRE(door.arm(1));
    CHECK(door.insert(1));
    REQUIRE(door.arm(5));
    CHECK(door.bell.take_rung_at() == Doorbell::kNoTime);
  }

  TEST_CASE("a ring before the sleep ends it at once, and is used up") {
    Door door;
    door.bell.ring();
    door.bell.sleep_until(TimePoint::max());  // would never return without the token
    CHECK(door.bell.wake_ups() == 0);         // it did not sleep
    door.bell.sleep_until(TimePoint{1ns});    // long past: returns, having slept
    CHECK(door.bell.wake_ups() == 1);
  }

  TEST_CASE("several rings before the sleep are one token") {
    Door door;
    door.bell.ring();
    door.bell.ring();
    CHECK(door.bell.rings() == 2);
    door.bell.sleep_until(TimePoint::max());
    door.bell.sleep_until(TimePoint{1ns});
    CHECK(door.bell.wake_ups() == 1);
  }

  TEST_CASE("a sleep until a time that is past returns") {
    Door door;
    door.bell.sleep_until(TimePoint{});
    door.bell.sleep_until(TimePoint{-1ns});
    door.bell.sleep_until(TimePoint{1ns});
    CHECK(door.bell.wake_ups() == 3);
  }
}
