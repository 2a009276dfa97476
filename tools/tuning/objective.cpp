#include "tools/tuning/objective.hpp"

#include <algorithm>
#include <cmath>

namespace databuffer::tuning {

namespace {

struct Weights {
  double throughput;
  double age;
  double memory;
};

Weights weights_of(Goal goal) {
  switch (goal) {
    case Goal::kThroughput:
      return {1, 0, 0};
    case Goal::kLatency:
      return {0.25, 0.75, 0};
    case Goal::kMemory:
      return {0.25, 0, 0.75};
    case Goal::kBalanced:
      return {0.5, 0.25, 0.25};
  }
  return {1, 0, 0};
}

constexpr double kLeastThroughput = 1e-9;  // so that a score is never 0 and has a logarithm
constexpr double kLeastAge = 1e-6;
constexpr double kLeastMemory = 1024.0 * 1024.0;

// NaN, which a Measure of a user's may give, counts as the least, too.
double at_least(double least, double value) { return value > least ? value : least; }

}  // namespace

std::string_view to_string(Goal goal) noexcept {
  switch (goal) {
    case Goal::kThroughput:
      return "throughput";
    case Goal::kLatency:
      return "latency";
    case Goal::kMemory:
      return "memory";
    case Goal::kBalanced:
      return "balanced";
  }
  return "?";
}

double score_of(const Measurement& measurement, Goal goal) {
  const Weights weights = weights_of(goal);
  const double throughput = at_least(kLeastThroughput, measurement.items_per_s);
  const double age = at_least(kLeastAge, measurement.age.p99);
  const double memory = at_least(kLeastMemory, static_cast<double>(measurement.peak_bytes));
  return std::pow(throughput, weights.throughput) * std::pow(age, -weights.age) *
         std::pow(memory, -weights.memory);
}

double excess_of(const Measurement& measurement, const Objective& objective) {
  if (measurement.flushed == 0) return std::numeric_limits<double>::infinity();
  const double age = measurement.age.p99 / objective.max_p99;
  const double memory = static_cast<double>(measurement.peak_bytes) / objective.max_memory;
  return std::max(age, memory);
}

}  // namespace databuffer::tuning
