// Goal: no duration and no deadline overflows, whatever its size and unit.
// Method: the extremes of several units, with the undefined-behaviour sanitizer looking on.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

#include "databuffer/clock.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;

TEST_SUITE("clock") {
  TEST_CASE("a duration that fits is kept exactly") {
    CHECK(saturate(0ns) == 0ns);
    CHECK(saturate(1ns) == 1ns);
    CHECK(saturate(-1ns) == -1ns);
    CHECK(saturate(1500us) == 1'500'000ns);
    CHECK(saturate(3h) == 10'800'000'000'000ns);
    CHECK(saturate(-2min) == -120'000'000'000ns);
    CHECK(saturate(std::chrono::duration<double>(0.25)) == 250ms);
    CHECK(saturate(std::chrono::duration<float>(-0.5F)) == -500ms);
    CHECK(saturate(Duration::max()) == Duration::max());
    CHECK(saturate(Duration::min()) == Duration::min());
  }

  TEST_CASE("a duration beyond the range is clamped, not wrapped") {
    CHECK(saturate(std::chrono::microseconds::max()) == kForever);
    CHECK(saturate(std::chrono::seconds::max()) == kForever);
    CHECK(saturate(std::chrono::hours::max()) == kForever);
    CHECK(saturate(std::chrono::hours::min()) == Duration::min());
    CHECK(saturate(std::chrono::duration<double>(1e300)) == kForever);
    CHECK(saturate(std::chrono::duration<double>(-1e300)) == Duration::min());
    CHECK(saturate(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) ==
          kForever);
    CHECK(saturate(std::chrono::duration<std::uint64_t, std::nano>::max()) == kForever);
  }

  TEST_CASE("a duration that is not a number is zero, and an infinite one is for ever") {
    const auto check = [](auto representation) {
      using Rep = decltype(representation);
      using Limits = std::numeric_limits<Rep>;
      for (const Rep nan : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
        CHECK(saturate(std::chrono::duration<Rep>(nan)) == Duration::zero());
        CHECK(saturate(std::chrono::duration<Rep, std::nano>(nan)) == Duration::zero());
        CHECK(saturate(std::chrono::duration<Rep, std::ratio<86400>>(nan)) == Duration::zero());
      }
      CHECK(saturate(std::chrono::duration<Rep>(Limits::infinity())) == kForever);
      CHECK(saturate(std::chrono::duration<Rep>(-Limits::infinity())) == Duration::min());
    };
    check(float{});
    check(double{});
    check(static_cast<long double>(0));
    static_assert(saturate(std::chrono::duration<double>(
                      std::numeric_limits<double>::quiet_NaN())) == Duration::zero());
    static_assert(saturate(std::chrono::duration<float>(std::numeric_limits<float>::infinity())) ==
                  kForever);
  }

  TEST_CASE("a unit finer than ours is rounded towards zero") {
    using Picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    CHECK(saturate(Picoseconds(1999)) == 1ns);
    CHECK(saturate(Picoseconds(-1999)) == -1ns);
    CHECK(saturate(Picoseconds::max()) == Duration(9'223'372'036'854'775));
  }

  // The product on the way must not overflow where the result fits.
  TEST_CASE("a unit that is no multiple of ours does not overflow on the way") {
    using Frames = std::chrono::duration<std::int64_t, std::ratio<1, 60>>;
    CHECK(saturate(Frames(120)) == 2s);
    const std::chrono::hours two_centuries{24 * 365 * 200};
    CHECK(saturate(Frames(std::int64_t{60} * std::chrono::seconds(two_centuries).count())) ==
          two_centuries);
    CHECK(saturate(Frames::max()) == kForever);
    CHECK(saturate(Frames::min()) == Duration::min());
  }

  // A float near the limit rounds up to it when it is multiplied as a float.
  TEST_CASE("a float just below the limit does not round over it") {
    const std::chrono::duration<float> near_limit(9.2233718e9F);
    const Duration clamped = saturate(near_limit);
    CHECK(clamped > std::chrono::hours{24 * 365 * 290});
    CHECK(clamped <= kForever);
  }

  TEST_CASE("a deadline beyond the range is never") {
    const TimePoint start{1h};
    CHECK(deadline_after(start, kForever) == TimePoint::max());
    CHECK(deadline_after(start, kForever - 1h) == TimePoint::max());
    CHECK(deadline_after(start, kForever - 1h - 1ns) == TimePoint::max() - 1ns);
    CHECK(deadline_after(TimePoint::max(), 1ns) == TimePoint::max());
    CHECK(deadline_after(TimePoint{-1h}, kForever) == TimePoint::max() - 1h);
  }

  TEST_CASE("a deadline after no wait, or a negative one, is now") {
    const TimePoint start{1h};
    CHECK(deadline_after(start, 0ns) == start);
    CHECK(deadline_after(start, -1ns) == start);
    CHECK(deadline_after(start, Duration::min()) == start);
    CHECK(deadline_after(TimePoint::min(), Duration::min()) == TimePoint::min());
  }

  TEST_CASE("saturate and deadline_after are constant expressions") {
    static_assert(saturate(std::chrono::hours::max()) == kForever);
    static_assert(deadline_after(TimePoint{}, 5ns) == TimePoint{5ns});
  }

  TEST_CASE("a manual clock stands still until it is advanced, and never goes back") {
    ManualClock clock(TimePoint{5s});
    CHECK(clock.now() == TimePoint{5s});
    CHECK(clock.now() == TimePoint{5s});
    CHECK(clock.advance(2s) == TimePoint{7s});
    CHECK(clock.now() == TimePoint{7s});
    clock.advance(-3s);
    CHECK(clock.now() == TimePoint{7s});
    clock.advance(kForever);
    CHECK(clock.now() == TimePoint::max());
    CHECK(ManualClock().now() == TimePoint{});
  }

  // The type alone keeps the wall clock out: time points of another clock do not convert.
  TEST_CASE("our time points are the steady clock's") {
    static_assert(std::is_same_v<TimePoint::clock, std::chrono::steady_clock>);
    static_assert(TimePoint::clock::is_steady);
    static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, TimePoint>);
    CHECK(&steady_clock() == &steady_clock());
  }
}
