// Goal: whatever is called in whatever order, a buffer does what a plain model of the contract
// says: answers, batches (items, order, size, reason, time), drops, ledger, size, dump, info.
// Method: one thread, an injected clock, random but seeded bytes that decide options, calls and
// what handlers do. The fuzzer (tests/fuzz) feeds the same function.

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <sstream>
#include <vector>

#include "reference/scenario.hpp"
#include "support/sanitizers.hpp"

namespace {

constexpr std::uint32_t kScenarios = databuffer::support::kHasSanitizer ? 1500 : 6000;

std::vector<std::uint8_t> random_bytes(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(20 + random() % 600);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

}  // namespace

TEST_SUITE("reference model") {
  TEST_CASE("random calls are answered as the model of the contract says") {
    for (std::uint32_t seed = 0; seed < kScenarios; ++seed) {
      const std::vector<std::uint8_t> bytes = random_bytes(seed);
      const std::string wrong = databuffer::reference::run_scenario(bytes);
      if (wrong.empty()) continue;
      std::ostringstream trace;
      static_cast<void>(databuffer::reference::run_scenario(bytes, &trace));
      FAIL("seed " << seed << ":\n" << trace.str() << wrong);
    }
  }
}
