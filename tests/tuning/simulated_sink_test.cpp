#include "tools/tuning/simulated_sink.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

#include "databuffer/options.hpp"

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

/// Time that moves only when it is slept through or, for computing, looked at.
class TestTime final : public SinkTime {
 public:
  TimePoint now() override { return now_; }
  Duration cpu_time() override {
    cpu_ += 10us;
    on_look();
    return cpu_;
  }
  void sleep_until(TimePoint wake_up) override {
    sleeps.push_back(wake_up - now_);
    now_ = ends_early ? now_ + std::max<Duration>(1ns, (wake_up - now_) / 2) : wake_up + lateness;
    on_look();
  }
  [[nodiscard]] Duration slept() const { return now_ - TimePoint{}; }
  [[nodiscard]] Duration computed() const { return cpu_; }

  std::vector<Duration> sleeps;
  Duration lateness{};
  bool ends_early = false;
  std::function<void()> on_look = [] {};

 private:
  TimePoint now_{};
  Duration cpu_{};
};

TEST_SUITE("simulated sink") {
  TEST_CASE("a batch takes the fixed cost and that of each item") {
    TestTime time;
    SimulatedSink sink({.fixed = 100us, .per_item = 50ns}, time);
    CHECK(sink.handle(1000).is_ok());
    CHECK(time.slept() == 150us);
    CHECK(sink.handle(0).is_ok());
    CHECK(time.slept() == 250us);
    CHECK(time.computed() == 0us);
  }

  TEST_CASE("with no cost it does not even look at the clock") {
    TestTime time;
    time.on_look = [] { FAIL("it looked"); };
    SimulatedSink sink({}, time);
    CHECK(sink.handle(1'000'000).is_ok());
    CHECK(time.sleeps.empty());
  }

  TEST_CASE("a sleep that ended too early is gone on with, one that ended late is not made up") {
    TestTime time;
    time.lateness = 7us;
    SimulatedSink sink({.fixed = 1ms}, time);
    CHECK(sink.handle(1).is_ok());
    CHECK(time.slept() == 1007us);
    time.ends_early = true;
    CHECK(sink.handle(1).is_ok());
    CHECK(time.slept() == 2007us);
    CHECK(time.sleeps.size() > 2);
  }

  TEST_CASE("computing takes CPU time, and no sleep") {
    TestTime time;
    SimulatedSink sink({.fixed = 200us, .per_item = 1us, .burns_cpu = true}, time);
    CHECK(sink.handle(100).is_ok());
    CHECK(time.sleeps.empty());
    CHECK(time.computed() >= 300us);
    CHECK(time.computed() <= 330us);  // one look before, and one too late
  }

  TEST_CASE("jitter keeps within its limits and on average changes nothing") {
    const SimulatedSink sink({.fixed = 1ms, .jitter = 0.2});
    Duration sum{};
    Duration least = 1h;
    Duration most{};
    for (std::uint64_t call = 0; call < 10'000; ++call) {
      const Duration cost = sink.cost_of(call, 1);
      CHECK(cost >= 800us);
      CHECK(cost <= 1200us);
      sum += cost;
      least = std::min(least, cost);
      most = std::max(most, cost);
    }
    CHECK(least < 805us);
    CHECK(most > 1195us);
    CHECK(static_cast<double>(sum.count()) / 1e10 == doctest::Approx(1).epsilon(0.005));
  }

  TEST_CASE("the share that is to fail fails, after its time, with a reason") {
    TestTime time;
    SimulatedSink sink({.fixed = 5ms, .failing_share = 0.1}, time);
    int failed = 0;
    for (int call = 0; call < 10'000; ++call) {
      const FlushResult result = sink.handle(10);
      if (result.is_ok()) continue;
      ++failed;
      CHECK(result.status() == FlushStatus::kFailed);
      CHECK(result.message() == "simulated failure");
    }
    CHECK(time.slept() == 10'000 * 5ms);
    CHECK(failed > 900);
    CHECK(failed < 1100);
  }

  TEST_CASE("none fails at 0, and all at 1") {
    TestTime time;
    SimulatedSink never({.failing_share = 0}, time);
    SimulatedSink always({.failing_share = 1}, time);
    SimulatedSink later({.retrying_share = 1}, time);
    for (int call = 0; call < 1000; ++call) {
      CHECK(never.handle(1).is_ok());
      CHECK(always.handle(1).status() == FlushStatus::kFailed);
      CHECK(later.handle(1).status() == FlushStatus::kRetry);
    }
  }

  TEST_CASE("the share that is to ask for a retry does, beside the one that fails for good") {
    TestTime time;
    SimulatedSink sink({.fixed = 5ms, .failing_share = 0.1, .retrying_share = 0.3}, time);
    int failed = 0;
    int retrying = 0;
    for (int call = 0; call < 10'000; ++call) {
      const FlushResult result = sink.handle(10);
      failed += result.status() == FlushStatus::kFailed ? 1 : 0;
      if (result.status() != FlushStatus::kRetry) continue;
      ++retrying;
      CHECK(result.message() == "simulated failure for now");
    }
    CHECK(time.slept() == 10'000 * 5ms);
    CHECK(failed > 900);
    CHECK(failed < 1100);
    CHECK(retrying > 2800);
    CHECK(retrying < 3200);
  }

  TEST_CASE("the same seed draws the same, another seed something else") {
    const SimulatedSinkSettings settings{
        .fixed = 1ms, .jitter = 1, .failing_share = 0.5, .seed = 7};
    SimulatedSinkSettings other = settings;
    other.seed = 8;
    const SimulatedSink first(settings);
    const SimulatedSink second(settings);
    const SimulatedSink third(other);
    int same_costs = 0;
    int same_ends = 0;
    for (std::uint64_t call = 0; call < 1000; ++call) {
      CHECK(first.cost_of(call, 5) == second.cost_of(call, 5));
      CHECK(first.end_of(call) == second.end_of(call));
      same_costs += first.cost_of(call, 5) == third.cost_of(call, 5) ? 1 : 0;
      same_ends += first.end_of(call) == third.end_of(call) ? 1 : 0;
    }
    CHECK(same_costs < 10);
    CHECK(same_ends > 400);  // by chance
    CHECK(same_ends < 600);
  }

  TEST_CASE("a request to stop ends a long wait soon, as a failure") {
    TestTime time;
    std::stop_source stop;
    time.on_look = [&] {
      if (time.slept() >= 1s || time.computed() >= 1s) stop.request_stop();
    };
    SUBCASE("waiting") {
      SimulatedSink sink({.fixed = 1h}, time);
      const FlushResult result = sink.handle(1, stop.get_token());
      CHECK_FALSE(result.is_ok());
      CHECK(result.message() == "interrupted");
      CHECK(time.slept() < 1100ms);
    }
    SUBCASE("computing") {
      SimulatedSink sink({.fixed = 1h, .burns_cpu = true}, time);
      CHECK_FALSE(sink.handle(1, stop.get_token()).is_ok());
      CHECK(time.computed() < 1100ms);
    }
  }

  TEST_CASE("settings out of range are refused, naming field and limit") {
    struct Case {
      SimulatedSinkSettings settings;
      const char* field;
    };
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    const Case cases[] = {
        {{.fixed = -1ns}, "fixed"},
        {{.fixed = 1h + 1ns}, "fixed"},
        {{.per_item = -1ns}, "per_item"},
        {{.per_item = 1001ms}, "per_item"},
        {{.jitter = 1.01}, "jitter"},
        {{.jitter = -0.1}, "jitter"},
        {{.jitter = not_a_number}, "jitter"},
        {{.failing_share = 1.5}, "failing_share"},
        {{.failing_share = not_a_number}, "failing_share"},
        {{.retrying_share = -0.1}, "retrying_share"},
        {{.retrying_share = not_a_number}, "retrying_share"},
        {{.failing_share = 0.6, .retrying_share = 0.5}, "retrying_share"},
    };
    for (const Case& bad : cases) {
      CAPTURE(bad.field);
      try {
        const SimulatedSink sink(bad.settings);
        FAIL_CHECK("it was accepted");
      } catch (const OptionsError& error) {
        CHECK(error.field() == bad.field);
        CHECK(std::string(error.what()).find("must be 0") != std::string::npos);
      }
    }
  }

  TEST_CASE("the machine's own time goes on") {
    SinkTime& time = machine_sink_time();
    const TimePoint before = time.now();
    time.sleep_until(before + 100us);
    CHECK(time.now() >= before + 100us);
    SimulatedSink sink({.fixed = 100us, .burns_cpu = true});
    const Duration spent = time.cpu_time();
    CHECK(sink.handle(1).is_ok());
    CHECK(time.cpu_time() - spent >= 100us);
  }
}

}  // namespace
}  // namespace databuffer::tuning
