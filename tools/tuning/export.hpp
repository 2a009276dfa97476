#pragma once

#include <string>

#include "tools/tuning/findings.hpp"

namespace databuffer::tuning {

/// One JSON object, with a newline behind it. Durations in seconds; what is not finite is null.
[[nodiscard]] std::string to_json(const Findings& findings);

/// A line of headings, and a line for each candidate, the winner first (RFC 4180, lines end in \n).
[[nodiscard]] std::string to_csv(const SearchResult& result);

}  // namespace databuffer::tuning
