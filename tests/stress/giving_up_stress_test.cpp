// Goal: what close gives up at its deadline, and what comes back after it, has one end, with the
// reason, and whoever waits learns of it. Method: latches hold handlers, hooks and on_drop where a
// moment matters. Items are counted, never times.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::CloseReport;
using databuffer::DropInfo;
using databuffer::FlushContext;
using databuffer::FlushResult;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::LastAnswer;
using databuffer::Options;
using databuffer::stress::Crew;
using databuffer::stress::eventually;

}  // namespace

TEST_SUITE("giving up") {
  TEST_CASE("a batch that waits for its retry is given up with its last answer") {
    std::latch has_failed{1};
    std::string error;
    std::uint64_t batch_id = 0;
    Options options{.name = "given-up", .max_size = 2};
    options.retry = {.attempts = 1000, .initial_backoff = 24h, .max_backoff = 24h};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(items.size() == 2);
      CHECK(info.reason == databuffer::DropReason::kClosed);
      error = info.error;
      batch_id = info.batch_id;
    };
    Buffer<int> buffer(options, [&](std::span<int>, const FlushContext& context) {
      if (context.attempt == 1) has_failed.count_down();
      return FlushResult::retry("no route");
    });
    REQUIRE(buffer.insert_batch(std::vector{1, 2}).accepted == 2);
    has_failed.wait();
    const CloseReport report = buffer.close(20ms);
    CHECK(report.status == CallStatus::kTimedOut);
    CHECK(report.dropped == 2);
    CHECK(report.in_flight == 0);
    CHECK(report.ledger.balances());
    CHECK(error == "no route");
    CHECK(batch_id == 1);
  }

  TEST_CASE(
      "a call that comes back after the deadline and asks for a retry has its batch given up") {
    std::latch is_inside{1};
    std::latch release{1};
    std::atomic<int> calls{0};
    std::atomic<bool> is_dropped{false};
    Options options{.name = "late", .max_size = 2};
    options.retry = {.attempts = 1000, .initial_backoff = 0ms, .isolate = true};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(items.size() == 2);
      CHECK(info.reason == databuffer::DropReason::kClosed);
      CHECK(info.last_answer == LastAnswer::kGivenUp);
      CHECK(info.attempts == 1);
      CHECK(info.error == "no route");
      is_dropped = true;
    };
    Buffer<int> buffer(options, [&](std::span<int>) {
      ++calls;
      is_inside.count_down();
      release.wait();
      return FlushResult::retry("no route");
    });
    REQUIRE(buffer.insert_batch(std::vector{1, 2}).accepted == 2);
    is_inside.wait();
    const CloseReport report = buffer.close(0ms);
    CHECK(report.status == CallStatus::kTimedOut);
    CHECK(report.in_flight == 2);
    release.count_down();
    CHECK(eventually([&] { return is_dropped && buffer.ledger().in_flight == 0; }));
    CHECK(buffer.ledger().dropped_closed == 2);
    CHECK(buffer.ledger().balances());
    CHECK(calls == 1);
  }

  TEST_CASE("the rest of a halved batch is given up range by range, with the last answer") {
    std::latch is_inside{1};
    std::latch release{1};
    std::vector<std::size_t> dropped;
    std::vector<bool> balances;
    Buffer<int>* running = nullptr;
    Options options{.name = "halved", .max_size = 8};
    options.retry = {.isolate = true};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(info.reason == databuffer::DropReason::kClosed);
      CHECK(info.last_answer == LastAnswer::kGivenUp);
      CHECK(info.error == "call 2");
      dropped.push_back(items.size());
      balances.push_back(running->ledger().balances());
    };
    std::atomic<int> calls{0};
    Buffer<int> buffer(options, [&](std::span<int>) {
      const int call = ++calls;
      if (call <= 2) return FlushResult::failed("call " + std::to_string(call));
      is_inside.count_down();
      release.wait();
      return FlushResult::ok();
    });
    running = &buffer;
    REQUIRE(buffer.insert_batch({1, 2, 3, 4, 5, 6, 7, 8}).accepted == 8);
    is_inside.wait();  // with the first two; the next two and the second half wait
    CHECK(buffer.close(0ms).in_flight == 8);
    release.count_down();
    CHECK(eventually([&] { return buffer.ledger().in_flight == 0; }));
    CHECK(buffer.close(kForever).ledger.dropped_closed == 6);
    CHECK(dropped == std::vector<std::size_t>{2, 4});
    CHECK(balances == std::vector<bool>{true, true});
    CHECK(buffer.ledger().flushed == 2);
  }

  TEST_CASE("a handler call that a hook holds up past the deadline does not begin") {
    std::latch is_inside{1};
    std::latch release{1};
    std::atomic<int> calls{0};
    Buffer<int> buffer({.name = "barred", .max_size = 2}, [&](std::span<int>) { ++calls; });
    REQUIRE(buffer.telemetry().attach("x", databuffer::Event::kFlushStart,
                                      [&](const databuffer::TelemetryEvent&) {
                                        is_inside.count_down();
                                        release.wait();
                                      }));
    REQUIRE(buffer.insert_batch({1, 2}).accepted == 2);
    is_inside.wait();  // Whether to give up has been asked before.
    static_cast<void>(buffer.close(0ms));
    release.count_down();
    CHECK(eventually([&] { return buffer.ledger().in_flight == 0; }));
    CHECK(calls == 0);
    CHECK(buffer.ledger().dropped_closed == 2);
  }

  TEST_CASE("an on_drop is waited for, as long as it takes") {
    std::atomic<bool> is_over{false};
    Options options{.name = "slow-drop", .max_size = 2};
    options.retry = {.attempts = 1000, .initial_backoff = 24h, .max_backoff = 24h};
    options.on_drop = [&](std::span<int>, const DropInfo&) {
      std::this_thread::sleep_for(2500ms);  // longer than anything else is waited for, twice
      is_over = true;
    };
    std::latch has_failed{1};
    Buffer<int> buffer(options, [&](std::span<int>) {
      has_failed.count_down();
      return false;
    });
    REQUIRE(buffer.insert_batch({1, 2}).accepted == 2);
    has_failed.wait();
    CHECK(buffer.close(0ms).dropped == 2);
    CHECK(is_over);
  }

  TEST_CASE("a sync_flush that waits learns what was given up") {
    std::latch is_inside{1};
    std::latch release{1};
    Options options{.name = "told", .max_size = 2};
    Buffer<int> buffer(options, [&](std::span<int>) {
      is_inside.count_down();
      release.wait();
    });
    REQUIRE(buffer.insert_batch({1, 2, 3, 4, 5, 6}).accepted == 6);
    is_inside.wait();
    std::atomic<bool> is_waiting{false};
    databuffer::FlushReport report;
    Crew crew;
    crew.add([&] {
      is_waiting = true;
      report = buffer.sync_flush(kForever)[0];
    });
    REQUIRE(eventually([&] { return is_waiting.load(); }));
    std::this_thread::sleep_for(20ms);  // It most likely waits by now; else it answers kClosed.
    CHECK(buffer.close(0ms).dropped == 4);
    release.count_down();
    crew.join();
    if (report.status == CallStatus::kDone) {
      CHECK(report.items == 6);
      CHECK(report.failed_items == 4);
    } else {
      CHECK(report.status == CallStatus::kClosed);
    }
  }

  TEST_CASE("what its handler hands back after the deadline ends with the buffer, run by hand") {
    std::latch is_inside{1};
    std::latch release{1};
    std::atomic<std::size_t> ended{0};
    {
      Options options{.name = "by-hand", .partitions = 2, .max_size = 4, .capacity = 4};
      options.threading = databuffer::Threading::kManual;
      options.retry = {.attempts = 10, .initial_backoff = 24h, .max_backoff = 24h};
      options.on_drop = [&](std::span<int> items, const DropInfo&) { ended += items.size(); };
      Buffer<int> buffer(options, [&](std::span<int> items, const FlushContext& context) {
        if (context.partition_index == 0) return FlushResult::retry("busy", 24h);
        is_inside.count_down();
        release.wait();
        ended += items.size();
        return FlushResult::ok();
      });
      std::thread driver([&] {
        for (int item = 0; item < 8; ++item) {
          CHECK(buffer.try_insert(int{item}) == InsertStatus::kAccepted);
        }
        buffer.do_work(databuffer::steady_clock().now());
      });
      is_inside.wait();
      CHECK(buffer.close(0ms).in_flight == 8);
      release.count_down();
      driver.join();  // Nobody drives it any more.
      CHECK(buffer.ledger().in_flight == 4);
    }
    CHECK(ended == 8);
  }
}
