// Retry, partial success, poison split: what becomes of a batch whose handler does not answer ok.
//
// Goal: every item has one end, in order, with no more calls than promised.
// Method: one thread; the test's clock decides when a pause is over.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <stdexcept>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "engine/backoff.hpp"

namespace {

using namespace databuffer;
using namespace std::chrono_literals;

struct Call {
  std::vector<int> items;
  std::uint64_t batch_id;
  std::uint32_t attempt;
  TimePoint at;
};

/// A hand-run buffer of ints whose handler is the test's, and every call of it.
class RetryBuffer {
 public:
  using Answer = std::function<FlushResult(Batch<int>&, const FlushContext&)>;

  RetryBuffer(Retry retry, Answer answer, std::size_t max_size = 4)
      : answer_(std::move(answer)),
        buffer_(
            {.name = "retry",
             .max_size = max_size,
             .flush_jitter = 0ns,
             .retry = retry,
             .on_drop =
                 [this](std::span<int> items, const DropInfo& info) {
                   dropped.insert(dropped.end(), items.begin(), items.end());
                   drop_errors.emplace_back(info.error);
                 },
             .threading = Threading::kManual,
             .clock = &clock,
             .seed = 7},
            [this](Batch<int>& batch, const FlushContext& context) {
              calls.push_back(
                  {{batch.begin(), batch.end()}, context.batch_id, context.attempt, clock.now()});
              return answer_(batch, context);
            }) {}

  void insert(int first, int last) {
    for (int value = first; value <= last; ++value) {
      REQUIRE(buffer_.insert(int{value}) == InsertStatus::kAccepted);
    }
  }

  /// Runs whatever is due now.
  void run() {
    while (buffer_.do_work(clock.now()) <= clock.now()) {
    }
  }

  /// Runs until nothing is due but by an insert; moves the clock to each deadline on the way.
  void run_out() {
    for (TimePoint next = buffer_.do_work(clock.now()); next != TimePoint::max();
         next = buffer_.do_work(clock.now())) {
      if (next > clock.now()) clock.advance(next - clock.now());
    }
  }

  [[nodiscard]] TimePoint next() const noexcept { return buffer_.next_deadline(); }

  Buffer<int>& buffer() { return buffer_; }
  void check_ledger() {
    CHECK(buffer_.ledger().balances());
    CHECK(buffer_.ledger().in_flight == 0);
  }

  ManualClock clock{TimePoint{1h}};
  std::vector<Call> calls;
  std::vector<int> dropped;
  std::vector<std::string> drop_errors;

 private:
  Answer answer_;
  Buffer<int> buffer_;
};

constexpr Retry kThreeTimes{.attempts = 3, .initial_backoff = 100ms, .max_backoff = 1s};

TEST_SUITE("retry") {
  TEST_CASE("a batch is tried again with the same id and items, and a growing attempt") {
    RetryBuffer test(kThreeTimes, [](auto&, const FlushContext& context) {
      return context.attempt < 3 ? FlushResult::retry("busy") : FlushResult::ok();
    });
    test.insert(1, 4);
    test.run_out();
    REQUIRE(test.calls.size() == 3);
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
      CHECK(test.calls[attempt - 1].items == std::vector{1, 2, 3, 4});
      CHECK(test.calls[attempt - 1].attempt == attempt);
      CHECK(test.calls[attempt - 1].batch_id == test.calls[0].batch_id);
    }
    CHECK(test.buffer().ledger().flushed == 4);
    CHECK(test.buffer().info()[0].retries == 2);
    test.check_ledger();
  }

  TEST_CASE("the next batch does not overtake one that is being retried") {
    RetryBuffer test(kThreeTimes, [](auto&, const FlushContext& context) {
      return context.batch_id == 1 && context.attempt == 1 ? FlushResult::retry("once")
                                                           : FlushResult::ok();
    });
    test.insert(1, 12);
    test.run();
    CHECK(test.calls.size() == 1);  // All else waits behind it.
    test.run_out();
    REQUIRE(test.calls.size() == 4);
    CHECK(test.calls[1].items == std::vector{1, 2, 3, 4});
    CHECK(test.calls[2].items == std::vector{5, 6, 7, 8});
    CHECK(test.calls[3].items == std::vector{9, 10, 11, 12});
  }

  TEST_CASE("while a batch waits for its retry it is in flight, and the ledger balances") {
    RetryBuffer test(kThreeTimes, [](auto&, auto&) { return FlushResult::retry("busy"); });
    test.insert(1, 4);
    test.run();
    CHECK(test.buffer().ledger().in_flight == 4);
    CHECK(test.buffer().ledger().balances());
  }

  TEST_CASE("between two attempts there is nothing to do, and no call before the pause is over") {
    RetryBuffer test({.attempts = 5, .initial_backoff = 1s, .max_backoff = 1s},
                     [](Batch<int>&, const FlushContext&) { return FlushResult::retry("later"); });
    test.insert(1, 4);
    for (std::size_t attempt = 1; attempt < 5; ++attempt) {
      test.run();
      REQUIRE(test.calls.size() == attempt);
      const TimePoint due = test.next();
      REQUIRE(due > test.clock.now());
      test.insert(5, 6);  // What waits behind does not hurry it.
      CHECK(test.next() == due);
      test.clock.advance(due - test.clock.now() - 1ns);
      test.run();
      CHECK(test.calls.size() == attempt);
      test.clock.advance(1ns);
    }
  }

  TEST_CASE("after the last attempt the batch fails, and goes to on_drop with the error") {
    RetryBuffer test(kThreeTimes, [](auto&, auto&) { return FlushResult::retry("no route"); });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.calls.size() == 3);
    CHECK(test.dropped == std::vector{1, 2, 3, 4});
    CHECK(test.drop_errors == std::vector<std::string>{"no route"});
    CHECK(test.buffer().ledger().failed == 4);
    test.check_ledger();
  }

  TEST_CASE("a failed result is final, whatever attempts are left") {
    RetryBuffer test(kThreeTimes, [](auto&, auto&) { return FlushResult::failed("bad data"); });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.calls.size() == 1);
    CHECK(test.buffer().ledger().failed == 4);
  }

  TEST_CASE("an exception asks for a retry, or is final, as the option says") {
    Retry retry = kThreeTimes;
    std::size_t expected = 3;
    SUBCASE("retry") {}
    SUBCASE("final") {
      retry.on_exception = false;
      expected = 1;
    }
    RetryBuffer test(retry, [](auto&, auto&) -> FlushResult { throw std::runtime_error("boom"); });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.calls.size() == expected);
    CHECK(test.drop_errors == std::vector<std::string>{"boom"});
  }

  TEST_CASE("no retry before the result's own time, nor after total_time") {
    Retry retry = kThreeTimes;
    retry.total_time = 30s;
    RetryBuffer test(retry, [](auto&, const FlushContext& context) {
      return FlushResult::retry("later", context.attempt == 1 ? Duration{20s} : Duration{20s});
    });
    test.insert(1, 4);
    test.run_out();
    REQUIRE(test.calls.size() == 2);  // The third would begin 40 s after the first.
    CHECK(test.calls[1].at - test.calls[0].at >= 20s);
    CHECK(test.buffer().ledger().failed == 4);
  }

  TEST_CASE("pauses grow by two up to max_backoff, with full jitter") {
    detail::Backoff backoff({.attempts = 9, .initial_backoff = 100ms, .max_backoff = 1s}, 5);
    CHECK(backoff.ceiling(1) == 100ms);
    CHECK(backoff.ceiling(2) == 200ms);
    CHECK(backoff.ceiling(4) == 800ms);
    CHECK(backoff.ceiling(5) == 1s);
    CHECK(backoff.ceiling(1'000'000) == 1s);
    const detail::Backoff none({.initial_backoff = 0ns, .max_backoff = 1h}, 1);
    for (const std::uint32_t attempt : {1U, 63U, 64U, 1'000'000U}) {
      CHECK(none.ceiling(attempt) == 0ns);
    }
    Duration shortest = kForever;
    Duration longest{};
    for (int draw = 0; draw < 1000; ++draw) {
      const Duration pause = backoff.draw(4);
      REQUIRE(pause >= 0ns);
      REQUIRE(pause <= 800ms);
      shortest = std::min(shortest, pause);
      longest = std::max(longest, pause);
    }
    CHECK(shortest < 80ms);
    CHECK(longest > 720ms);
    CHECK(detail::Backoff({.initial_backoff = kForever, .max_backoff = kForever}, 1).ceiling(9) ==
          kForever);
  }

  TEST_CASE(
      "close tries a batch as often as the options say, without the pauses of a test's clock") {
    int calls_until_up = 1;
    RetryBuffer test(Retry{.attempts = 5, .initial_backoff = 1h, .max_backoff = 1h},
                     [&](auto&, auto&) {
                       return calls_until_up-- > 0 ? FlushResult::retry("down") : FlushResult::ok();
                     });
    test.insert(1, 4);
    SUBCASE("one that waits for its retry") {
      test.run();
      REQUIRE(test.calls.size() == 1);
      const CloseReport report = test.buffer().close(10s);
      CHECK(report.is_complete());
      CHECK(report.ledger.flushed == 4);
      CHECK(test.calls.size() == 2);
    }
    SUBCASE("one whose first call comes then") {
      calls_until_up = 4;
      CHECK(test.buffer().close(10s).is_complete());
      CHECK(test.calls.size() == 5);
    }
    SUBCASE("and no more often: then it has failed, and the report says so") {
      calls_until_up = 5;
      const CloseReport report = test.buffer().close(10s);
      CHECK(report.status == CallStatus::kDone);
      CHECK(report.failed == 4);
      CHECK_FALSE(report.is_complete());
      CHECK(test.dropped == std::vector{1, 2, 3, 4});
      CHECK(test.calls.size() == 5);
    }
    SUBCASE("out of time, what waits for its retry is given up") {
      calls_until_up = 100;
      const CloseReport report = test.buffer().close(0s);
      CHECK(report.status == CallStatus::kTimedOut);
      CHECK(report.dropped == 4);
      CHECK(report.in_flight == 0);
      CHECK(test.dropped == std::vector{1, 2, 3, 4});
    }
    test.check_ledger();
  }

  TEST_CASE("a batch whose items were taken out is not retried and not given to on_drop") {
    std::vector<int> taken;
    RetryBuffer test(kThreeTimes, [&](Batch<int>& batch, auto&) {
      taken = batch.take();
      return FlushResult::retry("too late");
    });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.calls.size() == 1);
    CHECK(taken == std::vector{1, 2, 3, 4});
    CHECK(test.dropped.empty());
    CHECK(test.buffer().ledger().failed == 4);
    test.check_ledger();
  }

  TEST_CASE("taking the items and then throwing is not retried either") {
    RetryBuffer test(kThreeTimes, [&](Batch<int>& batch, auto&) -> FlushResult {
      static_cast<void>(batch.take());
      throw std::runtime_error("after taking");
    });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.calls.size() == 1);
    CHECK(test.dropped.empty());
    CHECK(test.buffer().ledger().failed == 4);
  }
}

TEST_SUITE("partial success") {
  TEST_CASE("only the named items are retried, in order; the others are flushed at once") {
    RetryBuffer test(kThreeTimes, [](auto&, const FlushContext& context) {
      return context.attempt == 1 ? FlushResult::retry("two left").only_items({3, 1})
                                  : FlushResult::ok();
    });
    test.insert(1, 4);
    test.run();
    CHECK(test.buffer().ledger().flushed == 2);
    CHECK(test.buffer().ledger().in_flight == 2);
    CHECK(test.buffer().ledger().balances());
    test.run_out();
    REQUIRE(test.calls.size() == 2);
    CHECK(test.calls[1].items == std::vector{2, 4});
    CHECK(test.buffer().ledger().flushed == 4);
    test.check_ledger();
  }

  TEST_CASE("only the named items of a failed result are dropped") {
    RetryBuffer test({},
                     [](auto&, auto&) { return FlushResult::failed("one bad").only_items({2}); });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.dropped == std::vector{3});
    CHECK(test.buffer().ledger().flushed == 3);
    CHECK(test.buffer().ledger().failed == 1);
    test.check_ledger();
  }

  TEST_CASE("repeated indices count once, those out of range not at all, and none left means all") {
    std::vector<std::size_t> named;
    std::vector<int> expected;
    SUBCASE("repeated") {
      named = {1, 1, 1};
      expected = {2};
    }
    SUBCASE("out of range beside a good one") {
      named = {99, 0};
      expected = {1};
    }
    SUBCASE("only out of range") {
      named = {4, 5};
      expected = {1, 2, 3, 4};
    }
    SUBCASE("all") {
      named = {3, 2, 1, 0};
      expected = {1, 2, 3, 4};
    }
    RetryBuffer test({},
                     [&](auto&, auto&) { return FlushResult::failed("bad").only_items(named); });
    test.insert(1, 4);
    test.run_out();
    CHECK(test.dropped == expected);
    test.check_ledger();
  }

  TEST_CASE("sync_flush reports the failed items of a partial success") {
    RetryBuffer test(
        {}, [](auto&, auto&) { return FlushResult::failed("one").only_items({0}); }, 100);
    test.insert(1, 10);
    const auto reports = test.buffer().sync_flush(10s);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].items == 10);
    CHECK(reports[0].failed_items == 1);
    REQUIRE(reports[0].result != nullptr);
    CHECK(reports[0].result->message() == "one");
  }
}

TEST_SUITE("isolate") {
  constexpr Retry kIsolate{.attempts = 1, .isolate = true};

  FlushResult refuse(Batch<int> & batch, const std::vector<int>& poison) {
    const bool is_bad = std::any_of(batch.begin(), batch.end(), [&](int item) {
      return std::find(poison.begin(), poison.end(), item) != poison.end();
    });
    return is_bad ? FlushResult::failed("poison") : FlushResult::ok();
  }

  TEST_CASE("every item but the bad ones is delivered, in order, within the calls promised") {
    std::vector<int> poison;
    SUBCASE("one in the middle") { poison = {500}; }
    SUBCASE("the first") { poison = {1}; }
    SUBCASE("the last") { poison = {1000}; }
    SUBCASE("neighbours") { poison = {500, 501}; }
    SUBCASE("far apart") { poison = {3, 400, 997}; }
    std::vector<int> delivered;
    RetryBuffer test(
        kIsolate,
        [&](Batch<int>& batch, auto&) {
          FlushResult result = refuse(batch, poison);
          if (result.is_ok()) delivered.insert(delivered.end(), batch.begin(), batch.end());
          return result;
        },
        1000);
    test.insert(1, 1000);
    test.run_out();
    CHECK(test.dropped == poison);
    CHECK(delivered.size() == 1000 - poison.size());
    CHECK(std::is_sorted(delivered.begin(), delivered.end()));
    const std::size_t levels = std::bit_width(1000U - 1);
    CHECK(test.calls.size() <= poison.size() * (2 * levels + 1));
    CHECK(test.buffer().ledger().failed == poison.size());
    test.check_ledger();
  }

  TEST_CASE("a batch in which all is bad ends as well") {
    RetryBuffer test(
        kIsolate, [](auto&, auto&) { return FlushResult::failed("all"); }, 64);
    test.insert(1, 64);
    test.run_out();
    CHECK(test.calls.size() == 2 * 64 - 1);
    CHECK(test.buffer().ledger().failed == 64);
    test.check_ledger();
  }

  TEST_CASE("do_work makes one call at a time while it halves") {
    RetryBuffer test(kIsolate, [](auto&, auto&) { return FlushResult::failed("all"); });
    test.insert(1, 4);
    test.buffer().do_work(test.clock.now());
    CHECK(test.calls.size() == 1);
    test.buffer().do_work(test.clock.now());
    CHECK(test.calls.size() == 2);
  }
}

}  // namespace
