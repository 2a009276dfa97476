#pragma once

#include <string>

#include "databuffer/options.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/search.hpp"

namespace databuffer::tuning {

/// The options as C++ to paste, a declaration of `options`: the name, the candidate's values, and
/// every other value that is not the default, except those that are code (handlers, hooks, clock,
/// meta). It needs <databuffer/databuffer.hpp> and nothing else.
[[nodiscard]] std::string cpp_text(const Options& base, const Candidate& candidate);

/// The name that the command gives what it recommends, if the user gives none.
inline constexpr const char* kUsualName = "tuned";

/// The same as flags of `databuffer bench`, for a shell: "--partitions 4 --max-size 1000 …". What
/// has no flag is left out, and the name where it is kUsualName. (`databuffer ingest` has no
/// --retry-… .)
[[nodiscard]] std::string flags_text(const Options& base, const Candidate& candidate);

/// "Recommended: 1 partition, max_size 5000, capacity 20000, adaptive (the defaults)".
[[nodiscard]] std::string title_text(const SearchResult& result);

/// How much the winner wins over the defaults and how sure that is, or why these are kept.
[[nodiscard]] std::string win_text(const SearchResult& result);

/// How it compares with the runner-up, in a sentence; empty where there is none.
[[nodiscard]] std::string runner_up_text(const SearchResult& result);

}  // namespace databuffer::tuning
