#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace examples {

/// Ends the program with exit code 1 and the reason on stderr, unless `fact` holds.
inline void require(bool fact, std::string_view what) {
  if (fact) return;
  std::cerr << "not so: " << what << '\n';
  std::exit(EXIT_FAILURE);
}

}  // namespace examples
