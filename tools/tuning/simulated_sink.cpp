#include "tools/tuning/simulated_sink.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "tools/tuning/limits.hpp"

namespace databuffer::tuning {

namespace {

using namespace std::chrono_literals;

constexpr Duration kMaxFixed = 1h;
constexpr Duration kMaxPerItem = 1s;

// How soon a long wait notices that nobody wants it any more.
constexpr Duration kSlice = 20ms;

// splitmix64: a different, well mixed number for each call, whatever thread makes it.
std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EB;
  return value ^ (value >> 31U);
}

enum class Draw : std::uint64_t { kCost = 0, kEnd = 1 };

// Uniform 0 … 1, without 1.
double uniform(std::uint64_t seed, std::uint64_t call, Draw what) noexcept {
  const std::uint64_t bits = mix(mix(seed) + 2 * call + static_cast<std::uint64_t>(what));
  constexpr double kUnit = 1.0 / static_cast<double>(std::uint64_t{1} << 53U);
  return static_cast<double>(bits >> 11U) * kUnit;
}

timespec timespec_of(Duration duration) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

/// While it lives, this thread's sleeps are not gathered with others' to save power: usually they
/// end up to 50 us late. Only for a while, because the thread is the buffer's, which naps on it.
class PreciseSleeps {
 public:
  PreciseSleeps() noexcept : slack_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PreciseSleeps() {
    if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
  }
  PreciseSleeps(const PreciseSleeps&) = delete;
  PreciseSleeps& operator=(const PreciseSleeps&) = delete;

 private:
  const int slack_;  // in ns
};

class MachineSinkTime final : public SinkTime {
 public:
  TimePoint now() override { return steady_clock().now(); }

  Duration cpu_time() override {
    timespec spent{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return std::chrono::seconds{spent.tv_sec} + Duration{spent.tv_nsec};
  }

  void sleep_until(TimePoint wake_up) override {
    const PreciseSleeps precise;
    const timespec until = timespec_of(wake_up.time_since_epoch());
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
};

}  // namespace

void SimulatedSinkSettings::validate() const {
  require(fixed >= Duration::zero() && fixed <= kMaxFixed, "fixed", nanoseconds_text(fixed),
          "must be 0 to 1 h");
  require(per_item >= Duration::zero() && per_item <= kMaxPerItem, "per_item",
          nanoseconds_text(per_item), "must be 0 to 1 s");
  require(jitter >= 0 && jitter <= 1, "jitter", std::to_string(jitter), "must be 0 to 1");
  require(failing_share >= 0 && failing_share <= 1, "failing_share", std::to_string(failing_share),
          "must be 0 to 1");
  require(retrying_share >= 0 && failing_share + retrying_share <= 1, "retrying_share",
          std::to_string(retrying_share), "must be 0 to 1, with failing_share");
}

SinkTime& machine_sink_time() noexcept {
  static MachineSinkTime time;
  return time;
}

SimulatedSink::SimulatedSink(const SimulatedSinkSettings& settings, SinkTime& time)
    : settings_(settings), time_(time) {
  settings_.validate();
}

FlushResult SimulatedSink::handle(std::size_t items, const std::stop_token& stop) {
  // relaxed: a number, which orders nothing.
  const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed);
  const Duration cost = cost_of(call, items);
  if (cost > Duration::zero()) {
    const bool is_over = settings_.burns_cpu ? burn(cost, stop) : wait(cost, stop);
    if (!is_over) return FlushResult::failed("interrupted");
  }
  switch (end_of(call)) {
    case FlushStatus::kFailed:
      return FlushResult::failed("simulated failure");
    case FlushStatus::kRetry:
      return FlushResult::retry("simulated failure for now");
    case FlushStatus::kOk:
      break;
  }
  return FlushResult::ok();
}

Duration SimulatedSink::cost_of(std::uint64_t call, std::size_t items) const noexcept {
  const double factor = 1 + settings_.jitter * (2 * uniform(settings_.seed, call, Draw::kCost) - 1);
  const double exact = static_cast<double>(settings_.fixed.count()) +
                       static_cast<double>(items) * static_cast<double>(settings_.per_item.count());
  return saturate(std::chrono::duration<double, std::nano>(exact * factor));
}

FlushStatus SimulatedSink::end_of(std::uint64_t call) const noexcept {
  const double drawn = uniform(settings_.seed, call, Draw::kEnd);
  if (drawn < settings_.failing_share) return FlushStatus::kFailed;
  if (drawn < settings_.failing_share + settings_.retrying_share) return FlushStatus::kRetry;
  return FlushStatus::kOk;
}

bool SimulatedSink::wait(Duration cost, const std::stop_token& stop) {
  TimePoint now = time_.now();
  const TimePoint end = deadline_after(now, cost);
  while (now < end) {
    if (stop.stop_requested()) return false;
    time_.sleep_until(std::min(end, deadline_after(now, kSlice)));
    now = time_.now();
  }
  return true;
}

bool SimulatedSink::burn(Duration cost, const std::stop_token& stop) {
  const Duration end = time_.cpu_time() + std::min(cost, kForever / 2);
  while (time_.cpu_time() < end) {
    if (stop.stop_requested()) return false;
  }
  return true;
}

}  // namespace databuffer::tuning
