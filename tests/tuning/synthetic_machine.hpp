#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "databuffer/clock.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/search.hpp"

namespace databuffer::tuning_tests {

using tuning::Candidate;
using tuning::Measurement;

/// A machine that is not there: what a candidate would show on it is a function, to which come
/// noise and a drift over time, both made from a seed; running takes no time but the manual
/// clock's.
class SyntheticMachine {
 public:
  /// Items per second without noise; the other fields may be set, too.
  using Truth = std::function<Measurement(const Candidate&)>;

  struct Settings {
    double noise = 0;  ///< Standard deviation of the logarithm of a run's speed: 0.1 is 10 %.
    double drift = 1;  ///< Speed at the end of `drift_over`, by that at the start; steady.
    Duration drift_over = std::chrono::seconds{60};
    Duration overhead{};  ///< What each run takes longer than asked for.
    std::uint64_t seed = 1;
    /// How often each partition flushes: runs have so many batches. Null: they have enough.
    std::function<Duration(const Candidate&)> flushes_every{};
  };

  SyntheticMachine(Truth truth, Settings settings)
      : truth_(std::move(truth)), settings_(std::move(settings)), random_(settings_.seed) {}

  [[nodiscard]] tuning::Measure measure() {
    return [this](const Candidate& candidate, Duration duration) {
      const double elapsed = std::chrono::duration<double>(clock_.now() - started_).count();
      const double over = std::chrono::duration<double>(settings_.drift_over).count();
      const double speed = std::pow(settings_.drift, elapsed / over) *
                           std::exp(settings_.noise * std::normal_distribution<double>{}(random_));
      clock_.advance(duration + settings_.overhead);
      runs_.push_back({candidate, duration});
      Measurement measured = truth_(candidate);
      measured.seconds = std::chrono::duration<double>(duration).count();
      measured.items_per_s *= speed;
      measured.age.p99 /= speed;
      measured.flushed = static_cast<std::uint64_t>(measured.items_per_s * measured.seconds);
      measured.batches = 100;
      if (settings_.flushes_every) {
        measured.batches =
            candidate.partitions *
            static_cast<std::uint64_t>(duration / settings_.flushes_every(candidate));
      }
      return measured;
    };
  }

  struct Run {
    Candidate candidate;
    Duration duration;
  };

  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] Duration elapsed() const noexcept { return clock_.now() - started_; }
  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }
  [[nodiscard]] std::size_t runs_of(const Candidate& candidate) const {
    std::size_t count = 0;
    for (const Run& run : runs_) {
      if (run.candidate == candidate) ++count;
    }
    return count;
  }
  [[nodiscard]] double truth_of(const Candidate& candidate) const {
    return truth_(candidate).items_per_s;
  }

 private:
  Truth truth_;
  Settings settings_;
  std::mt19937_64 random_;
  ManualClock clock_{TimePoint{} + std::chrono::hours{1}};
  const TimePoint started_ = clock_.now();
  std::vector<Run> runs_;
};

/// A sink that waits 2 ms a batch and 1 µs an item, on a machine of two cores.
inline Measurement waiting_sink(const Candidate& candidate) {
  const auto batch = static_cast<double>(candidate.max_size);
  Measurement measured;
  measured.items_per_s = static_cast<double>(candidate.partitions) * batch / (0.002 + batch * 1e-6);
  measured.age.p99 =
      static_cast<double>(candidate.partitions * candidate.capacity) / measured.items_per_s;
  measured.peak_bytes = candidate.partitions * candidate.capacity * 100;
  return measured;
}

/// Nothing differs.
inline Measurement flat(const Candidate& /*candidate*/) {
  Measurement measured;
  measured.items_per_s = 1e6;
  measured.age.p99 = 0.001;
  return measured;
}

/// All within 2 %.
inline Measurement plateau(const Candidate& candidate) {
  Measurement measured;
  measured.items_per_s = 1e6 * (1 + 0.02 * static_cast<double>(candidate.max_size % 7) / 7);
  return measured;
}

inline tuning::SearchSettings settings_for(const SyntheticMachine& machine,
                                           Duration budget = std::chrono::seconds{60}) {
  tuning::SearchSettings settings;
  settings.budget = budget;
  settings.clock = &machine.clock();
  return settings;
}

}  // namespace databuffer::tuning_tests
