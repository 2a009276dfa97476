// libFuzzer target: the bytes decide the options of a buffer, the calls of it, and what its handler
// does; a plain model of the contract says what must come of it (tests/reference).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "reference/scenario.hpp"

// libFuzzer's name, not ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {  // NOLINT
  const std::span bytes(data, size);
  const std::string wrong = databuffer::reference::run_scenario(bytes);
  if (wrong.empty()) return 0;
  static_cast<void>(databuffer::reference::run_scenario(bytes, &std::cerr));
  std::cerr << wrong << "\n";
  std::abort();
}
