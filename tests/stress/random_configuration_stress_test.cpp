// Goal: whatever the options, the callers and the handler do, and whatever goes wrong, every item
// taken has exactly one end, in order, and the ledger says which.
// Method: rounds of a buffer with random options, callers and faults (random_round.hpp). Items know
// their producer and number, so each can be followed. tools/soak runs the same for longer.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <utility>

#include "stress/random.hpp"
#include "stress/random_round.hpp"
#include "stress/random_setting.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::stress::Random;
using databuffer::stress::Round;
using databuffer::stress::Setting;

}  // namespace

TEST_SUITE("random configuration") {
  TEST_CASE("every item has exactly one end, in order, and the ledger is exact") {
    Random random = databuffer::stress::printed_random();
    const databuffer::stress::Budget budget(3s);
    std::size_t rounds = 0;
    do {
      Setting setting = databuffer::stress::random_setting(random, false);
      CAPTURE(databuffer::stress::describe(setting));
      Round round(std::move(setting), random);
      REQUIRE(round.run(random) == "");
      ++rounds;
    } while (budget.is_left());
    MESSAGE(rounds << " rounds");
  }
}
