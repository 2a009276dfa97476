// Goal: a result may say of each item whether it failed or is to be tried again, and why; on_drop
// hears it of each. Method: one thread, by hand, and a handler that answers by attempt.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// What on_drop was told.
struct Told {
  std::vector<int> items;
  std::vector<std::string> reasons;
  LastAnswer last_answer;
  std::uint32_t attempts;
};

/// Ten items, 0 … 9, in one batch; `answer` says what the handler answers to each attempt.
class Ten {
 public:
  using Answer = std::function<FlushResult(std::uint32_t attempt)>;

  Ten(Retry retry, Answer answer)
      : buffer_(options(retry), [this, answer](Batch<int>& batch, const FlushContext& context) {
          calls.emplace_back(batch.begin(), batch.end());
          return answer(context.attempt);
        }) {
    CHECK(buffer_->insert_batch(numbers(0, 10)).accepted == 10);
  }

  /// Flushes, and lets all pauses pass.
  void run() {
    buffer_->flush();
    for (int look = 0; look < 50; ++look) {
      buffer_.work_all();
      buffer_.advance(1h);
    }
    CHECK(buffer_->ledger().balances());
    CHECK(buffer_->ledger().in_flight == 0);
  }
  [[nodiscard]] Buffer<int>* operator->() { return &*buffer_; }

  std::vector<std::vector<int>> calls;
  std::vector<Told> told;

 private:
  Options options(Retry retry) {
    Options options{.max_size = 10, .retry = retry};
    options.on_drop = [this](std::span<int> items, const DropInfo& info) {
      Told& heard = told.emplace_back(
          Told{{items.begin(), items.end()}, {}, info.last_answer, info.attempts});
      for (std::size_t index = 0; index < items.size(); ++index) {
        heard.reasons.emplace_back(info.reason_of(index));
      }
    };
    return options;
  }

  ManualBuffer<int> buffer_;
};

constexpr Retry kThreeTimes{.attempts = 3, .initial_backoff = 0s, .max_backoff = 0s};
using Words = std::vector<std::string>;

}  // namespace

TEST_SUITE("item results") {
  TEST_CASE("those that failed are dropped at once, the busy ones tried again, the rest flushed") {
    Ten test(kThreeTimes, [](std::uint32_t attempt) {
      FlushResult result = FlushResult::ok();
      if (attempt > 1) return result;
      result.fail_item(3, "breaks a constraint");
      result.retry_item(7, "locked").retry_item(1, "locked");
      return result;
    });
    test.run();
    CHECK(test.calls.size() == 2);
    CHECK(test.calls[1] == std::vector{1, 7});  // in their order
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == std::vector{3});
    CHECK(test.told[0].reasons == Words{"breaks a constraint"});
    CHECK(test.told[0].last_answer == LastAnswer::kRejected);
    CHECK(test.told[0].attempts == 1);
    CHECK(test->ledger() == Ledger{.accepted = 10, .flushed = 9, .failed = 1});
  }

  TEST_CASE("what is busy to the last attempt is dropped with each item's last reason") {
    Ten test(kThreeTimes, [](std::uint32_t attempt) {
      if (attempt == 1) return FlushResult::ok().retry_item(2, "first").retry_item(5, "first");
      return FlushResult::ok().retry_item(0, "two").retry_item(1, "five");
    });
    test.run();
    CHECK(test.calls.size() == 3);
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == std::vector{2, 5});
    CHECK(test.told[0].reasons == Words{"two", "five"});
    CHECK(test.told[0].last_answer == LastAnswer::kExhausted);
    CHECK(test.told[0].attempts == 3);
    CHECK(test->info()[0].last_error == "two");
  }

  TEST_CASE("the longest of the items' pauses counts") {
    Ten test({.attempts = 2, .initial_backoff = 0s, .max_backoff = 0s}, [](std::uint32_t attempt) {
      if (attempt > 1) return FlushResult::ok();
      return FlushResult::ok()
          .retry_item(0, "busy", 5s)
          .retry_item(1, "busy", 30s)
          .retry_item(2, "busy");
    });
    test->flush();
    const TimePoint now = test->next_deadline();
    CHECK(test->do_work(now) == now + 30s);
  }

  TEST_CASE("a reason that an item has not is the whole result's") {
    Ten test({}, [](std::uint32_t) {
      return FlushResult::failed("all of it").only_items({4, 6}).fail_item(8, "eight");
    });
    test.run();
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == std::vector{4, 6, 8});
    CHECK(test.told[0].reasons == Words{"all of it", "all of it", "eight"});
  }

  TEST_CASE("the first word about an item counts, and indices out of range do not") {
    Ten test({}, [](std::uint32_t) {
      FlushResult result;
      result.fail_item(4, "first").retry_item(4, "second").fail_item(10, "nobody");
      return result;
    });
    test.run();
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == std::vector{4});
    CHECK(test.told[0].reasons == Words{"first"});
  }

  TEST_CASE("where no named item is left the result is about all") {
    Ten test({}, [](std::uint32_t) { return FlushResult::ok().fail_item(99, "somebody"); });
    test.run();
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == numbers(0, 10));
    CHECK(test.told[0].reasons == Words(10, "somebody"));
  }

  TEST_CASE("isolate halves what is busy to the end, not what was named as failed") {
    Ten test({.isolate = true}, [](std::uint32_t attempt) {
      if (attempt > 1) return FlushResult::ok();
      return FlushResult::ok().fail_item(0, "bad").retry_item(1, "busy").retry_item(2, "busy");
    });
    test.run();
    CHECK(test.calls.size() == 3);
    CHECK(test.calls[1] == std::vector{1});
    CHECK(test.calls[2] == std::vector{2});
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].items == std::vector{0});
  }

  TEST_CASE("sync_flush reports what failed on the way, and the result that named it") {
    Ten test(kThreeTimes, [](std::uint32_t attempt) {
      if (attempt > 1) return FlushResult::ok();
      return FlushResult::ok().fail_item(0, "bad").retry_item(1, "busy");
    });
    const std::vector<FlushReport> reports = test->sync_flush(1h);
    CHECK(reports[0].items == 10);
    CHECK(reports[0].failed_items == 1);
    REQUIRE(reports[0].result != nullptr);
    CHECK_FALSE(reports[0].result->is_ok());
    CHECK(reports[0].result->message() == "bad");
    CHECK(reports[0].result->items().size() == 2);
  }

  TEST_CASE("a whole batch says whether it was rejected or had no attempt left") {
    FlushResult result;
    LastAnswer expected{};
    SUBCASE("rejected") {
      result = FlushResult::failed("no");
      expected = LastAnswer::kRejected;
    }
    SUBCASE("exhausted") {
      result = FlushResult::retry("no");
      expected = LastAnswer::kExhausted;
    }
    Ten test({.attempts = 2, .initial_backoff = 0s, .max_backoff = 0s},
             [result](std::uint32_t) { return result; });
    test.run();
    REQUIRE(test.told.size() == 1);
    CHECK(test.told[0].last_answer == expected);
    CHECK(test.told[0].attempts == (expected == LastAnswer::kRejected ? 1 : 2));
    CHECK(test.told[0].reasons == Words(10, "no"));
  }

  TEST_CASE("what was in no handler's hands has no last answer and no reason") {
    std::vector<DropInfo> infos;
    Options options{.max_size = 1, .capacity = 1, .overflow = Overflow::kDropNewest};
    options.on_drop = [&](std::span<int>, const DropInfo& info) { infos.push_back(info); };
    ManualBuffer<int> buffer(options);
    CHECK(buffer->insert(1) == InsertStatus::kAccepted);
    CHECK(buffer->insert(2) == InsertStatus::kDropped);
    REQUIRE(infos.size() == 1);
    CHECK(infos[0].last_answer == LastAnswer::kNone);
    CHECK(infos[0].attempts == 0);
    CHECK(infos[0].reason_of(0).empty());
    CHECK(to_string(LastAnswer::kExhausted) == "exhausted");
  }

  TEST_CASE("of a batch that was taken the named items count as failed, and no others") {
    std::vector<int> dropped;
    Options options{.max_size = 10, .retry = {.attempts = 5}};
    options.on_drop = [&](std::span<int> items, const DropInfo&) {
      dropped.insert(dropped.end(), items.begin(), items.end());
    };
    for (const bool names_items : {true, false}) {
      ManualBuffer<int> buffer(options, [&](Batch<int>& batch, const FlushContext&) {
        static_cast<void>(batch.take());
        if (!names_items) return FlushResult::failed("all");
        FlushResult result = FlushResult::ok();
        result.fail_item(3, "bad").retry_item(5, "busy").fail_item(99, "there is none");
        return result;
      });
      CHECK(buffer->insert_batch(numbers(0, 10)).accepted == 10);
      const FlushReport report = buffer->sync_flush()[0];
      CHECK(report.failed_items == (names_items ? 2 : 10));
      CHECK(buffer->ledger().failed == (names_items ? 2 : 10));
      CHECK(buffer->ledger().flushed == (names_items ? 8 : 0));
      CHECK(buffer->ledger().balances());
    }
    CHECK(dropped.empty());  // They are the handler's.
  }
}
