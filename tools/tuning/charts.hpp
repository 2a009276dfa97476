#pragma once

#include <string>
#include <string_view>

#include "tools/tuning/search.hpp"

namespace databuffer::tuning {

/// Charts as SVG elements for an HTML page. Their colours are the page's: they use its CSS
/// variables
/// --accent, --text, --muted, --line, --best and --default, so that they follow it into the dark.

/// Throughput over partitions × max_size.
[[nodiscard]] std::string heat_map_svg(const SearchResult& result);

/// Age of items (p99, logarithmic) against throughput; a point for each candidate.
[[nodiscard]] std::string scatter_svg(const SearchResult& result);

/// An interval of a score on a scale from 0 to 1.1, as a bar with whiskers.
[[nodiscard]] std::string score_svg(const Entry& entry);

/// `text` with what HTML reserves written as it wants it, and as valid_utf8().
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace databuffer::tuning
