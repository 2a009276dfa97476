// Giving memory back.
//
// Goal: shrink() frees what a burst needed and changes nothing else.
// Method: one thread; items that are pending, staged, or none at all at the moment of the exchange.
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace {

using namespace databuffer;
using namespace std::chrono_literals;

TEST_SUITE("shrink") {
  TEST_CASE("pending items survive, in order, and inserts go on") {
    ManualClock clock;
    std::vector<int> delivered;
    Buffer<int> buffer({.name = "s",
                        .partitions = 1,
                        .max_size = 100'000,
                        .threading = Threading::kManual,
                        .clock = &clock},
                       [&](std::span<int> batch) {
                         delivered.insert(delivered.end(), batch.begin(), batch.end());
                       });
    for (int value = 0; value < 10'000; ++value)
      REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
    buffer.shrink();
    CHECK(buffer.size() == 10'000);
    for (int value = 10'000; value < 20'000; ++value)
      REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
    buffer.shrink();
    buffer.shrink();
    buffer.sync_flush(10s);
    std::vector<int> expected(20'000);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(delivered == expected);
    CHECK(buffer.ledger().balances());
    buffer.shrink();
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.size() == 1);
  }

  TEST_CASE("auto_shrink exchanges the queue when a burst has drained, and nothing is lost") {
    ManualClock clock;
    std::size_t delivered = 0;
    Buffer<int> buffer({.name = "s",
                        .max_size = 10,
                        .capacity = 1000,
                        .auto_shrink = true,
                        .threading = Threading::kManual,
                        .clock = &clock},
                       [&](std::span<int> batch) { delivered += batch.size(); });
    for (int round = 0; round < 3; ++round) {
      for (int value = 0; value < 500; ++value)
        REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
      while (buffer.do_work(clock.now()) <= clock.now()) {
      }
    }
    CHECK(delivered == 1500);
    CHECK(buffer.ledger().balances());
  }
}

}  // namespace
