// Goal: a factory makes each partition its own handler, which is used by that partition alone and
// lives as long as it.
// Method: by hand; which thread it is made on is seen in tests/stress.

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::support::numbers;

namespace {

Options by_hand(std::size_t partitions) {
  return {.name = "b", .partitions = partitions, .max_size = 2, .threading = Threading::kManual};
}

/// A connection: counts how many are open.
struct Connection {
  explicit Connection(int& open_count) : open(open_count) { ++open; }
  ~Connection() { --open; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  int& open;
};

}  // namespace

TEST_SUITE("per_partition") {
  TEST_CASE("the factory is called once for each partition, with its index") {
    std::vector<std::size_t> indexes;
    const auto buffer = Buffer<int>::per_partition(by_hand(4), [&](std::size_t partition_index) {
      indexes.push_back(partition_index);
      return [](std::span<int>) {};
    });
    CHECK(indexes == std::vector<std::size_t>{0, 1, 2, 3});
  }

  TEST_CASE("each partition's batches go to its own handler, with state of its own") {
    std::map<std::size_t, std::vector<int>> calls;
    auto buffer = Buffer<int>::per_partition(by_hand(3), [&](std::size_t partition_index) {
      return
          [&calls, partition_index, count = 0](Batch<int>&, const FlushContext& context) mutable {
            CHECK(context.partition_index == partition_index);
            calls[partition_index].push_back(++count);
            return FlushResult::ok();
          };
    });
    for (int item = 0; item < 18; ++item) buffer.insert(item);
    buffer.close();
    for (std::size_t index = 0; index < 3; ++index) CHECK(calls[index] == numbers(1, 3));
  }

  TEST_CASE("a handler may be move-only, and ends with the buffer") {
    int open = 0;
    {
      auto buffer = Buffer<int>::per_partition(by_hand(2), [&](std::size_t) {
        return [connection = std::make_unique<Connection>(open)](std::span<int>) {};
      });
      CHECK(open == 2);
      buffer.insert(1);
      buffer.close();
    }
    CHECK(open == 0);
  }

  TEST_CASE("what the factory throws the constructor throws, and nothing is left") {
    int open = 0;
    const auto factory = [&](std::size_t partition_index) {
      if (partition_index == 2) throw std::runtime_error("no connection");
      return [connection = std::make_unique<Connection>(open)](std::span<int>) {};
    };
    CHECK_THROWS_WITH_AS(static_cast<void>(Buffer<int>::per_partition(by_hand(4), factory)),
                         "no connection", std::runtime_error);
    CHECK(open == 0);
  }

  TEST_CASE("a factory may be a function object with state, and make std::functions") {
    struct Factory {
      int made = 0;
      std::function<bool(std::span<int>)> operator()(std::size_t) {
        return [number = ++made](std::span<int>) { return number % 2 == 0; };
      }
    };
    auto buffer = Buffer<int>::per_partition(by_hand(2), Factory{});
    for (int item = 0; item < 4; ++item) buffer.insert(item);
    buffer.close();
    CHECK(buffer.ledger() == Ledger{.accepted = 4, .flushed = 2, .failed = 2});
  }

  TEST_CASE("a buffer made by a factory works as any other") {
    std::vector<int> handled;
    auto buffer = Buffer<int>::per_partition(by_hand(1), [&](std::size_t) {
      return
          [&](std::span<int> items) { handled.insert(handled.end(), items.begin(), items.end()); };
    });
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.insert_batch(numbers(2, 4)).accepted == 4);
    CHECK(buffer.sync_flush()[0].items == 5);
    CHECK(handled == numbers(1, 5));
  }
}
