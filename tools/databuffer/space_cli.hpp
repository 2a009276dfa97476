#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "tools/tuning/objective.hpp"
#include "tools/tuning/space.hpp"

namespace databuffer::tools {

/// "1,2,4", "100..20k" or both mixed: values and ranges, whose steps are geometric
/// (tuning::geometric_steps). Each value once, ascending.
/// Throws      BadQuantity for what is not that, or not within [min, max].
[[nodiscard]] std::vector<std::size_t> parse_counts(const std::string& text, std::size_t min,
                                                    std::size_t max);

/// As parse_counts, and "4x" is four times each max_size: "4x,16x,50k".
[[nodiscard]] std::vector<tuning::CapacityRule> parse_capacities(const std::string& text);

/// "adaptive,park". Throws      BadQuantity.
[[nodiscard]] std::vector<WaitStrategy> parse_waits(const std::string& text);

/// "throughput", … Throws      BadQuantity.
[[nodiscard]] tuning::Goal parse_goal(const std::string& text);

/// "1, 2, 4": how parse_counts reads it back, for a default shown to people.
[[nodiscard]] std::string counts_text(const std::vector<std::size_t>& counts);

}  // namespace databuffer::tools
