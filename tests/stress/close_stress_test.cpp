// Goal: close loses nothing, hangs nobody, keeps its deadline, and says what became of every item.
// Method: close at random moments against inserts at full rate, blocked inserts and stuck handlers.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <list>
#include <memory>
#include <string>
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
using databuffer::CloseReport;
using databuffer::DropInfo;
using databuffer::DropReason;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::WaitStrategy;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Findings;
using databuffer::stress::Item;
using databuffer::stress::kHangLimit;
using databuffer::stress::Random;
using databuffer::stress::Witness;

constexpr std::uint32_t kMostItems = 20'000;  // of one producer in a round

/// One buffer that is closed, at a random time, while producers insert.
class CloseRace {
 public:
  explicit CloseRace(Random& random)
      : producers_(random.number(1, 8)),
        partitions_(random.number(1, 4)),
        witness_(producers_, partitions_, kMostItems) {}

  void run(Random& random) {
    Buffer<Item> buffer(
        {.name = "race",
         .partitions = partitions_,
         .max_size = random.pick<std::size_t>({1, 10, 1000}),
         .flush_interval = random.pick<databuffer::Duration>({100us, 1h}),
         .insert_timeout = databuffer::kForever,
         .wait_strategy = random.pick({WaitStrategy::kAdaptive, WaitStrategy::kPark})},
        [this](std::span<Item> items, const FlushContext& context) {
          witness_.saw(context.partition_index, items);
          witness_.ended(items);
        });
    Crew crew;
    for (std::uint32_t index = 0; index < producers_; ++index) {
      crew.add([this, &buffer, index, seed = random.seed()] { produce(buffer, index, seed); });
    }
    std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 3000)});
    const std::size_t closers = random.number(1, 3);
    crew.add(closers - 1, [this, &buffer](std::size_t) { close(buffer); });
    close(buffer);
    // The report is final at once, whether or not the producers have noticed.
    const std::uint64_t accepted = buffer.ledger().accepted;
    crew.join();
    CHECK(buffer.ledger().accepted == accepted);
    CHECK(buffer.ledger().flushed == witness_.taken_items());
    CHECK(buffer.ledger().balances());
    REQUIRE(witness_.verdict() == "");
  }

 private:
  void produce(Buffer<Item>& buffer, std::uint32_t index, std::uint64_t seed) {
    Random random(seed);
    for (std::uint32_t sequence = 0; sequence < kMostItems;) {
      if (random.one_in(4)) {
        std::vector<Item> items;
        for (; items.size() < 5 && sequence < kMostItems; ++sequence)
          items.push_back({index, sequence});
        const auto result = buffer.insert_batch(items);
        for (std::size_t item = 0; item < result.accepted; ++item) witness_.took(items[item]);
        if (result.status == InsertStatus::kClosed) return;
        if (result.status != InsertStatus::kAccepted) witness_.findings().add("a batch is refused");
      } else {
        const Item item{index, sequence++};
        const InsertStatus status = buffer.insert(item);
        if (status == InsertStatus::kClosed) return;
        if (status != InsertStatus::kAccepted) witness_.findings().add("an item is refused");
        witness_.took(item);
      }
    }
  }

  void close(Buffer<Item>& buffer) {
    const CloseReport report = buffer.close(databuffer::kForever);
    if (report.status != CallStatus::kDone || report.dropped != 0 || report.in_flight != 0 ||
        report.ledger.pending != 0 || !report.ledger.balances()) {
      witness_.findings().add("close leaves something behind");
    }
  }

  std::size_t producers_;
  std::size_t partitions_;
  Witness witness_;
};

/// A handler that blocks, in every partition, until told.
class StuckHandler {
 public:
  void operator()(std::span<Item> /*items*/) {
    ++inside;
    may_return.wait();
    ++left;
  }
  /// Whether every call has returned.
  [[nodiscard]] bool is_free() const { return left == inside; }
  std::atomic<int> inside{0};
  std::atomic<int> left{0};
  std::latch may_return{1};
};

}  // namespace

TEST_SUITE("close") {
  TEST_CASE("against inserts at any time: accepted is flushed, refused is closed") {
    Random random = databuffer::stress::printed_random();
    const Budget budget(2s);
    std::size_t rounds = 0;
    do {
      CloseRace(random).run(random);
      ++rounds;
    } while (budget.is_left());
    MESSAGE(rounds << " rounds");
  }

  TEST_CASE("inserts that wait return closed, with their items, and the report adds up") {
    constexpr std::size_t kProducers = 16;
    StuckHandler handler;
    std::atomic<std::uint64_t> dropped{0};
    Options options{.name = "full", .max_size = 1, .capacity = 2};
    options.insert_timeout = databuffer::kForever;
    options.on_drop = [&](std::span<std::unique_ptr<int>> items, const databuffer::DropInfo& info) {
      if (info.reason == DropReason::kClosed) dropped += items.size();
    };
    Buffer<std::unique_ptr<int>> buffer(std::move(options),
                                        [&](std::span<std::unique_ptr<int>>) { handler({}); });
    // One in the handler's hands, then full. (The refusal also tells the gate of our last items.)
    REQUIRE(buffer.insert(std::make_unique<int>(0)) == InsertStatus::kAccepted);
    REQUIRE(eventually([&] { return handler.inside == 1; }));
    std::uint64_t pending = 0;
    while (buffer.try_insert(std::make_unique<int>(0)) == InsertStatus::kAccepted) ++pending;
    REQUIRE(pending == 2);
    std::atomic<std::size_t> blocked{0};
    buffer.telemetry().attach("count", databuffer::Event::kBlocked,
                              [&](const databuffer::TelemetryEvent&) { ++blocked; });
    Findings findings;
    Crew crew;
    crew.add(kProducers, [&](std::size_t index) {
      auto item = std::make_unique<int>(static_cast<int>(index));
      const InsertStatus status = buffer.insert(std::move(item));
      if (status != InsertStatus::kClosed) findings.add(std::string(to_string(status)));
      if (item == nullptr || *item != static_cast<int>(index)) findings.add("the item is gone");
    });
    REQUIRE(eventually([&] { return blocked == kProducers; }));
    const CloseReport report = buffer.close(100ms);
    crew.join();
    CHECK(findings.text() == "");
    CHECK(report.status == CallStatus::kTimedOut);
    CHECK(report.dropped == 2);
    CHECK(report.in_flight == 1);
    CHECK(report.ledger.accepted == 3);
    CHECK(report.ledger.balances());
    CHECK(dropped == 2);
    handler.may_return.count_down();
    CHECK(eventually([&] { return handler.is_free(); }));
    // Waits for the whole: while the call returns, its item counts as flushed and as in flight.
    const databuffer::Ledger expected{.accepted = 3,
                                      .flushed = 1,
                                      .dropped_closed = 2,
                                      .refused_full = 1,
                                      .refused_closed = kProducers};
    CHECK(eventually([&] { return buffer.ledger() == expected; }));
  }

  TEST_CASE(
      "a stuck handler delays nobody beyond their own timeouts, and its threads end with it") {
    StuckHandler handler;
    std::atomic<std::uint64_t> dropped{0};
    Options options{.name = "stuck", .partitions = 3, .max_size = 4, .close_timeout = 50ms};
    options.capacity = 4;
    options.on_drop = [&](std::span<Item> items, const databuffer::DropInfo&) {
      dropped += items.size();
    };
    {
      Buffer<Item> buffer(std::move(options), std::ref(handler));
      std::uint64_t accepted = 0;
      REQUIRE(eventually([&] {
        while (buffer.try_insert(Item{}) == InsertStatus::kAccepted) ++accepted;
        return handler.inside == 3;
      }));
      while (buffer.try_insert(Item{}) == InsertStatus::kAccepted) ++accepted;
      REQUIRE(accepted == 3 * (4 + 4));
      CHECK(buffer.insert(Item{}, 1ms) == InsertStatus::kTimedOut);
      CHECK(buffer.sync_flush(1ms)[0].status == CallStatus::kTimedOut);

      const CloseReport report = buffer.close(50ms);
      CHECK(report.status == CallStatus::kTimedOut);
      CHECK(report.ledger.accepted == accepted);
      CHECK(report.dropped == 12);
      CHECK(report.in_flight == 12);
      CHECK(report.ledger.balances());
      CHECK(dropped == 12);
      // Again: nothing is reported twice.
      CHECK(buffer.close(1ms).dropped == 12);
      CHECK(dropped == 12);
    }  // The destructor does not wait again: it would, with nobody to wake it.
    CHECK(databuffer::stress::tasks_named("stuck.").size() == 3);
    handler.may_return.count_down();
    CHECK(eventually([&] { return handler.is_free(); }));
    CHECK(eventually([] { return databuffer::stress::tasks_named("stuck.").empty(); }));
  }

  TEST_CASE("the destructor gives a stuck handler up when close_timeout has passed") {
    auto handler = std::make_shared<StuckHandler>();
    {
      Buffer<Item> buffer({.name = "given-up", .max_size = 1, .close_timeout = 50ms},
                          [handler](std::span<Item> items) { (*handler)(items); });
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
      REQUIRE(eventually([&] { return handler->inside == 1; }));
    }
    handler->may_return.count_down();
    CHECK(eventually([] { return databuffer::stress::tasks_named("given-up").empty(); }));
  }

  TEST_CASE("a hook on an overdue handler that blocks does not hold close up") {
    std::latch may_return{1};
    std::latch is_blocked{1};
    Buffer<Item> buffer({.name = "hooked", .max_size = 1, .flush_timeout = 5ms},
                        [&](std::span<Item>) { is_blocked.wait(); });
    buffer.telemetry().attach("block", databuffer::Event::kOverdue,
                              [&](const databuffer::TelemetryEvent&) {
                                is_blocked.count_down();
                                may_return.wait();
                              });
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    is_blocked.wait();
    // The handler returns, the hook does not: close ends, or the watchdog ends the test.
    const CloseReport report = buffer.close(200ms);
    CHECK(report.status == CallStatus::kDone);
    CHECK(report.ledger.flushed == 1);
    may_return.count_down();
    CHECK(eventually([] { return databuffer::stress::tasks_named("hooked").empty(); }));
  }

  TEST_CASE("nothing inserted, nothing handled") {
    std::atomic<int> calls{0};
    Buffer<Item> buffer(
        {.name = "empty", .partitions = 4, .flush_interval = 1ms, .flush_jitter = 0ms},
        [&](std::span<Item>) { ++calls; });
    std::this_thread::sleep_for(50ms);
    buffer.flush();
    CHECK(buffer.sync_flush()[0].status == CallStatus::kDone);
    CHECK(buffer.close().status == CallStatus::kDone);
    CHECK(calls == 0);
  }

  TEST_CASE("what a waiting range has read, and cannot take back, is in the report") {
    std::latch is_inside{1};
    std::latch release{1};
    std::atomic<std::size_t> dropped{0};
    Options options{.name = "stranded", .max_size = 2, .flush_interval = 1h, .capacity = 2};
    options.max_bytes = options.capacity_bytes = 2;
    options.weigh = [](const int&) { return std::size_t{1}; };
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(info.reason == databuffer::DropReason::kClosed);
      dropped += items.size();
    };
    Buffer<int> buffer(options, [&](std::span<int>) {
      is_inside.count_down();
      release.wait();
    });
    REQUIRE(buffer.insert_batch({1, 2}).accepted == 2);
    is_inside.wait();
    REQUIRE(buffer.insert_batch({3, 4}).accepted == 2);
    Crew crew;
    crew.add([&] {
      const auto result = buffer.insert_batch(std::list<int>{5, 6, 7}, databuffer::kForever);
      CHECK(result.status == InsertStatus::kClosed);
      CHECK(result.accepted == 1);  // It was read ahead; the list's others are its own.
    });
    crew.add([&] {
      // Once the range has been refused; its thread is on its way to on_drop, or through.
      while (dropped == 0) std::this_thread::yield();
      release.count_down();
    });
    std::this_thread::sleep_for(20ms);  // It most likely waits by now.
    const CloseReport report = buffer.close(databuffer::kForever);
    crew.join();
    CHECK(dropped == 1);
    CHECK_FALSE(report.is_complete());
    CHECK(report.dropped == 1);
    CHECK(report.ledger.flushed == 4);
  }
}
