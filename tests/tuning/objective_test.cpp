// Scores and limits: pure functions of a measurement.

#include "tools/tuning/objective.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace databuffer::tuning_tests {
namespace {

using namespace tuning;

Measurement measured(double items_per_s, double age_p99, double megabytes) {
  Measurement measurement;
  measurement.items_per_s = items_per_s;
  measurement.flushed = static_cast<std::uint64_t>(items_per_s);
  measurement.age.p99 = age_p99;
  measurement.peak_bytes = static_cast<std::uint64_t>(megabytes * 1024 * 1024);
  return measurement;
}

// By what factor the second scores better.
double gain(Goal goal, const Measurement& first, const Measurement& second) {
  return score_of(second, goal) / score_of(first, goal);
}

TEST_SUITE("objective") {
  TEST_CASE("throughput counts nothing else") {
    CHECK(gain(Goal::kThroughput, measured(1e6, 1, 10), measured(2e6, 9, 90)) ==
          doctest::Approx(2));
  }

  TEST_CASE("latency: half the age is worth 7/8 of the throughput, no more") {
    CHECK(gain(Goal::kLatency, measured(8e6, 1, 1), measured(1e6, 0.5, 99)) == doctest::Approx(1));
    CHECK(gain(Goal::kLatency, measured(1e6, 1, 1), measured(1e6, 0.5, 1)) > 1);
  }

  TEST_CASE("memory: half the memory is worth 7/8 of the throughput, no more") {
    CHECK(gain(Goal::kMemory, measured(8e6, 1, 64), measured(1e6, 9, 32)) == doctest::Approx(1));
    CHECK(gain(Goal::kMemory, measured(1e6, 1, 64), measured(1e6, 1, 32)) > 1);
  }

  TEST_CASE("balanced: twice the throughput is worth four times the age, or the memory") {
    CHECK(gain(Goal::kBalanced, measured(1e6, 1, 8), measured(2e6, 4, 8)) == doctest::Approx(1));
    CHECK(gain(Goal::kBalanced, measured(1e6, 1, 8), measured(2e6, 1, 32)) == doctest::Approx(1));
  }

  TEST_CASE("below 1 µs and 1 MiB nothing more is to be gained, and a score is a number over 0") {
    CHECK(gain(Goal::kLatency, measured(1e6, 1e-6, 1), measured(1e6, 1e-9, 1)) == 1);
    CHECK(gain(Goal::kMemory, measured(1e6, 1, 1), measured(1e6, 1, 0)) == 1);
    for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kMemory, Goal::kBalanced}) {
      CHECK(score_of({}, goal) > 0);
      const double nan = std::numeric_limits<double>::quiet_NaN();
      CHECK(score_of(measured(1, nan, 1), goal) > 0);
      CHECK(std::isfinite(std::log(score_of({}, goal))));
    }
  }

  TEST_CASE("the excess is that of the limit most exceeded, and 1 is still allowed") {
    const Objective limits{.goal = Goal::kThroughput, .max_p99 = 0.01, .max_memory = 1 << 20};
    CHECK(excess_of(measured(1e6, 0.01, 1), limits) == doctest::Approx(1));
    CHECK(excess_of(measured(1e6, 0.03, 2), limits) == doctest::Approx(3));
    CHECK(excess_of(measured(1e6, 0.001, 5), limits) == doctest::Approx(5));
    CHECK(excess_of(measured(1e6, 1e9, 1e6), Objective{}) == 0);
  }

  TEST_CASE("a run in which nothing was flushed is within no limits") {
    CHECK(std::isinf(excess_of({}, Objective{})));
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
