#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tools/tuning/findings.hpp"

namespace databuffer::tuning {

/// gnuplot is missing or failed. what() says which, and what to do.
class PlotError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class PlotFormat : std::uint8_t { kSvg, kPng };

/// Makes sure that there is a gnuplot. Throws      PlotError.
void check_gnuplot();

/// What gnuplot is told: throughput over partitions × max_size as a heat map, and the age of items
/// against throughput. It writes the picture to its standard output.
[[nodiscard]] std::string plot_script(const Findings& findings, PlotFormat format);

/// The picture, drawn by gnuplot. Throws      PlotError.
[[nodiscard]] std::string draw_plot(const Findings& findings, PlotFormat format);

}  // namespace databuffer::tuning
