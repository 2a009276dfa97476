// Goal: whatever is called in whatever order, a buffer does what a plain model of the contract
// says: answers, batches (items, order, size, reason, time), drops, ledger, size, dump, info.
// Method: one thread, an injected clock, random but seeded bytes that decide options, calls and
// what handlers do. The fuzzer (tests/fuzz) feeds the same function.

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "reference/scenario.hpp"
#include "support/sanitizers.hpp"
#include "support/text.hpp"

namespace {

constexpr std::uint32_t kScenarios = databuffer::support::kHasSanitizer ? 1500 : 6000;

std::vector<std::uint8_t> random_bytes(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(20 + random() % 600);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// What a scenario writes down of each thing that it does to a buffer, and of what comes of it.
constexpr const char* kDone[] = {
    "\ninsert 1 ",
    ") form 1: accepted",   // try_insert
    ") form 2: accepted",   // insert_keyed
    ") form 3: timed_out",  // a timeout that is over
    ": full",
    ": dropped",
    ": closed",
    ": an exception after",  // an item that cannot be weighed
    "\ninsert_batch of 150 form 0 ",
    " form 1 throws at ",  // a vector that gives its items
    " form 2 throws at ",  // a list
    " form 3 throws at ",  // a list that gives its items
    " form 4 throws at 0: an exception",
    " form 5 throws at 0: an exception",
    "\n  insert",  // by a handler
    "\nflush\n",
    "\n  flush\n",
    "\nsync_flush: done",
    "\nsync_flush: timed_out",
    "\nsync_flush: closed",
    "\n  sync_flush: reentrant",
    "\ndump\n",
    "\ntake\n",
    "\ninfo\n",
    "\nlisten: 1",
    "\nlisten: 0",
    "\nnext_deadline: ",
    "\nclose within 0\n  done",
    "\n  timed_out\n",  // close, after it has looked once
    "\n  close\n",
    "\ndestroyed\n",
    "\ndo_work at ",
    "\n  do_work\n",
    "\n  next at never",
    "\nthe clock moves by 3600000000000",
    ", size\n",
    ", interval\n",
    ", manual\n",
    ", close\n",
    ", attempt 6, ",
    "\n  ok again after",
    "\n  failed again after",
    "\n  failed by exception",
    "\n  retry again after 3600000000000",
    "\n  retry by exception",
    "\n  word by word",
    "\n  ok, taken",
    "\n  retry, taken",
};

}  // namespace

TEST_SUITE("reference model") {
  TEST_CASE("a scenario makes every kind of call, and handlers answer in every way") {
    std::ostringstream trace;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      CHECK(databuffer::reference::run_scenario(random_bytes(seed), &trace) == "");
    }
    for (const std::string done : kDone) {
      CAPTURE(done);
      CHECK(databuffer::support::contains(trace.str(), done));
    }
  }

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
