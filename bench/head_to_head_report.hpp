#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/contest.hpp"

namespace databuffer::bench {

/// One contender in one case, over all rounds.
struct Row {
  std::string shape;  ///< "2x1": producers × partitions.
  std::string item;
  std::size_t batch = 1;
  std::string contender;
  std::vector<double> rounds;  ///< M items/s, in the order they were run.
  double mean_batch = 0;       ///< Items a handler call.
  bool is_crowded = false;     ///< More threads than cores.

  [[nodiscard]] double mitems_per_s() const;
};

/// The median over the rounds of `row` / `other`, each taken in the same round.
[[nodiscard]] double ratio(const Row& row, const Row& other);

/// One line for each case: databuffer, then every alternative with databuffer's ratio to it.
[[nodiscard]] std::string format_table(const std::vector<Row>& rows);

/// A list of {"shape", "item", "batch", "contender", "mitems_per_s", "rounds"}.
[[nodiscard]] std::string format_json(const std::vector<Row>& rows);

/// Draws the rows through gnuplot into an SVG file: a panel for each kind of item and call.
/// Throws std::runtime_error if gnuplot fails.
void plot(const std::vector<Row>& rows, const std::string& path);

/// Throws std::runtime_error if there is no gnuplot.
void require_gnuplot();

}  // namespace databuffer::bench
