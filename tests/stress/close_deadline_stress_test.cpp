// Goal: after close has returned at its deadline nothing is pending and no handler call begins;
// after the destructor nothing of the user's runs or lives, but for a stuck handler call. What can
// still be flushed within the deadline is flushed. Method: close at random moments over a backlog,
// beside removals and inserts that are under way; latches where a moment matters. Items are
// counted, never times.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::CloseReport;
using databuffer::DropInfo;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::Options;
using databuffer::WaitStrategy;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Random;

/// What became of a buffer's items, as its user sees it.
struct Seen {
  std::atomic<std::uint64_t> flushed{0};
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<bool> is_closed{false};
  std::atomic<std::uint64_t> late_items{0};  // in calls that saw `is_closed` as they began
};

void close_over_a_backlog(Random& random) {
  Seen seen;
  std::atomic<bool> may_flush{false};
  std::uint64_t accepted = 0;
  std::uint64_t taken = 0;
  std::uint64_t in_flight = 0;
  {
    Options options{.name = "backlog", .partitions = random.number(1, 3)};
    options.max_size = random.pick<std::size_t>({1, 10, 1000});
    options.capacity = 100'000;
    options.flush_interval = kForever;
    options.close_timeout = 0s;
    options.wait_strategy = random.pick({WaitStrategy::kAdaptive, WaitStrategy::kPark});
    options.on_drop = [&](std::span<std::string> items, const DropInfo&) {
      seen.dropped += items.size();
    };
    Buffer<std::string> buffer(options, [&](std::span<std::string> items) {
      if (seen.is_closed) seen.late_items += items.size();
      while (!may_flush) std::this_thread::sleep_for(50us);
      seen.flushed += items.size();
    });
    for (int item = 0; item < 20'000; ++item) {
      if (buffer.try_insert(std::string("x")) == InsertStatus::kAccepted) ++accepted;
    }
    Crew crew;
    std::atomic<std::uint64_t> taken_items{0};
    if (random.one_in(3)) crew.add([&] { taken_items += buffer.take().size(); });
    if (random.one_in(3)) crew.add([&] { static_cast<void>(buffer.dump()); });
    may_flush = true;
    std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 1000)});
    const CloseReport report = buffer.close(random.pick<databuffer::Duration>({0us, 100us, 500us}));
    seen.is_closed = true;
    CHECK(buffer.size() == 0);
    crew.join();
    taken = taken_items;
    in_flight = report.in_flight;
    CHECK(report.dropped == seen.dropped);
    CHECK((report.status == CallStatus::kDone) == (report.dropped + report.in_flight == 0));
    CHECK(buffer.close().dropped == report.dropped);
  }
  // Calls that were inside the handler at the deadline may only now come to an end.
  CHECK(eventually([&] { return seen.flushed + seen.dropped + taken >= accepted; }));
  CHECK(seen.flushed + seen.dropped + taken == accepted);
  CHECK(seen.late_items <= in_flight);
}

/// Its move into the queue waits, where that is wished.
struct SlowItem {
  SlowItem() = default;
  explicit SlowItem(bool waits) : does_wait(waits) {}
  SlowItem(SlowItem&& other) noexcept : does_wait(std::exchange(other.does_wait, false)) {
    if (!does_wait) return;
    does_wait = false;
    is_inside->count_down();
    may_go_on->wait();
  }
  SlowItem& operator=(SlowItem&&) noexcept = default;
  bool does_wait = false;
  static inline std::latch* is_inside = nullptr;
  static inline std::latch* may_go_on = nullptr;
};

/// Something the user handed over, and whether it still lives or runs.
class Belongings {
 public:
  [[nodiscard]] std::shared_ptr<int> add() {
    std::shared_ptr<int> thing = std::make_shared<int>(0);
    things_.push_back(thing);
    return thing;
  }
  [[nodiscard]] std::size_t alive() const {
    std::size_t count = 0;
    for (const auto& thing : things_) {
      if (!thing.expired()) ++count;
    }
    return count;
  }

 private:
  std::vector<std::weak_ptr<int>> things_;
};

Options with_belongings(Belongings& own, std::atomic<int>& calls) {
  Options options{.name = "belongings", .max_size = 1, .flush_timeout = 1h};
  options.close_timeout = 1ms;
  options.max_bytes = 1000;
  options.flush_meta = own.add();
  options.weigh = [thing = own.add(), &calls](const int&) {
    ++calls;
    return std::size_t{1};
  };
  options.on_drop = [thing = own.add(), &calls](std::span<int>, const DropInfo&) { ++calls; };
  options.on_thread_start = [thing = own.add(), &calls](std::size_t) { ++calls; };
  options.on_thread_stop = [thing = own.add(), &calls](std::size_t) { ++calls; };
  return options;
}

}  // namespace

TEST_SUITE("close at its deadline") {
  TEST_CASE("nothing is pending, no handler call begins, and the report has every item") {
    Random random = databuffer::stress::printed_random();
    const Budget budget(3s);
    std::size_t rounds = 0;
    do {
      close_over_a_backlog(random);
      ++rounds;
    } while (budget.is_left());
    MESSAGE(rounds << " rounds");
  }

  TEST_CASE("an insert that is inside when the deadline passes has one end for its item") {
    std::latch is_inside{1};
    std::latch may_go_on{1};
    SlowItem::is_inside = &is_inside;
    SlowItem::may_go_on = &may_go_on;
    std::atomic<std::uint64_t> dropped{0};
    Options options{.name = "inside", .flush_interval = kForever};
    options.on_drop = [&](std::span<SlowItem> items, const DropInfo&) { dropped += items.size(); };
    Buffer<SlowItem> buffer(options, [](std::span<SlowItem>) {});
    InsertStatus status = InsertStatus::kFull;
    std::thread producer([&] {
      static_cast<void>(buffer.insert(SlowItem()));  // The seat is there: the next is fast.
      SlowItem item;
      item.does_wait = true;
      status = buffer.insert(std::move(item));
    });
    is_inside.wait();
    const CloseReport report = buffer.close(10ms);
    CHECK(report.status == CallStatus::kTimedOut);
    may_go_on.count_down();
    producer.join();
    REQUIRE(status == InsertStatus::kAccepted);
    CHECK(buffer.size() == 0);
    CHECK(buffer.ledger().balances());
    CHECK(buffer.ledger().flushed + dropped == 2);
  }

  TEST_CASE("of two closes the shorter one gives nothing up that the longer one has time for") {
    std::latch is_inside{1};
    std::latch may_return{1};
    Buffer<int> buffer({.name = "two", .max_size = 1, .capacity = 10}, [&](std::span<int>) {
      is_inside.count_down();
      may_return.wait();
    });
    for (int item = 0; item < 5; ++item)
      REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
    is_inside.wait();
    CloseReport longer;
    std::thread closer([&] { longer = buffer.close(kForever); });
    std::uint64_t accepted = 5;
    REQUIRE(eventually([&] {
      const InsertStatus status = buffer.try_insert(9);
      if (status == InsertStatus::kAccepted) ++accepted;
      return status == InsertStatus::kClosed;
    }));
    const CloseReport shorter = buffer.close(1ms);
    CHECK(shorter.status == CallStatus::kTimedOut);
    CHECK(shorter.dropped == 0);
    CHECK(shorter.ledger.pending == accepted - 1);
    may_return.count_down();
    closer.join();
    CHECK(longer.is_complete());
    CHECK(longer.ledger.flushed == accepted);
  }

  TEST_CASE("a batch is retried while the buffer closes, also one whose first call comes then") {
    std::atomic<int> calls{0};
    Options options{.name = "retried", .max_size = 5, .flush_interval = 1h, .capacity = 1000};
    options.retry = {.attempts = 6, .initial_backoff = 1ms, .max_backoff = 2ms};
    Buffer<int> buffer(options, [&](std::span<int>, const FlushContext& context) {
      ++calls;
      return context.attempt > 2;
    });
    for (int item = 0; item < 101; ++item) {
      REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
    }
    const CloseReport report = buffer.close(kForever);
    CHECK(report.is_complete());
    CHECK(report.ledger.flushed == 101);
    CHECK(calls == 3 * 21);
  }

  TEST_CASE("a pause that would outlast the deadline is cut short") {
    std::latch has_failed{1};
    Options options{.name = "cut", .max_size = 1};
    options.retry = {.attempts = 1000, .initial_backoff = 24h * 365, .max_backoff = 24h * 365};
    Buffer<int> buffer(options, [&](std::span<int>, const FlushContext& context) {
      if (context.attempt == 1) has_failed.count_down();
      return context.attempt > 1;
    });
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    has_failed.wait();
    CHECK(buffer.close(2s).is_complete());
  }

  TEST_CASE("a timeout of 0 with nothing left is done, whether or not the threads have ended") {
    for (int round = 0; round < 300; ++round) {
      Buffer<int> buffer({.name = "nothing", .partitions = 2, .max_size = 3},
                         [](std::span<int>) {});
      for (int item = 0; item < 7; ++item) {
        REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
      }
      for (const auto& report : buffer.sync_flush()) REQUIRE(report.status == CallStatus::kDone);
      const CloseReport report = buffer.close(0s);
      REQUIRE(report.is_complete());
      REQUIRE(report.ledger.flushed == 7);
    }
  }
}

TEST_SUITE("what belongs to the user") {
  TEST_CASE("is gone when the destructor has returned, however threads that inserted end") {
    for (const auto threading : {databuffer::Threading::kOwn, databuffer::Threading::kManual}) {
      for (int round = 0; round < 100; ++round) {
        Belongings own;
        std::atomic<int> calls{0};
        std::latch has_inserted{1};
        std::atomic<bool> may_end{false};
        std::thread producer;
        {
          Options options = with_belongings(own, calls);
          options.threading = threading;
          Buffer<int> buffer(std::move(options), [thing = own.add()](std::span<int>) {});
          buffer.telemetry().attach("hook", databuffer::EventSet::all(),
                                    [thing = own.add()](const databuffer::TelemetryEvent&) {});
          producer = std::thread([&] {
            static_cast<void>(buffer.insert(1));
            has_inserted.count_down();
            while (!may_end) std::this_thread::yield();
          });
          has_inserted.wait();
          may_end = round % 2 == 0;
        }
        REQUIRE(own.alive() == 0);
        may_end = true;
        producer.join();
      }
    }
  }

  TEST_CASE("outlives it only as far as a stuck handler call uses it, and is not called again") {
    Belongings own;
    std::atomic<int> calls{0};
    std::latch is_inside{1};
    std::latch may_return{1};
    /// Nor is the clock, which may go with the buffer.
    struct CountedClock final : databuffer::Clock {
      [[nodiscard]] databuffer::TimePoint now() const noexcept override {
        if (is_over) ++late_calls;
        return databuffer::steady_clock().now();
      }
      std::atomic<bool> is_over{false};
      mutable std::atomic<int> late_calls{0};
    } clock;
    {
      Options options = with_belongings(own, calls);
      options.capacity = 10;
      options.clock = &clock;
      Buffer<int> buffer(std::move(options), [&, thing = own.add()](std::span<int>) {
        is_inside.count_down();
        may_return.wait();
        return false;  // … which would be on_drop's.
      });
      buffer.telemetry().attach(
          "hook", databuffer::EventSet::all(),
          [thing = own.add(), &calls](const databuffer::TelemetryEvent&) { ++calls; });
      for (int item = 0; item < 5; ++item) {
        REQUIRE(buffer.insert(int{item}) == InsertStatus::kAccepted);
      }
      is_inside.wait();
    }
    CHECK(own.alive() == 2);  // the handler, and the meta that its context names
    clock.is_over = true;
    const int calls_by_then = calls;
    may_return.count_down();
    CHECK(eventually([&] { return own.alive() == 0; }));
    CHECK(eventually([] { return databuffer::stress::tasks_named("belongings").empty(); }));
    CHECK(calls == calls_by_then);
    CHECK(clock.late_calls == 0);
  }
}
