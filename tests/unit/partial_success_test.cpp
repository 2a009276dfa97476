// Goal: of a batch whose handler names some items, only these are tried again or dropped; the
// others are flushed at once. Method: one thread, and a handler that names items; the test's clock
// decides when a pause is over.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/retry_buffer.hpp"

namespace {

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::kThreeTimes;
using databuffer::support::RetryBuffer;

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

}  // namespace
