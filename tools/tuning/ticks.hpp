#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "databuffer/clock.hpp"

namespace databuffer::tuning {

/// The cheapest clock there is, for what takes some nanoseconds: the processor's time-stamp counter
/// where that is steady, else the steady clock. Reading it is not ordered with what stands before
/// and after, so one short length is a few nanoseconds off.
class Ticks {
 public:
  [[nodiscard]] static std::int64_t now() noexcept {
#if defined(__x86_64__)
    if (has_counter()) return static_cast<std::int64_t>(__rdtsc());
#endif
    return steady_clock().now().time_since_epoch().count();
  }

  /// What lies between two readings, less what reading costs; never negative.
  [[nodiscard]] static Duration between(std::int64_t first, std::int64_t last) noexcept;

  /// Two readings with nothing in between: the median.
  [[nodiscard]] static Duration cost() noexcept;

  /// The smallest length that it can tell from none.
  [[nodiscard]] static Duration step() noexcept;

  /// Measures length and cost of a tick, once for the process, which takes 20 ms: not in the middle
  /// of something else.
  static void calibrate() noexcept { static_cast<void>(calibration()); }

 private:
  struct Calibration {
    double ns_per_tick = 1;
    std::int64_t cost_ticks = 0;
    std::int64_t step_ticks = 1;
  };
  [[nodiscard]] static const Calibration& calibration() noexcept;
  [[nodiscard]] static Calibration measure() noexcept;
#if defined(__x86_64__)
  [[nodiscard]] static bool has_counter() noexcept { return kHasCounter; }
  static const bool kHasCounter;
#endif
};

}  // namespace databuffer::tuning
