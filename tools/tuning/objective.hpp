#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tools/tuning/measurement.hpp"

namespace databuffer::tuning {

/// What is to be as good as possible.
enum class Goal : std::uint8_t { kThroughput, kLatency, kMemory, kBalanced };

[[nodiscard]] std::string_view to_string(Goal goal) noexcept;

/// What is wanted of a configuration: a goal, and what it must not cost.
struct Objective {
  Goal goal = Goal::kThroughput;
  double max_p99 = std::numeric_limits<double>::infinity();     ///< Seconds: p99 of the items' age.
  double max_memory = std::numeric_limits<double>::infinity();  ///< Bytes: Measurement::peak_bytes.
};

/// How good a measurement is, more than 0, larger is better; only ratios mean something:
///
///     score = throughput^a × (1 / age)^b × (1 / memory)^c
///
///                 a     b     c     in words
///     throughput  1     0     0     nothing else counts
///     latency    1/4   3/4    0     half the age is worth 7/8 of the throughput, no more
///     memory     1/4    0    3/4    the same for memory
///     balanced   1/2   1/4   1/4    twice the throughput is worth four times the age or memory
///
/// throughput is items_per_s, age the p99 of the items' age at the handler (which has the wait for
/// room in it, so a producer held up counts too), memory is peak_bytes. Powers and not sums, so
/// that no unit has to be weighed against another. Age below 1 µs and memory below 1 MiB count as
/// that much: less is noise of the clock and the allocator.
[[nodiscard]] double score_of(const Measurement& measurement, Goal goal);

/// By what factor the worst of the limits is exceeded; at most 1 is allowed. Infinite where nothing
/// was flushed: such a run shows neither throughput nor age.
[[nodiscard]] double excess_of(const Measurement& measurement, const Objective& objective);

}  // namespace databuffer::tuning
