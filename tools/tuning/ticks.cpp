#include "tools/tuning/ticks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace databuffer::tuning {

#if defined(__x86_64__)
namespace {

// "Invariant TSC": it runs at one speed on all cores, whatever the core's own speed and sleep.
bool is_counter_steady() noexcept {
  constexpr unsigned kLeaf = 0x80000007;
  constexpr unsigned kInvariant = 1U << 8U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kLeaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
}

}  // namespace

const bool Ticks::kHasCounter = is_counter_steady();
#endif

Ticks::Calibration Ticks::measure() noexcept {
  constexpr Duration kLength = std::chrono::milliseconds{20};
  Calibration calibration;
  const TimePoint began = steady_clock().now();
  const std::int64_t first = now();
  while (steady_clock().now() - began < kLength) {
  }
  const std::int64_t last = now();
  const Duration took = steady_clock().now() - began;
  if (last > first) {
    calibration.ns_per_tick = static_cast<double>(took.count()) / static_cast<double>(last - first);
  }
  std::array<std::int64_t, 1001> costs{};
  std::int64_t before = now();
  for (std::int64_t& cost : costs) {
    const std::int64_t after = now();
    cost = after - before;
    before = after;
  }
  // Some counters go in steps. Lengths are whole steps, so the differences between them are, too.
  std::int64_t step = 0;
  for (const std::int64_t cost : costs) step = std::gcd(step, cost);
  calibration.step_ticks = std::max<std::int64_t>(1, step);
  std::nth_element(costs.begin(), costs.begin() + costs.size() / 2, costs.end());
  calibration.cost_ticks = costs[costs.size() / 2];
  return calibration;
}

const Ticks::Calibration& Ticks::calibration() noexcept {
  static const Calibration measured = measure();
  return measured;
}

Duration Ticks::between(std::int64_t first, std::int64_t last) noexcept {
  const Calibration& known = calibration();
  const auto ticks =
      static_cast<double>(std::max<std::int64_t>(0, last - first - known.cost_ticks));
  return Duration(static_cast<Duration::rep>(ticks * known.ns_per_tick));
}

Duration Ticks::step() noexcept {
  const Calibration& known = calibration();
  const double exact = static_cast<double>(known.step_ticks) * known.ns_per_tick;
  return Duration(static_cast<Duration::rep>(std::ceil(exact)));
}

Duration Ticks::cost() noexcept {
  const Calibration& known = calibration();
  return Duration(
      static_cast<Duration::rep>(static_cast<double>(known.cost_ticks) * known.ns_per_tick));
}

}  // namespace databuffer::tuning
