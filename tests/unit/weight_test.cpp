// Limits by weight.
//
// Goal: no batch above max_bytes, and no partition above capacity_bytes, unless it holds one item;
//       no weight is ever lost.
// Method: one thread; an item is its own weight.
#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/ranges.hpp"

namespace {

using namespace databuffer;
using namespace std::chrono_literals;

class WeighedBuffer {
 public:
  WeighedBuffer(std::size_t max_bytes, std::size_t capacity_bytes,
                Overflow overflow = Overflow::kReject)
      : buffer_(
            {.name = "weighed",
             .max_size = 100,
             .flush_jitter = 0ns,
             .max_bytes = max_bytes,
             .capacity_bytes = capacity_bytes,
             .weigh =
                 [](const int& item) {
                   if (item == kUnweighable) throw std::runtime_error("cannot be weighed");
                   return static_cast<std::size_t>(item);
                 },
             .overflow = overflow,
             .on_drop =
                 [this](std::span<int> items, const DropInfo&) {
                   dropped.insert(dropped.end(), items.begin(), items.end());
                 },
             .threading = Threading::kManual,
             .clock = &clock},
            [this](std::span<int> batch) { batches.emplace_back(batch.begin(), batch.end()); }) {}

  void run() {
    while (buffer_.do_work(clock.now()) <= clock.now()) {
    }
  }
  Buffer<int>& buffer() { return buffer_; }
  [[nodiscard]] std::size_t bytes() { return buffer_.info()[0].bytes; }

  static constexpr int kUnweighable = 666;
  ManualClock clock{TimePoint{1h}};
  std::vector<std::vector<int>> batches;
  std::vector<int> dropped;

 private:
  Buffer<int> buffer_;
};

TEST_SUITE("weight") {
  TEST_CASE("an item whose weigher throws only later weighs nothing, and parts no batch") {
    bool throws = false;
    std::vector<std::vector<int>> batches;
    ManualClock clock{TimePoint{1h}};
    Buffer<int> buffer(
        {.name = "later",
         .max_size = 100,
         .flush_interval = 1s,
         .flush_jitter = 0ns,
         .max_bytes = 100,
         .weigh =
             [&](const int&) {
               if (throws) throw std::runtime_error("cannot be weighed");
               return std::size_t{10};
             },
         .threading = Threading::kManual,
         .clock = &clock},
        [&](std::span<int> batch) { batches.emplace_back(batch.begin(), batch.end()); });
    for (int item = 0; item < 5; ++item) {
      REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
    }
    throws = true;
    buffer.do_work(clock.now());
    buffer.do_work(clock.advance(1s));
    CHECK(batches == std::vector<std::vector<int>>{{0, 1, 2, 3, 4}});
    CHECK(buffer.ledger().balances());
  }

  TEST_CASE("an item that would make the batch too heavy begins the next one") {
    WeighedBuffer test(100, 1000);
    CHECK(test.buffer().try_insert(95) == InsertStatus::kAccepted);
    test.run();
    CHECK(test.batches.empty());
    CHECK(test.buffer().try_insert(10) == InsertStatus::kAccepted);
    test.run();
    REQUIRE(test.batches.size() == 1);
    CHECK(test.batches[0] == std::vector{95});
    CHECK(test.bytes() == 10);
  }

  TEST_CASE("reaching max_bytes exactly trips the flush") {
    WeighedBuffer test(100, 1000);
    CHECK(test.buffer().try_insert(60) == InsertStatus::kAccepted);
    CHECK(test.buffer().try_insert(40) == InsertStatus::kAccepted);
    test.run();
    REQUIRE(test.batches.size() == 1);
    CHECK(test.batches[0] == std::vector{60, 40});
    CHECK(test.bytes() == 0);
  }

  TEST_CASE("an item heavier than the limit goes alone") {
    WeighedBuffer test(100, 1000);
    CHECK(test.buffer().insert_batch(std::vector{5, 300, 7}).accepted == 3);
    test.buffer().sync_flush(10s);
    CHECK(test.batches == std::vector<std::vector<int>>{{5}, {300}, {7}});
    CHECK(test.bytes() == 0);
  }

  TEST_CASE("a full partition refuses by weight, and an empty one always takes one item") {
    WeighedBuffer test(100, 200);
    CHECK(test.buffer().try_insert(5000) == InsertStatus::kAccepted);
    CHECK(test.buffer().try_insert(1) == InsertStatus::kFull);
    test.run();
    CHECK(test.buffer().try_insert(150) == InsertStatus::kAccepted);
    CHECK(test.buffer().try_insert(50) == InsertStatus::kAccepted);
    CHECK(test.buffer().try_insert(1) == InsertStatus::kFull);
    CHECK(test.bytes() == 200);
    test.run();
    CHECK(test.bytes() == 50);
    CHECK(test.buffer().ledger().balances());
  }

  TEST_CASE("an insert_batch goes in as far as there is room by weight") {
    WeighedBuffer test(100, 200);
    const InsertBatchResult result = test.buffer().insert_batch(std::vector{90, 90, 90, 90});
    CHECK(result.accepted == 2);
    CHECK(result.status == InsertStatus::kFull);
    CHECK(test.bytes() == 180);
  }

  TEST_CASE("a range that is copied keeps what finds no room by weight") {
    WeighedBuffer test(10, 10);
    const std::vector items{4, 4, 4, 4};
    const InsertBatchResult result = test.buffer().insert_batch(items);
    CHECK(result.status == InsertStatus::kFull);
    CHECK(result.accepted == 2);
    CHECK(test.dropped.empty());
    CHECK(test.buffer().ledger().accepted == 2);
  }

  TEST_CASE("an input range read one item ahead of a refusal loses nothing: on_drop has the item") {
    WeighedBuffer test(100, 200);
    const InsertBatchResult result =
        test.buffer().insert_batch(databuffer::support::made_one_by_one(4, [](int) { return 90; }));
    CHECK(result.accepted == 3);
    CHECK(test.dropped == std::vector{90});
    CHECK(test.buffer().ledger().balances());
    CHECK(test.buffer().ledger().pending == 2);
  }

  TEST_CASE("a weigher that throws refuses the item, and nothing stays reserved") {
    WeighedBuffer test(100, 200);
    CHECK_THROWS_WITH(test.buffer().insert_batch(std::vector{1, 2, WeighedBuffer::kUnweighable, 4}),
                      "cannot be weighed");
    CHECK(test.buffer().ledger().accepted == 2);
    CHECK(test.bytes() == 3);
    test.buffer().sync_flush(10s);
    CHECK(test.bytes() == 0);
  }

  TEST_CASE("drop-oldest makes room by weight") {
    WeighedBuffer test(100, 200, Overflow::kDropOldest);
    for (const int item : {50, 60, 70, 150}) {
      CHECK(test.buffer().insert(int{item}) == InsertStatus::kAccepted);
    }
    CHECK(test.dropped == std::vector{50, 60, 70});
    CHECK(test.bytes() == 150);
    CHECK(test.buffer().ledger().balances());
  }

  TEST_CASE("drop-newest gives the item that finds no room to on_drop") {
    WeighedBuffer test(100, 200, Overflow::kDropNewest);
    CHECK(test.buffer().insert(150) == InsertStatus::kAccepted);
    CHECK(test.buffer().insert(60) == InsertStatus::kDropped);
    CHECK(test.dropped == std::vector{60});
    CHECK(test.buffer().ledger().balances());
  }

  TEST_CASE("take and dump keep the weights right") {
    WeighedBuffer test(100, 1000);
    CHECK(test.buffer().insert_batch(std::vector{30, 40}).accepted == 2);
    CHECK(test.buffer().dump() == std::vector{30, 40});
    CHECK(test.bytes() == 70);
    CHECK(test.buffer().take() == std::vector{30, 40});
    CHECK(test.bytes() == 0);
  }

  TEST_CASE("random items: batches within the limit, everything delivered in order") {
    WeighedBuffer test(1000, 4000);
    std::vector<int> expected;
    unsigned state = 12345;
    for (int count = 0; count < 5000; ++count) {
      state = state * 1664525U + 1013904223U;
      const int item = static_cast<int>(state >> 24U) * ((state >> 20U & 15U) == 0 ? 9 : 1);
      if (item == WeighedBuffer::kUnweighable) continue;
      while (test.buffer().try_insert(int{item}) == InsertStatus::kFull) test.run();
      expected.push_back(item);
    }
    test.buffer().sync_flush(10s);
    std::vector<int> delivered;
    for (const auto& batch : test.batches) {
      const int weight = std::accumulate(batch.begin(), batch.end(), 0);
      CHECK((weight <= 1000 || batch.size() == 1));
      delivered.insert(delivered.end(), batch.begin(), batch.end());
    }
    CHECK(delivered == expected);
    CHECK(test.bytes() == 0);
  }

  TEST_CASE("options by weight are checked: limits need a weigher, and a weigher limits") {
    const auto start = [](Options options) {
      options.name = "w";
      options.threading = Threading::kManual;
      Buffer<int> buffer(options, [](std::span<int>) {});
    };
    CHECK_THROWS_AS(start({.max_bytes = 10}), OptionsError);
    CHECK_THROWS_AS(start({.capacity_bytes = 10}), OptionsError);
    CHECK_THROWS_AS(start({.weigh = [](const int&) { return 1U; }}), OptionsError);
    CHECK_THROWS_AS(
        start({.max_bytes = 10, .capacity_bytes = 9, .weigh = [](const int&) { return 1U; }}),
        OptionsError);
    CHECK_THROWS_AS(start({.max_bytes = 10, .weigh = [](const long&) { return 1U; }}),
                    OptionsError);
  }
}

}  // namespace
