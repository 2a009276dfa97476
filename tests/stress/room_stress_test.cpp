// Goal: who waits for room gets it in its turn, and nobody else is disturbed; below 128 the
// capacity is exact, and no place is lost.
// Method: producers against handlers that are stuck or slow; wake-ups, batches and items are
// counted.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::PartitionInfo;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Random;
using databuffer::stress::scaled;

/// How often the calling thread has gone to sleep.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

/// A key of each partition.
std::vector<int> keys_of(Buffer<int>& buffer) {
  std::vector<int> keys(buffer.info().size(), -1);
  for (int key = 0; std::count(keys.begin(), keys.end(), -1) > 0; ++key) {
    const std::vector<PartitionInfo> before = buffer.info();
    REQUIRE(buffer.insert_keyed(key, 0) == InsertStatus::kAccepted);
    const std::vector<PartitionInfo> after = buffer.info();
    for (std::size_t index = 0; index < keys.size(); ++index) {
      if (after[index].ledger.accepted > before[index].ledger.accepted) keys[index] = key;
    }
  }
  return keys;
}

/// Handlers that hold what they get until told.
class Gatekeeper {
 public:
  void operator()(std::size_t) {
    ++calls_;
    open_.acquire();
    open_.release();
  }
  [[nodiscard]] int calls() const { return calls_; }
  void open() { open_.release(); }

 private:
  std::atomic<int> calls_{0};
  std::counting_semaphore<> open_{0};
};

}  // namespace

TEST_SUITE("room") {
  TEST_CASE("those who wait for a stuck partition sleep through all that goes on in another") {
    constexpr std::size_t kWaiters = 64;
    const std::uint32_t items = scaled(20'000);
    std::atomic<bool> is_open{false};
    Buffer<int> buffer({.name = "herd", .partitions = 2, .max_size = 10, .capacity = 20},
                       [&](std::span<int>, const FlushContext& context) {
                         if (context.partition_index == 0) is_open.wait(false);
                       });
    const std::vector<int> keys = keys_of(buffer);
    while (buffer.insert_keyed(keys[0], 0, 1ms) == InsertStatus::kAccepted) {
    }
    std::atomic<std::size_t> begun{0};
    std::atomic<std::uint64_t> all_sleeps{0};
    std::atomic<std::size_t> accepted{0};
    std::atomic<std::size_t> done{0};
    std::atomic<bool> may_end{false};
    Crew crew;
    crew.add(kWaiters, [&](std::size_t) {
      const long before = sleeps();
      ++begun;
      if (buffer.insert_keyed(keys[0], 1, databuffer::kForever) == InsertStatus::kAccepted) {
        ++accepted;
      }
      all_sleeps += static_cast<std::uint64_t>(sleeps() - before);
      ++done;
      may_end.wait(false);  // A thread that ends rings all consumers, to have its seat freed.
    });
    REQUIRE(eventually([&] { return begun == kWaiters; }));
    for (std::uint32_t item = 0; item < items; ++item) {
      REQUIRE(buffer.insert_keyed(keys[1], 2, databuffer::kForever) == InsertStatus::kAccepted);
    }
    const std::uint64_t rings = buffer.info()[1].rings;
    is_open = true;
    is_open.notify_all();
    CHECK(eventually([&] { return done == kWaiters; }));
    CHECK(buffer.info()[1].rings == rings);  // They did not ring the other partition's consumer.
    may_end = true;
    may_end.notify_all();
    crew.join();
    CHECK(accepted.load() == kWaiters);
    // One for its place, and some for the waiters' mutex.
    CHECK(all_sleeps.load() <= 8 * kWaiters);
    MESSAGE(all_sleeps.load() << " sleeps of " << kWaiters << " waiters");
  }

  TEST_CASE("a keyed insert that waits rings no other partition's consumer") {
    Buffer<int> buffer(
        {.name = "keyed", .partitions = 16, .max_size = 10, .flush_interval = 1h, .capacity = 10},
        [](std::span<int>) {});
    Crew crew;
    crew.add(4, [&](std::size_t) {
      for (std::uint32_t item = 0; item < scaled(4'000); ++item) {
        if (buffer.insert_keyed(42, 7, databuffer::kForever) != InsertStatus::kAccepted) return;
      }
    });
    crew.join();
    for (const PartitionInfo& info : buffer.info()) {
      if (info.ledger.accepted == 0) CHECK(info.rings == 0);
    }
    CHECK(buffer.ledger().accepted == 4 * scaled(4'000));
  }

  TEST_CASE("a heavy item gets in among light ones, long before they end") {
    for (const std::size_t partitions : {1U, 2U}) {
      const std::uint64_t items = scaled(200'000);
      std::atomic<std::uint64_t> light{0};
      std::atomic<std::uint64_t> light_before_heavy{0};
      Options options{.name = "heavy", .partitions = partitions, .max_size = 1000};
      options.max_bytes = 100;
      options.capacity_bytes = 400;
      options.insert_timeout = databuffer::kForever;
      options.weigh = [](const std::size_t& item) { return item; };
      Buffer<std::size_t> buffer(options, [&](std::span<std::size_t> batch) {
        if (batch[0] == 300) light_before_heavy = light.load();
        light += batch.size();
      });
      Crew crew;
      crew.add(3, [&](std::size_t) {
        for (std::uint64_t item = 0; item < items; ++item) {
          if (buffer.insert(1) != InsertStatus::kAccepted) return;
        }
      });
      REQUIRE(eventually([&] { return light > 1000; }));
      CHECK(buffer.insert(300) == InsertStatus::kAccepted);
      crew.join();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(light_before_heavy.load() < 3 * items * 9 / 10);
      CHECK(light.load() == 3 * items + 1);
      MESSAGE(light_before_heavy.load() << " of " << 3 * items << " items before the heavy one");
    }
  }

  TEST_CASE("below 128 no partition ever holds more than its capacity, whatever the policy") {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      for (const std::size_t capacity : {1U, 2U, 127U}) {
        CAPTURE(databuffer::to_string(overflow));
        CAPTURE(capacity);
        Gatekeeper handler;
        Buffer<int> buffer({.name = "exact",
                            .max_size = 1,
                            .capacity = capacity,
                            .overflow = overflow,
                            .insert_timeout = 1ms},
                           [&](std::span<int> items) { handler(items.size()); });
        REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
        REQUIRE(eventually([&] { return handler.calls() == 1; }));
        std::atomic<bool> is_over{false};
        std::size_t most = 0;
        std::thread looking([&] {
          while (!is_over) most = std::max(most, buffer.size());
        });
        Crew crew;
        crew.add(48, [&](std::size_t index) {
          for (std::uint32_t round = 0; round < scaled(64); ++round) {
            if (index % 3 == 0) {
              static_cast<void>(buffer.insert_batch(std::vector<int>(3, 1), 0ms));
            } else {
              static_cast<void>(buffer.try_insert(1));
            }
          }
        });
        crew.join();
        is_over = true;
        looking.join();
        CHECK(most <= capacity);
        CHECK(buffer.size() == capacity);
        handler.open();
        CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
        CHECK(buffer.ledger().balances());
      }
    }
  }

  TEST_CASE("who sees that nothing is pending finds room") {
    const Budget budget(1s);
    std::uint64_t items = 0;
    std::uint64_t refused = 0;
    Buffer<int> buffer({.name = "empty", .max_size = 1, .capacity = 1}, [](std::span<int>) {});
    while (budget.is_left()) {
      if (buffer.size() > 0) continue;
      ++items;
      if (buffer.try_insert(1) != InsertStatus::kAccepted) ++refused;
    }
    CHECK(refused == 0);
    MESSAGE(items << " items");
  }

  TEST_CASE("a range that is read slowly keeps nobody out of the room that it may not use") {
    Buffer<int> buffer({.name = "slow-range",
                        .max_size = 1000,
                        .flush_interval = databuffer::kForever,
                        .overflow = Overflow::kReject},
                       [](std::span<int>) {});
    std::atomic<bool> is_inside{false};
    std::latch release{1};
    Crew crew;
    crew.add([&] {
      const auto result =
          buffer.insert_batch(databuffer::support::made_one_by_one(5, [&](int index) {
            if (index == 3) {
              is_inside = true;
              release.wait();
            }
            return index;
          }));
      CHECK(result.accepted == 5);
    });
    REQUIRE(eventually([&] { return is_inside.load(); }));
    CHECK(buffer.size() == 0);
    CHECK(buffer.try_insert(7) == InsertStatus::kAccepted);
    release.count_down();
    crew.join();
    CHECK(buffer.size() == 6);
  }

  TEST_CASE("a range that inserts into its own full buffer does not wait for itself") {
    Buffer<int> buffer({.name = "own-range",
                        .max_size = 2,
                        .flush_interval = databuffer::kForever,
                        .capacity = 8,
                        .insert_timeout = databuffer::kForever},
                       [](std::span<int>) {});
    std::vector<InsertStatus> inner;
    const auto read = [&](int index) {
      inner.push_back(buffer.insert(100 + index));
      return index;
    };
    const auto result = buffer.insert_batch(databuffer::support::made_forward(100, read));
    CHECK(result.accepted == 100);
    CHECK(buffer.close(databuffer::kForever).is_complete());
    std::uint64_t accepted = 0;
    for (const InsertStatus status : inner) {
      CHECK((status == InsertStatus::kAccepted || status == InsertStatus::kFull));
      accepted += status == InsertStatus::kAccepted ? 1 : 0;
    }
    CHECK(buffer.ledger().flushed == 100 + accepted);
  }

  TEST_CASE("waits that end by their timeout, or just before it, lose no place") {
    Random random = databuffer::stress::printed_random();
    for (const std::size_t partitions : {1U, 3U}) {
      const Budget budget(700ms);
      std::atomic<bool> is_stuck{false};
      std::atomic<std::uint64_t> handled{0};
      std::atomic<std::uint64_t> accepted{0};
      Gatekeeper handler;
      constexpr std::size_t kCapacity = 4;
      Buffer<int> buffer({.name = "late",
                          .partitions = partitions,
                          .max_size = kCapacity,
                          .flush_interval = 1ms,
                          .capacity = kCapacity},
                         [&](std::span<int> items) {
                           handled += items.size();
                           if (is_stuck) handler(items.size());
                         });
      Crew crew;
      crew.add(12, [&, seed = random.seed()](std::size_t index) {
        Random own(seed + index);
        while (budget.is_left()) {
          const auto timeout = std::chrono::microseconds(own.number(0, 200));
          if (index % 3 == 0) {
            accepted += buffer.insert_batch(std::vector<int>(5, 1), timeout).accepted;
          } else if (index % 3 == 1) {
            accepted +=
                buffer.insert_keyed(own.number(0, 9), 1, timeout) == InsertStatus::kAccepted;
          } else {
            accepted += buffer.insert(1, timeout) == InsertStatus::kAccepted;
          }
        }
      });
      crew.join();
      CHECK(buffer.sync_flush()[0].status == CallStatus::kDone);
      CHECK(handled.load() == accepted.load());
      // Every place is there: each partition's handler gets stuck, then all of them fill up.
      is_stuck = true;
      const std::uint64_t before = accepted;
      while (handler.calls() < static_cast<int>(partitions)) {
        accepted += buffer.try_insert(1) == InsertStatus::kAccepted;
      }
      while (buffer.insert(1, 1ms) == InsertStatus::kAccepted) ++accepted;
      CHECK(buffer.size() == partitions * kCapacity);
      MESSAGE(before << " items");
      handler.open();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(handled.load() == accepted.load());
    }
  }

  TEST_CASE("drop-oldest never drops the newest while dump looks at what could be given up") {
    const Budget budget(500ms);
    std::atomic<std::uint64_t> dropped{0};
    Buffer<int> buffer({.name = "looked at",
                        .max_size = 1000,
                        .flush_interval = 1h,
                        .capacity = 2000,
                        .overflow = Overflow::kDropOldest,
                        .threading = databuffer::Threading::kManual},
                       [](std::span<int>) {});
    for (int item = 0; item < 2000; ++item) REQUIRE(buffer.insert(item) == InsertStatus::kAccepted);
    std::thread looking([&] {
      while (budget.is_left()) static_cast<void>(buffer.dump());
    });
    Crew crew;
    crew.add(3, [&](std::size_t) {
      while (budget.is_left()) {
        if (buffer.insert(1, databuffer::kForever) != InsertStatus::kAccepted) ++dropped;
      }
    });
    crew.join();
    looking.join();
    CHECK(dropped.load() == 0);
    CHECK(buffer.ledger().dropped_oldest > 0);
  }
}
