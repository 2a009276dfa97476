// Goal: a stuck handler costs its partition nothing but its own batch, which is delivered once.
// Method: real threads; handlers that hang until the test lets go, with a short flush_timeout.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "databuffer/detail/fence.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::CloseReport;
using databuffer::DropInfo;
using databuffer::DropReason;
using databuffer::FlushContext;
using databuffer::FlushResult;
using databuffer::InsertStatus;
using databuffer::LastAnswer;
using databuffer::Ledger;
using databuffer::OnOverdue;
using databuffer::Options;
using databuffer::Retry;
using databuffer::WaitStrategy;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Findings;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

Options replacing(std::size_t max_abandoned) {
  return {.name = "stuck",
          .max_size = 1,
          .flush_timeout = 10ms,
          .capacity = 100,
          .on_overdue = OnOverdue::kReplace,
          .max_abandoned = max_abandoned};
}

TEST_SUITE("replace") {
  TEST_CASE("a fresh consumer carries on while the stuck call keeps its batch") {
    std::latch release(1);
    std::atomic<int> handled{0};
    Buffer<int> buffer(replacing(4), [&](std::span<int> items) {
      if (items[0] == 0) release.wait();
      ++handled;
    });
    REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
    REQUIRE(eventually([&] { return buffer.info()[0].abandoned == 1; }));
    for (int value = 1; value <= 50; ++value) {
      REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
    }
    CHECK(eventually([&] { return handled == 50; }));
    CHECK(eventually([&] { return buffer.ledger().in_flight == 1; }));
    CHECK(buffer.sync_flush(0ms)[0].status == CallStatus::kTimedOut);  // The stuck batch counts.
    release.count_down();
    CHECK(buffer.sync_flush(databuffer::stress::kHangLimit)[0].status == CallStatus::kDone);
    CHECK(handled == 51);
    CHECK(buffer.ledger().flushed == 51);
    CHECK(eventually([&] { return buffer.info()[0].abandoned == 0; }));
    CHECK(buffer.info()[0].overdue_batches >= 1);  // On a slow machine others are late, too.
  }

  TEST_CASE("a stuck call that asks for a retry has none: its batch fails") {
    std::latch release(1);
    std::atomic<int> calls{0};
    std::atomic<bool> is_dropped{false};
    Options options = replacing(4);
    options.retry = {.attempts = 1000, .initial_backoff = 0ms};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(items[0] == 0);
      CHECK(info.reason == DropReason::kFailed);
      CHECK(info.last_answer == LastAnswer::kExhausted);
      CHECK(info.attempts == 1);
      is_dropped = true;
    };
    Buffer<int> buffer(options, [&](std::span<int> items) {
      if (items[0] != 0) return true;
      ++calls;
      release.wait();
      return false;
    });
    REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    REQUIRE(eventually([&] { return buffer.ledger().flushed == 1; }));  // by the fresh consumer
    release.count_down();
    CHECK(eventually([&] { return is_dropped && buffer.ledger().in_flight == 0; }));
    CHECK(calls == 1);
    CHECK(buffer.ledger().failed == 1);
  }

  TEST_CASE("beside a stuck call an idle partition does nothing") {
    std::latch release(1);
    Options options = replacing(4);
    options.flush_interval = 0ms;
    Buffer<int> buffer(options, [&](std::span<int> items) {
      if (items[0] == 0) release.wait();
    });
    std::this_thread::sleep_for(20ms);  // Cold: it is armed for the first item when that comes.
    REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
    // The fresh consumer is there when its partition is asked to flush, and does.
    REQUIRE(eventually([&] { return buffer.info()[0].abandoned == 1; }));
    std::this_thread::sleep_for(50ms);
    const std::uint64_t fences = databuffer::detail::heavy_fence_count();
    std::this_thread::sleep_for(100ms);
    CHECK(databuffer::detail::heavy_fence_count() - fences <= 10);  // It was one for each look.
    release.count_down();
  }

  TEST_CASE("a call that waits for others to return is replaced when one has") {
    std::latch release_first(1);
    std::latch release(1);
    std::atomic<int> calls{0};
    Buffer<int> buffer(replacing(1), [&](std::span<int>) {
      const int call = calls++;
      if (call == 0) release_first.wait();
      if (call == 1) release.wait();
    });
    for (int value = 0; value < 3; ++value) {
      REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
    }
    REQUIRE(eventually([&] { return buffer.info()[0].overdue_batches == 2; }));
    CHECK(calls == 2);
    release_first.count_down();
    CHECK(eventually([&] { return calls == 3; }));
    CHECK(eventually([&] { return buffer.ledger().flushed == 2; }));
    release.count_down();
    CHECK(buffer.close(databuffer::kForever).ledger.flushed == 3);
  }

  TEST_CASE("a partition that has left max_abandoned consumers behind waits") {
    std::latch release(1);
    std::atomic<int> entered{0};
    Buffer<int> buffer(replacing(2), [&](std::span<int>) {
      ++entered;
      release.wait();
    });
    for (int value = 0; value < 10; ++value) {
      REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
    }
    REQUIRE(eventually([&] { return buffer.info()[0].overdue_batches == 3; }));
    CHECK(entered == 3);  // Two abandoned, and the third that waits.
    CHECK(buffer.info()[0].abandoned == 2);
    CHECK(buffer.size() == 7);
    release.count_down();
    CHECK(buffer.sync_flush(databuffer::stress::kHangLimit)[0].status == CallStatus::kDone);
    CHECK(buffer.ledger().flushed == 10);
  }

  TEST_CASE("every replacement has a handler of its own, made on its thread") {
    std::latch release(1);
    std::atomic<int> made{0};
    std::mutex mutex;
    std::set<int> used;  // guarded by the mutex
    {
      // No more than those two are replaced, should the machine make a third call late.
      auto buffer = Buffer<int>::per_partition(replacing(2), [&](std::size_t) {
        return [&, number = made.fetch_add(1)](std::span<int> items) {
          {
            const std::lock_guard lock(mutex);
            used.insert(number);
          }
          if (items[0] < 2) release.wait();
        };
      });
      for (int value = 0; value < 5; ++value) {
        REQUIRE(buffer.insert(int{value}) == InsertStatus::kAccepted);
      }
      CHECK(eventually([&] { return buffer.ledger().flushed == 3; }));
      CHECK(made == 3);
      release.count_down();
    }
    CHECK(used == std::set{0, 1, 2});
  }

  TEST_CASE("a factory that fails leaves the partition to its consumer") {
    std::latch release(1);
    std::atomic<int> made{0};
    auto buffer = Buffer<int>::per_partition(replacing(3), [&](std::size_t) {
      if (made.fetch_add(1) > 0) throw std::runtime_error("no more connections");
      return [&](std::span<int>) { release.wait(); };
    });
    REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
    CHECK(eventually([&] { return buffer.telemetry().hook_failures() == 1; }));
    CHECK(eventually([&] { return buffer.info()[0].abandoned == 0; }));
    release.count_down();
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.sync_flush(databuffer::stress::kHangLimit)[0].status == CallStatus::kDone);
    CHECK(buffer.ledger().flushed == 2);
  }

  TEST_CASE("a factory that returns a null handler is one that fails") {
    std::latch release(1);
    std::atomic<int> made{0};
    auto buffer = Buffer<int>::per_partition(replacing(3), [&](std::size_t) {
      std::function<void(std::span<int>)> handler;
      if (made.fetch_add(1) == 0) handler = [&](std::span<int>) { release.wait(); };
      return handler;
    });
    REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
    CHECK(eventually([&] { return buffer.telemetry().hook_failures() == 1; }));
    CHECK(eventually([&] { return buffer.info()[0].abandoned == 0; }));
    release.count_down();
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.sync_flush(databuffer::stress::kHangLimit)[0].status == CallStatus::kDone);
    CHECK(buffer.ledger().flushed == 2);
  }

  TEST_CASE("close at its deadline reports the batch as in the handler's hands") {
    std::latch release(1);
    std::atomic<int> handled{0};
    CloseReport report;
    {
      Buffer<int> buffer(replacing(1), [&](std::span<int> items) {
        if (items[0] == 0) release.wait();
        ++handled;
      });
      REQUIRE(buffer.insert(0) == InsertStatus::kAccepted);
      REQUIRE(eventually([&] { return buffer.info()[0].abandoned == 1; }));
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
      report = buffer.close(200ms);
    }
    CHECK(report.status == CallStatus::kTimedOut);
    CHECK(report.in_flight == 1);
    CHECK(report.dropped == 0);
    CHECK(report.ledger.flushed == 1);
    release.count_down();
    CHECK(eventually([&] { return handled == 2; }));
    CHECK(eventually([] { return databuffer::stress::tasks_named("stuck").empty(); }));
  }

  TEST_CASE("handlers that are late at random: nothing is lost, nothing comes twice") {
    Random random = databuffer::stress::printed_random();
    const std::size_t rounds = scaled(16);
    for (std::size_t round = 0; round < rounds; ++round) {
      constexpr std::size_t kProducers = 3;
      constexpr std::uint32_t kItems = 400;
      const std::size_t partitions = random.number(1, 2);
      Witness witness(kProducers, partitions, kItems);
      std::atomic<std::uint64_t> calls{0};
      Options options = replacing(random.number(1, 4));
      options.partitions = partitions;
      options.max_size = random.pick<std::size_t>({1, 7, 50});
      options.capacity = 200;
      options.flush_timeout = 2ms;
      options.insert_timeout = databuffer::kForever;
      options.flush_interval = 1ms;
      options.retry = Retry{.attempts = 3, .initial_backoff = 0ns, .isolate = random.one_in(2)};
      options.wait_strategy = random.pick({WaitStrategy::kAdaptive, WaitStrategy::kPark});
      options.on_drop = [&](std::span<Item> items, const databuffer::DropInfo&) {
        witness.ended(items);
      };
      const std::uint64_t late_one_in = random.number(5, 30);
      const std::uint64_t bad_one_in = random.number(3, 30);
      Ledger ledger;
      {
        Buffer<Item> buffer(options, [&](std::span<Item> items, const FlushContext&) {
          const std::uint64_t call = ++calls;
          if (call % late_one_in == 0) std::this_thread::sleep_for(6ms);
          if (call % bad_one_in == 0) return FlushResult::retry("not now");
          witness.ended(items);
          return FlushResult::ok();
        });
        Crew crew;
        crew.add(kProducers, [&](std::size_t producer) {
          for (std::uint32_t sequence = 0; sequence < kItems; ++sequence) {
            Item item{static_cast<std::uint32_t>(producer), sequence};
            if (buffer.insert(Item(item)) == InsertStatus::kAccepted) witness.took(item);
          }
        });
        crew.join();
        for (const auto& report : buffer.sync_flush(databuffer::stress::kHangLimit)) {
          CHECK(report.status == CallStatus::kDone);
        }
        CHECK(buffer.close(databuffer::stress::kHangLimit).status == CallStatus::kDone);
        ledger = buffer.ledger();
      }
      CHECK(ledger.balances());
      CHECK(ledger.accepted == kProducers * kItems);
      CHECK(ledger.in_flight == 0);
      REQUIRE(witness.verdict() == "");
    }
  }
}

}  // namespace
