// Goal: sync_flush covers what was inserted before it, whatever others do, and waits for no longer
// than told.
// Method: callers look, right after it returned, for an item they inserted before.

#include <doctest/doctest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::FlushReport;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Findings;
using databuffer::stress::Item;
using databuffer::stress::Random;

constexpr std::uint32_t kNobody = 1'000'000;  // the producer of items nobody looks for

/// Handlers that keep the last item of each caller; callers that look for theirs.
class Callers {
 public:
  explicit Callers(std::size_t callers) : handled_(callers) {}

  void handle(std::span<const Item> items) {
    for (const Item& item : items) {
      if (item.producer == kNobody) continue;
      // relaxed: a caller sees it because sync_flush says so, or not at all; nothing else orders
      // it.
      handled_[item.producer].store(item.sequence, std::memory_order_relaxed);
    }
  }

  void insert_and_flush(Buffer<Item>& buffer, std::size_t caller, const Budget& budget) {
    for (std::uint32_t sequence = 1; budget.is_left(); ++sequence) {
      const Item item{static_cast<std::uint32_t>(caller), sequence};
      if (buffer.insert(item, databuffer::kForever) != InsertStatus::kAccepted) {
        return findings_.add("refused");
      }
      for (const FlushReport& report : buffer.sync_flush(databuffer::stress::kHangLimit)) {
        if (report.status != CallStatus::kDone) {
          return findings_.add("ends as " + std::string(to_string(report.status)));
        }
      }
      if (handled_[caller].load(std::memory_order_relaxed) != sequence) {
        return findings_.add("an item inserted before was not handled");
      }
      ++flushes_;
    }
  }

  [[nodiscard]] std::string findings() const { return findings_.text(); }
  [[nodiscard]] std::uint64_t flushes() const { return flushes_; }

 private:
  std::vector<std::atomic<std::uint32_t>> handled_;  // by caller: its last item that was handled
  std::atomic<std::uint64_t> flushes_{0};
  Findings findings_;
};

std::chrono::nanoseconds cpu_time(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

}  // namespace

TEST_SUITE("sync_flush") {
  TEST_CASE("producers at full rate cannot hold it, nor make it miss an item") {
    Random random = databuffer::stress::printed_random();
    for (const std::size_t partitions : {1U, 4U}) {
      CAPTURE(partitions);
      const Budget budget(700ms);
      Callers callers(1);
      Buffer<Item> buffer({.name = "full-rate",
                           .partitions = partitions,
                           .max_size = random.pick<std::size_t>({10, 1000, 100'000}),
                           .flush_interval = 1h},
                          [&](std::span<Item> items) { callers.handle(items); });
      Crew producers;
      producers.add(3, [&](std::size_t) {
        while (budget.is_left()) buffer.insert(Item{kNobody, 0});
      });
      callers.insert_and_flush(buffer, 0, budget);
      producers.join();
      CHECK(callers.findings() == "");
      CHECK(callers.flushes() > 0);
      MESSAGE(callers.flushes() << " flushes among " << buffer.ledger().accepted << " items");
    }
  }

  TEST_CASE("many callers at once each get their own items flushed") {
    Random random = databuffer::stress::printed_random();
    const Budget budget(1s);
    Callers callers(8);
    Buffer<Item> buffer({.name = "callers",
                         .partitions = random.number(1, 4),
                         .max_size = 50,
                         .flush_interval = 1h},
                        [&](std::span<Item> items) { callers.handle(items); });
    Crew crew;
    crew.add(8, [&](std::size_t caller) { callers.insert_and_flush(buffer, caller, budget); });
    crew.join();
    CHECK(callers.findings() == "");
    MESSAGE(callers.flushes() << " flushes");
  }

  TEST_CASE("an insert by another thread that happened before is covered") {
    const Budget budget(1s);
    std::atomic<std::uint32_t> handled{0};
    std::atomic<std::uint32_t> inserted{0};
    Buffer<Item> buffer({.name = "before", .partitions = 3, .max_size = 100, .flush_interval = 1h},
                        [&](std::span<Item> items) {
                          // relaxed: as in Callers.
                          handled.fetch_add(static_cast<std::uint32_t>(items.size()),
                                            std::memory_order_relaxed);
                        });
    Crew producer;
    producer.add([&] {
      while (budget.is_left()) {
        buffer.insert(Item{});
        inserted.fetch_add(1, std::memory_order_release);
      }
    });
    std::uint64_t missed = 0;
    while (budget.is_left()) {
      const std::uint32_t before = inserted.load(std::memory_order_acquire);
      REQUIRE(buffer.sync_flush()[0].status == CallStatus::kDone);
      if (handled.load(std::memory_order_relaxed) < before) ++missed;
    }
    CHECK(missed == 0);
  }

  TEST_CASE("a blocked handler makes it time out, without using the processor") {
    std::latch is_blocked{1};
    std::latch may_go_on{1};
    std::atomic<bool> is_first{true};
    Buffer<Item> buffer({.name = "blocked", .max_size = 1}, [&](std::span<Item>) {
      if (!is_first.exchange(false)) return;
      is_blocked.count_down();
      may_go_on.wait();
    });
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    is_blocked.wait();
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);

    const auto began = std::chrono::steady_clock::now();
    const auto thread_cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    const auto process_cpu = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    CHECK(buffer.sync_flush(500ms)[0].status == CallStatus::kTimedOut);
    CHECK(std::chrono::steady_clock::now() - began >= 500ms);
    // A wait that polled would use a good part of the half second.
    CHECK(cpu_time(CLOCK_THREAD_CPUTIME_ID) - thread_cpu < 20ms);
    CHECK(cpu_time(CLOCK_PROCESS_CPUTIME_ID) - process_cpu < 100ms);

    may_go_on.count_down();
    CHECK(buffer.sync_flush()[0].status == CallStatus::kDone);
    CHECK(buffer.ledger().flushed == 2);
    CHECK(buffer.size() == 0);
  }

  TEST_CASE("all partitions are flushed side by side") {
    constexpr std::size_t kPartitions = 16;
    std::latch all_inside{kPartitions};  // one after the other would never get through
    Buffer<Item> buffer({.name = "wide", .partitions = kPartitions, .flush_interval = 1h},
                        [&](std::span<Item>) { all_inside.arrive_and_wait(); });
    for (std::size_t item = 0; item < kPartitions; ++item) buffer.insert(Item{});
    const std::vector<FlushReport> reports = buffer.sync_flush();
    REQUIRE(reports.size() == kPartitions);
    for (const FlushReport& report : reports) {
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.batches == 1);
      CHECK(report.items == 1);
    }
  }

  TEST_CASE("the report has every batch that ended between the call and its return") {
    const Budget budget(1s);
    std::atomic<bool> may_go_on{false};
    std::atomic<bool> is_inside{false};
    Buffer<Item> buffer({.name = "result", .max_size = 1}, [&](std::span<Item> items) {
      is_inside = true;
      while (!may_go_on) sched_yield();
      return databuffer::FlushResult::ok(items[0].sequence);
    });
    std::uint32_t sequence = 0;
    std::uint64_t without_result = 0;
    while (budget.is_left()) {
      is_inside = may_go_on = false;
      REQUIRE(buffer.insert(Item{0, ++sequence}) == InsertStatus::kAccepted);
      REQUIRE(eventually([&] { return is_inside.load(); }));
      // In flight at the call, so its result is in the report, however soon it ends.
      Crew releasing;
      releasing.add([&] {
        while (buffer.info()[0].in_flight == 0) sched_yield();
        may_go_on = true;
      });
      const FlushReport report = buffer.sync_flush()[0];
      releasing.join();
      REQUIRE(report.status == CallStatus::kDone);
      // The batch may end before the call begins; else it is in the report, result and all.
      if (report.batches == 1 && (report.result == nullptr || report.items != 1)) ++without_result;
    }
    CHECK(without_result == 0);
  }

  TEST_CASE("an item is in flight before it is not pending: a poll never finds it in neither") {
    std::atomic<std::uint32_t> handled{0};
    Buffer<Item> buffer({.name = "neither", .max_size = 1},
                        [&](std::span<Item>, const FlushContext&) { ++handled; });
    std::uint32_t too_early = 0;
    for (std::uint32_t item = 1; item <= 20'000; ++item) {
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
      while (buffer.sync_flush(0s)[0].status != CallStatus::kDone) continue;
      if (handled != item) ++too_early;
    }
    CHECK(too_early == 0);
  }

  TEST_CASE("while close is at work it is not done for a partition that is not") {
    std::latch is_blocked{1};
    std::latch may_go_on{1};
    Buffer<Item> buffer({.name = "closing", .partitions = 2, .max_size = 1},
                        [&](std::span<Item>, const FlushContext& context) {
                          if (context.partition_index == 0) return;
                          is_blocked.count_down();
                          may_go_on.wait();
                        });
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    is_blocked.wait();
    Crew closing;
    closing.add([&] { buffer.close(); });
    REQUIRE(eventually([&] { return buffer.insert(Item{}) == InsertStatus::kClosed; }));
    // Partition 0 is through with close, sooner or later; the other must not count as done with it.
    for (int call = 0; call < 20; ++call) {
      CHECK(buffer.sync_flush(10ms)[1].status == CallStatus::kTimedOut);
    }
    may_go_on.count_down();
    closing.join();
    CHECK(buffer.sync_flush(10ms)[1].status == CallStatus::kClosed);
  }
}
