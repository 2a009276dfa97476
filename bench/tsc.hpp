#pragma once

#include <benchmark/benchmark.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/statistics.hpp"

// Time in ticks of the processor's time-stamp counter, which this needs to be invariant and in step
// on all cores (constant_tsc, nonstop_tsc in /proc/cpuinfo).
namespace databuffer::bench {

/// Not serialising: what stands before and after may overlap it by a few ticks. So single deltas
/// are blurred, but a chain of them adds up exactly.
[[nodiscard]] inline std::int64_t ticks() noexcept { return static_cast<std::int64_t>(__rdtsc()); }

/// Measured once, against the steady clock.
[[nodiscard]] inline double ns_per_tick() {
  static const double measured = [] {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    const std::int64_t first = ticks();
    while (Clock::now() - began < std::chrono::milliseconds(20)) {
    }
    const std::int64_t last = ticks();
    const std::chrono::duration<double, std::nano> took = Clock::now() - began;
    return took.count() / static_cast<double>(last - first);
  }();
  return measured;
}

/// What reading the counter twice with nothing between costs: the median.
[[nodiscard]] inline std::int64_t timer_ticks() {
  static const std::int64_t measured = [] {
    std::vector<std::int64_t> deltas(10'000);
    std::int64_t before = ticks();
    for (std::int64_t& delta : deltas) {
      const std::int64_t now = ticks();
      delta = now - before;
      before = now;
    }
    return quantile(std::move(deltas), 0.5);
  }();
  return measured;
}

/// Latencies in ticks. Records up to a fixed number, so that recording allocates nothing.
class Latencies {
 public:
  static constexpr std::size_t kMaxSamples = 4'000'000;

  explicit Latencies(std::size_t max_samples = kMaxSamples) { samples_.reserve(max_samples); }

  void record(std::int64_t delta) noexcept {
    if (samples_.size() < samples_.capacity()) samples_.push_back(delta);
  }
  void append(const Latencies& other) {
    samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
  }
  [[nodiscard]] std::size_t size() const noexcept { return samples_.size(); }

  /// Adds p50, p99, p99.9, max and the number of samples to the benchmark, in ns, less the cost of
  /// the timer where the samples are calls timed back to back.
  void report(benchmark::State& state, const std::string& prefix, std::int64_t overhead = 0) const {
    if (samples_.empty()) {
      state.SkipWithError("no latency was recorded");
      return;
    }
    const auto ns = [&](double share) {
      const std::int64_t sample = quantile(samples_, share) - overhead;
      return static_cast<double>(std::max<std::int64_t>(sample, 0)) * ns_per_tick();
    };
    state.counters[prefix + "p50_ns"] = ns(0.5);
    state.counters[prefix + "p99_ns"] = ns(0.99);
    state.counters[prefix + "p99.9_ns"] = ns(0.999);
    state.counters[prefix + "max_ns"] = ns(1);
    state.counters[prefix + "samples"] = static_cast<double>(samples_.size());
  }

 private:
  std::vector<std::int64_t> samples_;
};

}  // namespace databuffer::bench
