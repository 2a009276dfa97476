#include "tools/tuning/heat_map.hpp"

#include <algorithm>

namespace databuffer::tuning {

namespace {

std::vector<std::size_t> sorted_values(const SearchResult& result, std::size_t Candidate::*field) {
  std::vector<std::size_t> values;
  for (const Entry& entry : result.entries) values.push_back(entry.candidate.*field);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::size_t position(const std::vector<std::size_t>& values, std::size_t value) {
  return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) -
                                  values.begin());
}

}  // namespace

HeatMap heat_map_of(const SearchResult& result) {
  HeatMap map;
  map.partitions = sorted_values(result, &Candidate::partitions);
  map.max_sizes = sorted_values(result, &Candidate::max_size);
  map.cells.assign(map.partitions.size(),
                   std::vector<std::optional<std::size_t>>(map.max_sizes.size()));
  for (std::size_t index = 0; index < result.entries.size(); ++index) {
    const Entry& entry = result.entries[index];
    if (entry.runs == 0) continue;
    std::optional<std::size_t>& cell =
        map.cells[position(map.partitions, entry.candidate.partitions)]
                 [position(map.max_sizes, entry.candidate.max_size)];
    const double speed = entry.measured.items_per_s;
    if (!cell.has_value() || speed > result.entries[*cell].measured.items_per_s) cell = index;
    map.highest = std::max(map.highest, speed);
  }
  return map;
}

bool has_point(const Entry& entry) {
  return entry.measured.age.p99 > 0 && entry.measured.items_per_s > 0;
}

}  // namespace databuffer::tuning
