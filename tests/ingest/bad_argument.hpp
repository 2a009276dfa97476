#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ingest/child.hpp"

namespace databuffer::ingest_tests {

using Words = std::vector<std::string>;

struct BadArgument {
  const char* flag;
  const char* value;
  const char* expected;  ///< A part of the accepted range or form.
};

/// Checks that the command `words` is refused because of `bad`, which is in it: flag, value and
/// what is accepted are named, and nothing is done.
inline void check_refused(const Words& words, const BadArgument& bad) {
  CAPTURE(bad.flag);
  CAPTURE(bad.value);
  const Outcome outcome = run(words);
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, std::string(bad.flag) + ": '" + bad.value + "'"));
  CHECK(contains(outcome.err, bad.expected));
}

}  // namespace databuffer::ingest_tests
