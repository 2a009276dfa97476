#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "databuffer/options.hpp"
#include "tools/tuning/diagnosis.hpp"
#include "tools/tuning/objective.hpp"
#include "tools/tuning/search.hpp"
#include "tools/tuning/workload.hpp"

namespace databuffer::tuning {

/// What a search found and how it was asked, for those who show it.
struct Findings {
  SearchResult result;  ///< With a winner.
  Objective objective;
  Duration budget{};
  std::uint64_t seed = 1;
  Options base;                 ///< What the buffers were given beside the candidates' values.
  Circumstances circumstances;  ///< Under which it was measured.
  std::string workload;         ///< In words: "2 producers, items of 8 bytes, …".
  std::size_t left_out = 0;     ///< Combinations whose capacity is below their largest batch.

  [[nodiscard]] Diagnosis diagnosis() const {
    return diagnose(result.winner_measured, result.winner().candidate, circumstances);
  }
};

/// All of it, from what the search was given. `workload` is what its Measure runs, `base` the
/// options of its buffers. (Only of what was left out of a grid it knows nothing.)
[[nodiscard]] Findings findings_of(SearchResult result, const SearchSettings& settings,
                                   const Workload& workload, Options base);

}  // namespace databuffer::tuning
