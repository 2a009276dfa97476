// Goal: threading = kManual beside other threads: handlers run on the thread that drives the buffer
// and on no other while it lives; a call that waits elsewhere asks it, and an overdue call is
// noticed. Method: one thread calls do_work, others call what waits.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::Options;
using databuffer::Threading;
using databuffer::stress::eventually;

Options by_hand() {
  return {.name = "driven",
          .partitions = 2,
          .max_size = 10,
          .flush_interval = 1h,
          .threading = Threading::kManual};
}

}  // namespace

TEST_SUITE("driving") {
  TEST_CASE("sync_flush and close of another thread leave the handlers to the thread that drives") {
    std::atomic<std::thread::id> driver{};
    std::atomic<int> elsewhere{0};
    std::atomic<bool> is_over{false};
    Buffer<int> buffer(by_hand(), [&](std::span<int>) {
      if (std::this_thread::get_id() != driver) ++elsewhere;
    });
    std::latch drives{1};
    std::thread loop([&] {
      driver = std::this_thread::get_id();
      buffer.do_work(databuffer::steady_clock().now());
      drives.count_down();
      while (!is_over) {
        if (buffer.do_work(databuffer::steady_clock().now()) == databuffer::TimePoint::max()) {
          std::this_thread::sleep_for(100us);
        }
      }
    });
    drives.wait();
    for (int round = 0; round < 50; ++round) {
      for (int item = 0; item < 7; ++item) {
        REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
      }
      for (const auto& report : buffer.sync_flush()) REQUIRE(report.status == CallStatus::kDone);
      REQUIRE(buffer.size() == 0);
    }
    for (int item = 0; item < 7; ++item) {
      REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
    }
    CHECK(buffer.close(kForever).is_complete());
    is_over = true;
    loop.join();
    CHECK(elsewhere == 0);
    CHECK(buffer.ledger().flushed == 51 * 7);
  }

  TEST_CASE("where the thread that drove has ended, a call that waits does the work") {
    Buffer<int> buffer(by_hand(), [](std::span<int>) {});
    std::thread([&] { buffer.do_work(databuffer::steady_clock().now()); }).join();
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    for (const auto& report : buffer.sync_flush()) CHECK(report.status == CallStatus::kDone);
    REQUIRE(buffer.insert(2) == InsertStatus::kAccepted);
    CHECK(buffer.close(kForever).ledger.flushed == 2);
  }

  TEST_CASE("while the thread that drives is stuck, a close elsewhere keeps its deadline") {
    std::latch is_inside{1};
    std::latch may_return{1};
    std::atomic<std::uint64_t> dropped{0};
    Options options = by_hand();
    options.on_drop = [&](std::span<int> items, const databuffer::DropInfo&) {
      dropped += items.size();
    };
    Buffer<int> buffer(options, [&](std::span<int>) {
      is_inside.count_down();
      may_return.wait();
    });
    for (int item = 0; item < 30; ++item) {
      REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
    }
    std::thread loop([&] { buffer.do_work(databuffer::steady_clock().now()); });
    is_inside.wait();
    const auto report = buffer.close(10ms);
    CHECK(report.status == CallStatus::kTimedOut);
    CHECK(report.in_flight == 10);
    CHECK(report.dropped == 20);
    CHECK(dropped == 20);
    CHECK(report.ledger.balances());
    may_return.count_down();
    loop.join();
    CHECK(buffer.ledger().flushed == 10);
  }

  TEST_CASE("an overdue call is noticed while it runs, and its stop token set") {
    std::atomic<bool> was_told{false};
    Options options = by_hand();
    options.flush_timeout = 1ms;
    Buffer<int> buffer(options, [&](std::span<int>, const FlushContext& context) {
      was_told = eventually([&] { return context.stop_token.stop_requested(); });
    });
    REQUIRE(buffer.insert_batch(std::vector<int>(10)).accepted == 10);
    buffer.do_work(databuffer::steady_clock().now());
    CHECK(was_told);
    CHECK(buffer.info()[0].overdue_batches + buffer.info()[1].overdue_batches == 1);
    CHECK(buffer.close().is_complete());
  }

  TEST_CASE("an insert of another thread waits for room that the driver makes") {
    Options options = by_hand();
    options.partitions = 1;
    options.capacity = 10;
    Buffer<int> buffer(options, [](std::span<int>) {});
    REQUIRE(buffer.insert_batch(std::vector<int>(10)).accepted == 10);
    std::atomic<bool> is_in{false};
    std::thread producer([&] { is_in = buffer.insert(1, kForever) == InsertStatus::kAccepted; });
    const bool came_in = eventually([&] {
      buffer.do_work(databuffer::steady_clock().now());
      return is_in.load();
    });
    producer.join();
    CHECK(came_in);
    CHECK(buffer.close().ledger.flushed == 11);
  }
}
