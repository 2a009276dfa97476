// Retry: what becomes of a batch whose handler does not answer ok.
//
// Goal: every item has one end, in order, with no more calls than promised.
// Method: one thread; the test's clock decides when a pause is over.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "engine/backoff.hpp"
#include "support/retry_buffer.hpp"

namespace {

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::kThreeTimes;
using databuffer::support::RetryBuffer;

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

}  // namespace
