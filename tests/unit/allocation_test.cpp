// Goal: in steady state neither insert nor flush takes heap memory.
// Method: a program of its own that counts every request for memory (support/counted_memory.hpp).

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/detail/memory.hpp"
#include "support/by_hand.hpp"
#include "support/counted_memory.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::by_hand;
using databuffer::support::memory_held;
using databuffer::support::numbers;
using databuffer::support::requests_of;
using databuffer::support::still_clock;
using databuffer::support::work_all;

namespace {

struct Item {
  std::uint64_t key;
  double value;
};

}  // namespace

TEST_SUITE("allocation in steady state") {
  TEST_CASE("the test counts what the library asks for") {
    CHECK(std::string(detail::allocator_name()) == "the test's");
    Buffer<Item> buffer(by_hand(), [](std::span<Item>) {});
    CHECK(requests_of([&] { buffer.insert({1, 1.0}); }) > 0);  // a seat, a block
    // Called by name: a new-expression that comes to nothing is the compiler's to leave out.
    CHECK(requests_of([] { ::operator delete(::operator new(1)); }) == 1);
  }

  TEST_CASE("no insert of any kind and no flush takes memory, whatever makes the batch due") {
    for (const std::size_t partitions : {1U, 3U}) {
      ManualClock clock(TimePoint{1h});
      std::size_t handled = 0;
      Buffer<Item> buffer(by_hand({.partitions = partitions, .max_size = 500, .clock = &clock}),
                          [&](std::span<Item> items) { handled += items.size(); });
      const std::vector<Item> items(150);
      const auto round = [&] {
        for (std::uint64_t key = 0; key < 700; ++key) {
          buffer.insert({key, 0.5});
          static_cast<void>(buffer.try_insert({key, 0.5}));
          buffer.insert({key, 0.5}, 1s);
          buffer.insert_keyed(key, {key, 0.5});
          if (key % 100 == 0) buffer.insert_batch(items);
          if (key % 50 == 0) work_all(buffer, clock.now());
        }
        clock.advance(1min);
        work_all(buffer, clock.now());
        buffer.insert({0, 0.5});
        buffer.flush();
        work_all(buffer, clock.now());
      };
      // Until the runs of tickets have begun everywhere: the most that is ever pending was pending.
      for (int warm_up = 0; warm_up < 100; ++warm_up) round();
      CHECK(requests_of([&] {
              for (int repeat = 0; repeat < 50; ++repeat) round();
            }) == 0);
      CHECK(handled == 150 * (700 * 4 + 7 * 150 + 1));
    }
  }

  TEST_CASE("batches that fill the partition and are flushed take no memory either") {
    Buffer<int> buffer(by_hand({.max_size = 1000, .capacity = 4000}), [](std::span<int>) {});
    const std::vector<int> items = numbers(0, 4000);
    const auto round = [&] {
      CHECK(buffer.insert_batch(items, 0s).accepted == 4000);
      work_all(buffer, still_clock().now());
    };
    for (int warm_up = 0; warm_up < 20; ++warm_up) round();
    CHECK(requests_of([&] {
            for (int repeat = 0; repeat < 50; ++repeat) round();
          }) == 0);
  }

  TEST_CASE("an insert that is refused takes no memory") {
    Buffer<int> buffer(by_hand({.max_size = 2, .capacity = 2}), [](std::span<int>) {});
    buffer.insert(1);
    buffer.insert(2);
    const std::vector<int> items = numbers(0, 10);
    CHECK(requests_of([&] {
            for (int repeat = 0; repeat < 100; ++repeat) {
              CHECK(buffer.try_insert(3) == InsertStatus::kFull);
              CHECK(buffer.insert(3, 0s) == InsertStatus::kTimedOut);
              CHECK(buffer.insert_batch(items, 0s).accepted == 0);
            }
          }) == 0);
    buffer.close();
    CHECK(requests_of([&] { CHECK(buffer.insert(3) == InsertStatus::kClosed); }) == 0);
  }

  TEST_CASE("an idle buffer takes no memory, in a million ticks of its clock") {
    ManualClock clock(TimePoint{1h});
    Buffer<int> buffer(by_hand({.partitions = 2, .clock = &clock}), [](std::span<int>) {});
    work_all(buffer, clock.now());
    CHECK(requests_of([&] {
            for (int tick = 0; tick < 1'000'000; ++tick) {
              if (buffer.do_work(clock.advance(1s)) != TimePoint::max()) FAIL("it wants a step");
            }
          }) == 0);
  }

  TEST_CASE("a thread that goes through many buffers keeps nothing of those that are gone") {
    const auto use_one = [] {
      Buffer<Item> buffer(by_hand(), [](std::span<Item>) {});
      buffer.insert({1, 1.0});
    };
    use_one();
    const std::ptrdiff_t before = memory_held();
    for (int buffer = 0; buffer < 10'000; ++buffer) use_one();
    CHECK(memory_held() - before < 10);  // The table of the thread's seats is cleared in steps.
  }

  TEST_CASE("looking at size, ledger and next_deadline takes no memory") {
    Buffer<int> buffer(by_hand(), [](std::span<int>) {});
    buffer.insert(1);
    CHECK(requests_of([&] {
            static_cast<void>(buffer.size());
            static_cast<void>(buffer.ledger());
            static_cast<void>(buffer.next_deadline());
          }) == 0);
  }
}
