#pragma once

#include <atomic>
#include <chrono>
#include <ratio>
#include <type_traits>

#include "databuffer/detail/requirements.hpp"

namespace databuffer {

/// Every length of time in this library.
using Duration = std::chrono::nanoseconds;

/// A point on the steady clock. The largest value means "never".
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// "Without limit", for every timeout and interval.
inline constexpr Duration kForever = Duration::max();

/// Any chrono duration as a Duration, clamped instead of overflowing: `hours::max()` and infinity
/// are kForever. What is not a number is zero: no wait.
template <class Rep, class Period>
[[nodiscard]] constexpr Duration saturate(std::chrono::duration<Rep, Period> wanted) noexcept {
  using Wide = std::chrono::duration<long double, std::nano>;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep>) {
    // First: no constant expression goes on to calculate with what is not a number.
    if (!(wanted.count() >= Rep{0} || wanted.count() <= Rep{0})) return Duration::zero();
  }
  if (Wide(wanted) >= Wide(Duration::max())) return Duration::max();
  if (Wide(wanted) <= Wide(Duration::min())) return Duration::min();
  // Otherwise the cast would multiply first, by what may not fit, or in what is less precise.
  using Factor = std::ratio_divide<Period, Duration::period>;
  if constexpr (std::is_integral_v<Rep> && (Factor::num == 1 || Factor::den == 1)) {
    return std::chrono::duration_cast<Duration>(wanted);
  } else {
    return Duration(static_cast<Duration::rep>(Wide(wanted).count()));
  }
}

[[nodiscard]] constexpr Duration saturate(Duration wanted) noexcept { return wanted; }

/// `from + wait`, clamped to "never" instead of overflowing; a negative wait is none.
[[nodiscard]] constexpr TimePoint deadline_after(TimePoint from, Duration wait) noexcept {
  if (wait <= Duration::zero()) return from;
  if (from.time_since_epoch() > Duration::max() - wait) return TimePoint::max();
  return from + wait;
}

/// Where a buffer takes the time from: the real clock, or a test's.
///
/// Threads     now() is called from any thread at once.
/// Requires    now() never goes backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  /// The time now.
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;
};

/// The machine's steady clock; wall-clock changes do not move it. Lives for ever.
[[nodiscard]] const Clock& steady_clock() noexcept;

/// A clock that stands still until told: for tests, with `Options::threading = kManual`.
class ManualClock final : public Clock {
 public:
  /// Stands at `start`.
  explicit ManualClock(TimePoint start = TimePoint{}) noexcept : now_(start.time_since_epoch()) {}

  /// The time it was told last.
  [[nodiscard]] TimePoint now() const noexcept override {
    return TimePoint{now_.load(std::memory_order_acquire)};  // pairs with the stores below
  }

  /// Moves the clock forward. Returns the new time.
  TimePoint advance(Duration by) noexcept {
    const TimePoint next = deadline_after(now(), by);
    now_.store(next.time_since_epoch(), std::memory_order_release);  // pairs with now()
    return next;
  }

 private:
  std::atomic<Duration> now_;  // written by the test's thread, read by all
};

}  // namespace databuffer
