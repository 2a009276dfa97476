// Whole runs, with real threads and for some milliseconds: what is asserted are counts, never
// times.

#include "tools/tuning/trial.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "tools/tuning/run.hpp"
#include "tuning/runs.hpp"

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

constexpr Duration kShort = 30ms;

Trial short_trial() {
  Trial trial;
  trial.workload.warm_up = 5ms;
  trial.options.name = "trial";
  trial.options.max_size = 100;
  trial.measured = kShort;
  return trial;
}

/// Counts what it is given, and answers as told.
struct Counter {
  std::atomic<std::uint64_t> items{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::size_t> largest{0};

  PayloadHandler handler() {
    return [this](const PayloadBatch& batch) {
      items += batch.size();
      for (std::size_t index = 0; index < batch.size(); ++index) bytes += batch.bytes(index).size();
      std::size_t known = largest;
      while (known < batch.size() && !largest.compare_exchange_weak(known, batch.size())) {
      }
      return FlushResult::ok();
    };
  }
};

TEST_SUITE("trial") {
  TEST_CASE("a closed loop's counts add up, for every payload, single and in batches") {
    for (const std::size_t bytes : kPlainBytes) {
      for (const std::size_t batch : {1U, 7U, 250U}) {
        CAPTURE(bytes);
        CAPTURE(batch);
        Counter counter;
        Trial trial = short_trial();
        trial.measured = 5ms;
        trial.workload.warm_up = 1ms;
        trial.workload.producers = 2;
        trial.workload.batch = batch;
        trial.payload.bytes = bytes;
        const Measurement measured = run_until(trial, counter.handler(), has_flushed);
        CHECK(measured.failed == 0);
        CHECK(measured.dropped == 0);
        CHECK(measured.overdue == 0);
        CHECK_FALSE(measured.is_age_of_oldest);
        CHECK(counter.items >= measured.flushed);
        CHECK(counter.bytes == counter.items * bytes);
        CHECK(counter.largest <= 100);
      }
    }
  }

  TEST_CASE("strings are as long as asked for") {
    Counter counter;
    Trial trial = short_trial();
    trial.payload = {.kind = Payload::Kind::kString, .bytes = 33};
    trial.options.partitions = 2;
    static_cast<void>(run_until(trial, counter.handler(), has_flushed));
    CHECK(counter.bytes == counter.items * 33);
  }

  TEST_CASE("an open loop offers what is due") {
    Counter counter;
    Trial trial = short_trial();
    trial.workload.producers = 3;
    trial.workload.rate = 2'000;
    trial.options.max_size = 1'000'000;
    trial.options.flush_interval = 1ms;
    trial.options.flush_jitter = 0ms;
    const Measurement measured = run_until(trial, counter.handler(), has_flushed);
    CHECK(measured.size_flushes == 0);
    CHECK(measured.insert_latency.max >= measured.insert_latency.p50);
  }

  TEST_CASE("an open loop offers nothing before it is due") {
    SimulatedSink sink({});
    Trial trial = short_trial();
    trial.workload = {.producers = 3, .rate = 0.0001, .warm_up = 0ms};
    const Measurement measured = run_trial(trial, handler_of(sink));
    check_sums(measured);
    CHECK(measured.inserted <= 1);  // the first producer's first: it is due at the start
    CHECK(measured.overdue == 0);
  }

  TEST_CASE("an open loop that the sink cannot follow is overdue") {
    SimulatedSink sink({.fixed = 5ms});
    Trial trial = short_trial();
    trial.workload.rate = 1e6;
    trial.options.max_size = 10;
    trial.options.capacity = 10;
    const Measurement measured = run_until(trial, handler_of(sink), [](const Measurement& so_far) {
      return so_far.overdue > 0 && so_far.blocked_seconds > 0;
    });
    CHECK(measured.overdue > measured.inserted);
  }

  TEST_CASE("a full buffer that rejects refuses, and refusals are no inserts") {
    SimulatedSink sink({.fixed = 20ms});
    Trial trial = short_trial();
    trial.options.overflow = Overflow::kReject;
    const Measurement measured = run_until(
        trial, handler_of(sink), [](const Measurement& so_far) { return so_far.refused > 0; });
    CHECK(measured.dropped == measured.refused);
    CHECK(measured.blocked_seconds == 0);
  }

  TEST_CASE("a full buffer that drops counts what it drops") {
    for (const Overflow overflow : {Overflow::kDropNewest, Overflow::kDropOldest}) {
      CAPTURE(to_string(overflow));
      SimulatedSink sink({.fixed = 20ms});
      Trial trial = short_trial();
      trial.options.overflow = overflow;
      const Measurement measured = run_until(
          trial, handler_of(sink), [](const Measurement& so_far) { return so_far.dropped > 0; });
      CHECK(measured.refused == 0);
    }
  }

  TEST_CASE("failed batches count as failed, and not as throughput") {
    SimulatedSink sink({.failing_share = 1});
    const Measurement measured = run_until(
        short_trial(), handler_of(sink),
        [](const Measurement& so_far) { return so_far.failed > 0 && so_far.batches > 0; });
    CHECK(measured.flushed == 0);
    CHECK(measured.items_per_s == 0);
  }

  TEST_CASE("a handler that throws fails its batches, and the run goes on") {
    const PayloadHandler handler = [](const PayloadBatch&) -> FlushResult {
      throw std::runtime_error("no");
    };
    const Measurement measured = run_until(short_trial(), handler, has_batches);
    CHECK(measured.flushed == 0);
  }

  TEST_CASE("a request to stop ends a long run with what there is") {
    std::stop_source stop;
    Trial trial = short_trial();
    trial.measured = 1h;
    SUBCASE("in the measured time") {
      std::atomic<int> batches{0};
      const PayloadHandler handler = [&](const PayloadBatch&) {
        if (++batches == 50) stop.request_stop();
        return FlushResult::ok();
      };
      trial.workload.warm_up = 0ms;
      const Measurement measured = run_trial(trial, handler, stop.get_token());
      check_sums(measured);
      CHECK(measured.is_cut_short);
      CHECK(batches >= 50);
    }
    SUBCASE("before it has begun") {
      stop.request_stop();
      SimulatedSink sink({});
      const Measurement measured = run_trial(trial, handler_of(sink), stop.get_token());
      CHECK(measured.is_cut_short);
    }
    SUBCASE("while the simulated sink takes its time") {
      SimulatedSink sink({.fixed = 1h});
      std::atomic<bool> has_begun{false};
      const PayloadHandler handler = [&](const PayloadBatch& batch) {
        has_begun = true;
        return sink.handle(batch.size(), batch.stop_token());
      };
      std::thread stopper([&] {
        while (!has_begun) std::this_thread::yield();
        stop.request_stop();
      });
      const Measurement measured = run_trial(trial, handler, stop.get_token());
      stopper.join();
      CHECK(measured.is_cut_short);
      CHECK(measured.flushed == 0);
    }
  }

  TEST_CASE("a batch that takes longer than the run is not waited for to its end") {
    SimulatedSink sink({.fixed = 1h});
    const Measurement measured =
        run_until(short_trial(), handler_of(sink),
                  [](const Measurement& so_far) { return so_far.handler_seconds > 0; });
    CHECK(measured.batches == 0);
    CHECK(measured.flushed == 0);
  }

  TEST_CASE("a handler that does not come back is an error, and no hang") {
    const auto release = std::make_shared<std::atomic<bool>>(false);
    std::stop_source stop;
    const PayloadHandler handler = [release, &stop](const PayloadBatch&) {
      stop.request_stop();
      release->wait(false);
      return FlushResult::ok();
    };
    Trial trial = short_trial();
    trial.measured = 1h;
    trial.options.close_timeout = 1ms;
    CHECK_THROWS_AS(static_cast<void>(run_trial(trial, handler, stop.get_token())), TrialError);
    *release = true;
    release->notify_all();
  }

  TEST_CASE("a trial out of range is refused before anything starts, naming field and limit") {
    const PayloadHandler handler = [](const PayloadBatch&) -> FlushResult {
      FAIL_CHECK("it ran");
      return FlushResult::ok();
    };
    struct Case {
      const char* field;
      void (*change)(Trial& trial);
    };
    const Case cases[] = {
        {"producers", [](Trial& trial) { trial.workload.producers = 0; }},
        {"producers", [](Trial& trial) { trial.workload.producers = 1025; }},
        {"batch", [](Trial& trial) { trial.workload.batch = 0; }},
        {"batch", [](Trial& trial) { trial.workload.batch = 1'000'001; }},
        {"rate", [](Trial& trial) { trial.workload.rate = -1; }},
        {"rate", [](Trial& trial) { trial.workload.rate = 1e9 + 1; }},
        {"rate",
         [](Trial& trial) { trial.workload.rate = std::numeric_limits<double>::quiet_NaN(); }},
        {"warm_up", [](Trial& trial) { trial.workload.warm_up = -1ns; }},
        {"warm_up", [](Trial& trial) { trial.workload.warm_up = 61min; }},
        {"payload", [](Trial& trial) { trial.payload.bytes = 9; }},
        {"payload", [](Trial& trial) { trial.payload.bytes = 0; }},
        {"payload",
         [](Trial& trial) {
           trial.payload = {Payload::Kind::kString, 7};
         }},
        {"payload",
         [](Trial& trial) {
           trial.payload = {Payload::Kind::kString, 1'048'577};
         }},
        {"measured", [](Trial& trial) { trial.measured = 0ms; }},
        {"measured", [](Trial& trial) { trial.measured = 25h; }},
        {"threading", [](Trial& trial) { trial.options.threading = Threading::kManual; }},
        {"capacity", [](Trial& trial) { trial.options.capacity = 99; }},
        {"partitions", [](Trial& trial) { trial.options.partitions = 0; }},
    };
    for (const Case& bad : cases) {
      CAPTURE(bad.field);
      Trial trial = short_trial();
      bad.change(trial);
      try {
        static_cast<void>(run_trial(trial, handler));
        FAIL_CHECK("it was accepted");
      } catch (const OptionsError& error) {
        CHECK(error.field() == bad.field);
      }
    }
  }
}

}  // namespace
}  // namespace databuffer::tuning
