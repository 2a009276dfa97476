// What is noted in a run, with times made up.

#include "tools/tuning/record.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>

#include "databuffer/batch.hpp"
#include "databuffer/result.hpp"

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kZero{100s};

constexpr TimePoint at(Duration since_start) { return kZero + since_start; }

/// What a BatchLog says of the window from 10 ms to 20 ms.
struct Sum {
  explicit Sum(BatchLog& log, bool is_open = false) : flushed(log.flushed(10ms, is_open)) {
    log.add_to(measurement, items, ages);
  }
  Measurement measurement;
  double flushed = 0;
  std::uint64_t items = 0;
  Histogram ages;
};

constexpr Window kWindow{at(10ms), at(20ms)};

BatchLog::Call call(Duration begin, Duration end, std::size_t size = 100) {
  return {.begin = at(begin), .end = at(end), .size = size, .flushed = size};
}

TEST_SUITE("record") {
  TEST_CASE("the overlap with the window is what lies in both") {
    CHECK(kWindow.overlap(at(12ms), at(15ms)) == 3ms);
    CHECK(kWindow.overlap(at(0ms), at(15ms)) == 5ms);
    CHECK(kWindow.overlap(at(15ms), at(90ms)) == 5ms);
    CHECK(kWindow.overlap(at(0ms), at(90ms)) == 10ms);
    CHECK(kWindow.overlap(at(0ms), at(5ms)) == 0ms);
    CHECK(kWindow.overlap(at(25ms), at(30ms)) == 0ms);
    CHECK(Window{}.overlap(at(0ms), at(90ms)) == 0ms);  // nothing is measured yet
  }

  TEST_CASE("a batch counts by the part of its cycle that lies in the window") {
    BatchLog log(at(0ms));
    log.record(call(2ms, 8ms), kWindow, Phase::kWarmUp);     // 0 … 8: not at all
    log.record(call(9ms, 13ms), kWindow, Phase::kMeasured);  // 8 … 13: three fifths
    log.record(call(13ms, 18ms), kWindow, Phase::kMeasured);
    log.record(call(18ms, 22ms), kWindow, Phase::kOver);  // 18 … 22: half
    log.record(call(22ms, 25ms), kWindow, Phase::kOver);
    const Sum sum(log);
    CHECK(sum.flushed == doctest::Approx(60 + 100 + 50));
    CHECK(sum.measurement.batches == 2);
    CHECK(sum.items == 200);
    CHECK(sum.measurement.handler_seconds == doctest::Approx(0.003 + 0.005 + 0.002));
  }

  TEST_CASE("with cycles of one length the rate is exact, wherever the window begins") {
    for (int shift = 0; shift < 7; ++shift) {
      const Duration start = shift * 1ms;
      BatchLog log(at(start));
      for (int batch = 0; batch < 6; ++batch) {
        log.record(call(start + batch * 7ms, start + (batch + 1) * 7ms), kWindow, Phase::kMeasured);
      }
      CHECK(Sum(log).flushed == doctest::Approx(1000.0 / 7));
    }
  }

  TEST_CASE("in an open loop the rate is exact, wherever the window begins and ends") {
    // A batch of 40 every 3 ms, whose call takes no time. The one that fills when the window ends
    // is not flushed in it.
    for (int shift = 0; shift < 30; ++shift) {
      CAPTURE(shift);
      const Duration start = -(shift * 100us);
      BatchLog log(at(start));
      for (Duration end = start + 3ms; end <= 20ms; end += 3ms) {
        log.record(call(end, end, 40), kWindow, Phase::kMeasured);
      }
      CHECK(Sum(log, true).flushed == doctest::Approx(10.0 * 40 / 3));
      if (shift != 10) CHECK(Sum(log, false).flushed < 10.0 * 40 / 3);  // 10 ends with a batch
    }
  }

  TEST_CASE("in an open loop the first flush, which comes early or late, counts for nothing") {
    BatchLog log(at(10ms));
    for (const Duration end : {11ms, 15ms, 19ms}) {
      log.record(call(end, end, 40), kWindow, Phase::kMeasured);
    }
    CHECK(Sum(log, true).flushed == doctest::Approx(100));
    // With nothing else to go by, it is what was flushed.
    BatchLog seldom(at(10ms));
    seldom.record(call(11ms, 11ms, 40), kWindow, Phase::kMeasured);
    CHECK(Sum(seldom, true).flushed == doctest::Approx(40));
  }

  TEST_CASE("batches are counted by their trigger, and a retry is no other batch") {
    BatchLog log(at(10ms));
    Duration now = 11ms;
    const auto record = [&](FlushReason reason, bool is_first, std::size_t flushed) {
      BatchLog::Call one = call(now, now + 1ms, 10);
      one.reason = reason;
      one.is_first_attempt = is_first;
      one.flushed = flushed;
      log.record(one, kWindow, Phase::kMeasured);
      now += 1ms;
    };
    record(FlushReason::kSize, true, 0);
    record(FlushReason::kSize, false, 10);
    record(FlushReason::kInterval, true, 10);
    record(FlushReason::kManual, true, 10);
    record(FlushReason::kClose, true, 10);
    const Sum sum(log);
    CHECK(sum.measurement.batches == 4);
    CHECK(sum.measurement.size_flushes == 1);
    CHECK(sum.measurement.interval_flushes == 1);
    CHECK(sum.measurement.other_flushes == 2);
    CHECK(sum.flushed == doctest::Approx(40));
  }

  TEST_CASE("a wait counts where it lies in the window, and shows in the maximum") {
    ProducerLog log;
    log.begin_wait(at(5ms));
    CHECK(log.has_waited());
    log.end_wait(at(14ms), kWindow);
    CHECK_FALSE(log.has_waited());
    log.begin_wait(at(19ms));
    log.end_wait(at(40ms), kWindow);
    Measurement measurement;
    Histogram latencies;
    Histogram wakes;
    log.add_to(measurement, latencies, wakes);
    CHECK(measurement.blocked_seconds == doctest::Approx(0.005));
    CHECK(latencies.max() == 4ms);
    CHECK(latencies.total() == 0);
  }

  TEST_CASE("refusals count in the measured time only, acceptance always") {
    ProducerLog log;
    log.count_refused(5, Phase::kWarmUp);
    log.count_refused(3, Phase::kMeasured);
    log.count_refused(4, Phase::kOver);
    log.count_accepted(7);
    log.set_overdue(11);
    Measurement measurement;
    Histogram latencies;
    Histogram wakes;
    log.add_to(measurement, latencies, wakes);
    CHECK(measurement.refused == 3);
    CHECK(measurement.overdue == 11);
    CHECK(log.accepted() == 7);
  }

  TEST_CASE("ages are wanted of the first attempt in the measured time") {
    Record record(1, 2);
    FlushContext context;
    context.partition_index = 1;
    context.size = 4;
    CHECK_FALSE(HandlerCall(record, context).wants_ages());
    record.begin_measuring(steady_clock().now());
    CHECK(HandlerCall(record, context).wants_ages());
    context.attempt = 2;
    CHECK_FALSE(HandlerCall(record, context).wants_ages());
    record.end_measuring(steady_clock().now());
    context.attempt = 1;
    CHECK_FALSE(HandlerCall(record, context).wants_ages());
  }

  TEST_CASE("a call that ends by an exception has flushed nothing, and is counted") {
    Record record(1, 1);
    record.begin(steady_clock().now());
    record.begin_measuring(record.start());
    FlushContext context;
    context.size = 8;
    const auto fails = [&] {
      const HandlerCall running(record, context);
      throw std::runtime_error("no");
    };
    CHECK_THROWS_AS(fails(), std::runtime_error);
    {
      HandlerCall running(record, context);
      running.set_result(FlushResult::failed("one of them").only_items({3}));
    }
    record.end_measuring(steady_clock().now());
    Measurement measurement;
    record.add_to(measurement, false);
    CHECK(measurement.batches == 2);
    CHECK(measurement.mean_batch == doctest::Approx(8));
    CHECK(measurement.items_per_s * measurement.seconds == doctest::Approx(7));
  }

  TEST_CASE("a wait ends at its time, at a request to stop, and at a producer's failure") {
    Record record(1, 1);
    std::stop_source stop;
    CHECK(record.wait_until(steady_clock().now(), stop.get_token()));
    stop.request_stop();
    CHECK_FALSE(record.wait_until(steady_clock().now() + 1h, stop.get_token()));

    CHECK_NOTHROW(record.check());
    record.fail(std::make_exception_ptr(std::runtime_error("the first")));
    record.fail(std::make_exception_ptr(std::runtime_error("the second")));
    CHECK_FALSE(record.wait_until(steady_clock().now() + 1h, {}));
    CHECK_THROWS_WITH_AS(record.check(), "the first", std::runtime_error);
  }
}

}  // namespace
}  // namespace databuffer::tuning
