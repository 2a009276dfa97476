#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tools/tuning/search.hpp"

namespace databuffer::tuning {

/// Throughput over partitions × max_size: of the candidates that share both, the fastest.
struct HeatMap {
  std::vector<std::size_t> partitions;  ///< Rows, ascending.
  std::vector<std::size_t> max_sizes;   ///< Columns, ascending.
  /// By row and column: an index of SearchResult::entries; none where no candidate was run.
  std::vector<std::vector<std::optional<std::size_t>>> cells;
  double highest = 0;  ///< Items per second in any of them.
};

[[nodiscard]] HeatMap heat_map_of(const SearchResult& result);

/// Whether it has a place in a chart of ages against throughputs, which has a logarithmic axis: not
/// where nothing was flushed.
[[nodiscard]] bool has_point(const Entry& entry);

}  // namespace databuffer::tuning
