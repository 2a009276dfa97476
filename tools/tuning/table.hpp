#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/tuning/findings.hpp"

namespace databuffer::tuning {

/// A line for each candidate, the winner first, with a bar as long as its score.
[[nodiscard]] std::string table_text(const SearchResult& result);

/// All of it for people: the table, the recommendation, how much it wins and how sure that is, and
/// what limits.
[[nodiscard]] std::string findings_text(const Findings& findings);

/// Why a candidate is not the winner, in a word or two: "behind, round 3"; "default".
[[nodiscard]] std::string note_text(const SearchResult& result, std::size_t entry);

/// What there is to warn of: a stop, limits not kept, candidates not run. A sentence each.
[[nodiscard]] std::vector<std::string> warnings(const Findings& findings);

}  // namespace databuffer::tuning
