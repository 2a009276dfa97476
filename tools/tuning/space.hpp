#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "databuffer/options.hpp"
#include "tools/tuning/measurement.hpp"

namespace databuffer::tuning {

/// A space that cannot be searched. what() names the field, its value and the limit.
class SpaceError : public std::invalid_argument {
 public:
  SpaceError(std::string field, const std::string& message)
      : std::invalid_argument(message), field_(std::move(field)) {}

  /// The name of the option at fault: "capacity".
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  std::string field_;
};

/// A capacity to try: so many items, or so many times the candidate's largest batch.
struct CapacityRule {
  std::size_t value = 4;
  bool is_factor = true;

  [[nodiscard]] std::size_t items(std::size_t largest_batch) const noexcept {
    return is_factor ? value * largest_batch : value;
  }
  friend bool operator==(const CapacityRule&, const CapacityRule&) = default;
};

/// What is to be tried: every combination of these. The limits are those of Options.
struct Space {
  std::vector<std::size_t> partitions;
  std::vector<std::size_t> max_sizes;
  std::vector<CapacityRule> capacities;
  std::vector<WaitStrategy> waits;
  /// That of the buffers' options: a candidate's largest batch is its max_size and this.
  std::size_t max_size_jitter = 0;
};

/// The most combinations that a space may have.
inline constexpr std::size_t kMaxCandidates = 10'000;

/// What is worth trying on a machine with so many cores: partitions 1, 2, 4, … up to twice the
/// cores but at least 8 (handlers that wait need more consumers than cores) and at most 64;
/// max_size 100 … 20,000; capacity 4 × max_size, its default; adaptive waiting.
[[nodiscard]] Space default_space(std::size_t cores);

/// `first`, every 1, 2 and 5 × 10^n between, and `last`: geometric steps, in round numbers.
/// Requires    0 < first <= last.
[[nodiscard]] std::vector<std::size_t> geometric_steps(std::size_t first, std::size_t last);

/// What a buffer of these options gets if nothing is tuned: of Options{} its defaults.
[[nodiscard]] Candidate default_candidate(const Options& base = {});

/// Every combination of the space that a buffer accepts, each once, in a fixed order.
///
/// A combination whose capacity is below its largest batch is left out, and counted in `left_out`
/// where that is given: of the space `max_size 100, 10000 × capacity 5000` one is left.
/// Throws      SpaceError if a field has no value, or one outside the limits of Options; if there
///             are more than kMaxCandidates; and if every combination is left out.
[[nodiscard]] std::vector<Candidate> candidates_of(const Space& space,
                                                   std::size_t* left_out = nullptr);

}  // namespace databuffer::tuning
