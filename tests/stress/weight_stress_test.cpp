// Goal: limits by weight block nobody for ever.
// Method: producers of light and heavy items against a capacity that a heavy item nearly fills. A
// flush is due by nothing but the demand of those who wait: the interval is an hour, and what waits
// is too light to trip.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::Random;

Options weighed(std::size_t max_bytes, std::size_t capacity_bytes) {
  Options options{.name = "weighed", .flush_interval = 1h};
  options.max_bytes = max_bytes;
  options.capacity_bytes = capacity_bytes;
  options.insert_timeout = databuffer::kForever;
  options.weigh = [](const std::size_t& item) { return item; };
  return options;
}

}  // namespace

TEST_SUITE("weight") {
  TEST_CASE("heavy items get in among light ones, with nothing else to start a flush") {
    Random random = databuffer::stress::printed_random();
    for (const std::size_t partitions : {1U, 3U}) {
      const Budget budget(1s);
      std::atomic<std::uint64_t> inserted{0};
      std::atomic<std::uint64_t> handled{0};
      Options options = weighed(10, 100);
      options.partitions = partitions;
      Buffer<std::size_t> buffer(std::move(options), [&](std::span<std::size_t> batch) {
        for (const std::size_t weight : batch) handled += weight;
      });
      Crew crew;
      for (std::size_t producer = 0; producer < 6; ++producer) {
        crew.add([&, seed = random.seed()] {
          Random own(seed);
          while (budget.is_left()) {
            const std::size_t weight = own.pick<std::size_t>({1, 1, 3, 9, 95, 100, 1000});
            if (buffer.insert(weight) == InsertStatus::kAccepted) inserted += weight;
          }
        });
      }
      crew.join();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(handled == inserted);
      CHECK(buffer.ledger().balances());
      MESSAGE(buffer.ledger().accepted << " items");
    }
  }

  TEST_CASE("one heavy item that waits has as many batches made as it takes") {
    Buffer<std::size_t> buffer(weighed(10, 100), [](std::span<std::size_t>) {});
    // 9 stay behind when batches of 10 have left: too light to be due, too heavy to leave room.
    for (int round = 0; round < 200; ++round) {
      for (int item = 0; item < 33; ++item) REQUIRE(buffer.insert(3) == InsertStatus::kAccepted);
      REQUIRE(buffer.insert(95) == InsertStatus::kAccepted);
    }
    CHECK(buffer.sync_flush()[0].status == CallStatus::kDone);
  }

  TEST_CASE("a weigher that throws refuses a single item, with the exception") {
    Options options = weighed(10, 100);
    options.weigh = [](const std::size_t& item) {
      if (item == 7) throw std::runtime_error("cannot be weighed");
      return item;
    };
    Buffer<std::size_t> buffer(std::move(options), [](std::span<std::size_t>) {});
    CHECK_THROWS_WITH(buffer.insert(7), "cannot be weighed");
    CHECK_THROWS_WITH(static_cast<void>(buffer.try_insert(7)), "cannot be weighed");
    CHECK_THROWS_WITH(buffer.insert_keyed(1, 7), "cannot be weighed");
    CHECK(buffer.insert(8) == InsertStatus::kAccepted);
    CHECK(buffer.ledger().accepted == 1);
  }
}
