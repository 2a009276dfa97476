#include "tools/tuning/space.hpp"

#include <algorithm>
#include <cstdint>

namespace databuffer::tuning {

namespace {

// As in Options.
constexpr std::size_t kMaxPartitions = 1024;
constexpr std::size_t kMaxMaxSize = std::size_t{1} << 31U;
constexpr std::size_t kMaxCapacity = std::size_t{1} << 40U;

void check_range(const std::string& field, std::size_t value, std::size_t max) {
  if (value >= 1 && value <= max) return;
  throw SpaceError(
      field, field + " = " + std::to_string(value) + ": expected 1 to " + std::to_string(max));
}

template <class Value>
void check_given(const std::string& field, const std::vector<Value>& values) {
  if (values.empty()) throw SpaceError(field, field + ": expected one value or more");
}

std::string jitter_text(const Space& space) {
  return space.max_size_jitter == 0
             ? std::string()
             : " + max_size_jitter = " + std::to_string(space.max_size_jitter);
}

void check_capacity(const CapacityRule& rule, const Space& space) {
  check_range("capacity", rule.value, kMaxCapacity);
  if (!rule.is_factor) return;
  const std::size_t largest = *std::max_element(space.max_sizes.begin(), space.max_sizes.end());
  if (rule.value <= kMaxCapacity / (largest + space.max_size_jitter)) return;
  throw SpaceError("capacity", "capacity = " + std::to_string(rule.value) + "x: with max_size = " +
                                   std::to_string(largest) + jitter_text(space) +
                                   " that is more than " + std::to_string(kMaxCapacity));
}

void check(const Space& space) {
  check_given("partitions", space.partitions);
  check_given("max_size", space.max_sizes);
  check_given("capacity", space.capacities);
  check_given("wait_strategy", space.waits);
  for (const std::size_t value : space.partitions) check_range("partitions", value, kMaxPartitions);
  for (const std::size_t value : space.max_sizes) check_range("max_size", value, kMaxMaxSize);
  if (space.max_size_jitter > kMaxMaxSize) {
    throw SpaceError("max_size_jitter",
                     "max_size_jitter = " + std::to_string(space.max_size_jitter) +
                         ": expected 0 to " + std::to_string(kMaxMaxSize));
  }
  for (const CapacityRule& rule : space.capacities) check_capacity(rule, space);

  std::size_t count = 1;
  for (const std::size_t values : {space.partitions.size(), space.max_sizes.size(),
                                   space.capacities.size(), space.waits.size()}) {
    count = values > kMaxCandidates / count ? kMaxCandidates + 1 : count * values;
    if (count <= kMaxCandidates) continue;
    throw SpaceError("max_size", "max_size and the others: more than " +
                                     std::to_string(kMaxCandidates) + " combinations");
  }
}

}  // namespace

Space default_space(std::size_t cores) {
  constexpr std::size_t kLeast = 8;
  constexpr std::size_t kMost = 64;
  Space space;
  for (std::size_t count = 1; count <= std::clamp(2 * cores, kLeast, kMost); count *= 2) {
    space.partitions.push_back(count);
  }
  space.max_sizes = geometric_steps(100, 20'000);
  space.capacities = {CapacityRule{}};
  space.waits = {WaitStrategy::kAdaptive};
  return space;
}

std::vector<std::size_t> geometric_steps(std::size_t first, std::size_t last) {
  std::vector<std::size_t> steps{first};
  for (std::size_t decade = 1; decade <= last; decade *= 10) {
    for (const std::size_t factor : {1UL, 2UL, 5UL}) {
      if (decade > last / factor) break;
      const std::size_t step = factor * decade;
      if (step > first && step < last) steps.push_back(step);
    }
    if (decade > last / 10) break;  // the next one may not fit its type
  }
  if (last != first) steps.push_back(last);
  return steps;
}

Candidate default_candidate(const Options& base) {
  return {.partitions = base.partitions,
          .max_size = base.max_size,
          .capacity = base.effective_capacity(),
          .wait = base.wait_strategy};
}

std::vector<Candidate> candidates_of(const Space& space, std::size_t* left_out) {
  check(space);
  std::size_t below = 0;
  std::vector<Candidate> candidates;
  for (const WaitStrategy wait : space.waits) {
    for (const CapacityRule& rule : space.capacities) {
      for (const std::size_t partitions : space.partitions) {
        for (const std::size_t max_size : space.max_sizes) {
          const std::size_t largest_batch = max_size + space.max_size_jitter;
          const Candidate candidate{partitions, max_size, rule.items(largest_batch), wait};
          if (candidate.capacity < largest_batch) {
            ++below;
          } else if (std::find(candidates.begin(), candidates.end(), candidate) ==
                     candidates.end()) {
            candidates.push_back(candidate);
          }
        }
      }
    }
  }
  if (candidates.empty()) {
    const std::size_t least =
        *std::min_element(space.max_sizes.begin(), space.max_sizes.end()) + space.max_size_jitter;
    std::size_t most = 0;
    for (const CapacityRule& rule : space.capacities) most = std::max(most, rule.items(least));
    throw SpaceError("capacity", "capacity = " + std::to_string(most) + ": expected " +
                                     std::to_string(least) +
                                     " or more: it may not be below max_size" + jitter_text(space));
  }
  if (left_out != nullptr) *left_out = below;
  return candidates;
}

}  // namespace databuffer::tuning
