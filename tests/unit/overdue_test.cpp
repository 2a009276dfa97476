// Goal: a handler that runs for longer than flush_timeout is reported, once for each batch: event,
// info(), stop token. Without a watching thread that is when it returns.
// Method: the handler itself advances the clock.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <vector>

#include "engine/overdue_watch.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::detail::HandlerCall;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// A buffer whose handler takes as long as each batch's number says, and who is told what.
struct SlowBuffer {
  explicit SlowBuffer(Options options, std::vector<Duration> durations)
      : buffer(std::move(options),
               [this, durations = std::move(durations)](Batch<int>&, const FlushContext& context) {
                 buffer.advance(durations.at(context.batch_id - 1));
                 tokens.push_back(context.stop_token);
                 return FlushResult::ok();
               }) {
    buffer->telemetry().attach("overdue", Event::kOverdue,
                               [this](const TelemetryEvent& event) { events.push_back(event); });
  }

  std::vector<TelemetryEvent> events;
  std::vector<std::stop_token> tokens;
  ManualBuffer<int> buffer;
};

}  // namespace

TEST_SUITE("overdue") {
  TEST_CASE("a call that takes flush_timeout is overdue, one that takes a nanosecond less is not") {
    SlowBuffer slow({.max_size = 1, .flush_timeout = 5s}, {5s - 1ns, 5s, 1h, 1s});
    slow.buffer->insert_batch(numbers(0, 4));
    slow.buffer.work_all();
    REQUIRE(slow.events.size() == 2);
    CHECK(slow.events[0].batch_id == 2);
    CHECK(slow.events[0].duration == 5s);
    CHECK(slow.events[0].size == 1);
    CHECK(slow.events[0].partition_index == 0);
    CHECK(slow.events[1].batch_id == 3);
    CHECK(slow.events[1].duration == 1h);
    const PartitionInfo info = slow.buffer->info()[0];
    CHECK(info.overdue_batches == 2);
    CHECK_FALSE(info.is_overdue);  // It has returned.
    CHECK(info.batches == 4);
  }

  TEST_CASE("the overdue call's stop token is set, and the next call gets a fresh one") {
    SlowBuffer slow({.max_size = 1, .flush_timeout = 5s}, {1s, 9s, 1s});
    slow.buffer->insert_batch(numbers(0, 3));
    slow.buffer.work_all();
    REQUIRE(slow.tokens.size() == 3);
    CHECK(slow.tokens[0].stop_possible());
    CHECK(slow.tokens[1].stop_requested());
    CHECK_FALSE(slow.tokens[2].stop_requested());
  }

  TEST_CASE("a flush_timeout of for ever is never over") {
    SlowBuffer slow({.max_size = 1, .flush_timeout = kForever}, {24h * 365 * 100});
    slow.buffer->insert(0);
    slow.buffer.work_all();
    CHECK(slow.events.empty());
    CHECK(slow.buffer->info()[0].overdue_batches == 0);
  }

  TEST_CASE("an overdue batch that succeeds is flushed all the same") {
    SlowBuffer slow({.max_size = 2, .flush_timeout = 1s}, {1h});
    slow.buffer->insert_batch(numbers(0, 2));
    slow.buffer.work_all();
    CHECK(slow.buffer->ledger() == Ledger{.accepted = 2, .flushed = 2});
  }
}

TEST_SUITE("handler call") {
  TEST_CASE("it is due from its begin on, until it is reported or ends") {
    const TimePoint start{1h};
    HandlerCall call(start);
    CHECK(call.due(5s) == TimePoint::max());
    static_cast<void>(call.begin(start + 1s, 7, 3));
    CHECK(call.due(5s) == start + 6s);
    CHECK(call.due(kForever) == TimePoint::max());
    HandlerCall::Overdue overdue;
    CHECK_FALSE(call.report_overdue(start + 6s - 1ns, 5s, overdue));
    CHECK(call.report_overdue(start + 6s, 5s, overdue));
    CHECK(overdue.batch_id == 7);
    CHECK(overdue.items == 3);
    CHECK(overdue.duration == 5s);
    CHECK_FALSE(call.report_overdue(start + 60s, 5s, overdue));  // once
    CHECK(call.due(5s) == TimePoint::max());
    const HandlerCall::Ended ended = call.end(start + 9s);
    CHECK(ended.duration == 8s);
    CHECK(ended.was_reported);
  }

  TEST_CASE("a later attempt at the batch of an overdue call does not lose its consumer for it") {
    HandlerCall call(TimePoint{});
    HandlerCall::Overdue overdue;
    int prepared = 0;
    const auto prepare = [&] { ++prepared; };
    REQUIRE(call.begin(TimePoint{}, 7, 1));
    REQUIRE(call.report_overdue(TimePoint{1s}, 1s, overdue));
    CHECK(call.overdue_batch() == 7);
    CHECK_FALSE(call.retire(8, prepare));
    CHECK(call.leave());
    CHECK_FALSE(call.overdue_batch());
    call.end(TimePoint{2s});
    REQUIRE(call.begin(TimePoint{2s}, 7, 1));  // the second attempt
    CHECK_FALSE(call.overdue_batch());
    CHECK_FALSE(call.retire(7, prepare));
    CHECK(prepared == 0);
    REQUIRE(call.report_overdue(TimePoint{3s}, 1s, overdue));
    CHECK(call.retire(7, prepare));
    CHECK(prepared == 1);
    CHECK_FALSE(call.overdue_batch());
    CHECK_FALSE(call.retire(7, prepare));
  }

  TEST_CASE("a call that has ended cannot be overdue") {
    HandlerCall call(TimePoint{});
    static_cast<void>(call.begin(TimePoint{}, 1, 1));
    CHECK_FALSE(call.end(TimePoint{1s}).was_reported);
    HandlerCall::Overdue overdue;
    CHECK_FALSE(call.report_overdue(TimePoint{1h}, 5s, overdue));
  }

  TEST_CASE("a token set late is the call's that was overdue, not the next one's") {
    HandlerCall call(TimePoint{});
    const std::stop_token first = call.begin(TimePoint{}, 1, 1).value();
    HandlerCall::Overdue overdue;
    REQUIRE(call.report_overdue(TimePoint{5s}, 5s, overdue));
    call.end(TimePoint{6s});
    const std::stop_token second = call.begin(TimePoint{7s}, 2, 1).value();
    overdue.stop.request_stop();
    CHECK(first.stop_requested());
    CHECK_FALSE(second.stop_requested());
  }

  TEST_CASE("barred, no further call begins, and the one that is inside goes on") {
    HandlerCall call(TimePoint{});
    REQUIRE(call.begin(TimePoint{}, 1, 1));
    CHECK(call.is_inside());
    call.bar();
    CHECK(call.is_inside());
    CHECK(call.leave());
    CHECK_FALSE(call.is_inside());
    call.end(TimePoint{1s});
    CHECK_FALSE(call.begin(TimePoint{2s}, 2, 1).has_value());
    CHECK_FALSE(call.is_inside());
  }

  TEST_CASE(
      "only a call that is inside its handler can be disowned, and it finds out as it leaves") {
    HandlerCall call(TimePoint{});
    SUBCASE("inside") {
      REQUIRE(call.begin(TimePoint{}, 1, 1));
      CHECK(call.disown());
      CHECK_FALSE(call.leave());
    }
    SUBCASE("returned") {
      REQUIRE(call.begin(TimePoint{}, 1, 1));
      CHECK(call.leave());
      CHECK_FALSE(call.disown());
    }
    SUBCASE("none") { CHECK_FALSE(call.disown()); }
    CHECK_FALSE(call.begin(TimePoint{1s}, 2, 1).has_value());
  }

  TEST_CASE("it describes itself while it runs and after") {
    const TimePoint start{1h};
    HandlerCall call(start);
    PartitionInfo info;
    call.describe(start + 2s, info);
    CHECK_FALSE(info.is_flushing);
    CHECK(info.since_last_flush == 2s);
    CHECK(info.last_flush_duration == 0s);

    static_cast<void>(call.begin(start + 3s, 1, 1));
    call.describe(start + 7s, info);
    CHECK(info.is_flushing);
    CHECK_FALSE(info.is_overdue);
    CHECK(info.flushing_for == 4s);
    HandlerCall::Overdue overdue;
    REQUIRE(call.report_overdue(start + 8s, 5s, overdue));
    call.describe(start + 8s, info);
    CHECK(info.is_overdue);

    call.end(start + 9s);
    call.describe(start + 10s, info);
    CHECK_FALSE(info.is_flushing);
    CHECK_FALSE(info.is_overdue);
    CHECK(info.flushing_for == 0s);
    CHECK(info.since_last_flush == 1s);
    CHECK(info.last_flush_duration == 6s);
  }
}
