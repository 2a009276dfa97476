// Goal: with retry.isolate every item but the bad ones is delivered, in order, with no more calls
// than promised.
// Method: one thread, and a handler that refuses each batch with a bad item in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/retry_buffer.hpp"

namespace {

using namespace databuffer;
using databuffer::support::RetryBuffer;

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
