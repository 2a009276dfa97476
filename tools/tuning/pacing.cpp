#include "tools/tuning/pacing.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace databuffer::tuning {

namespace {

constexpr Duration kLongestSleep = std::chrono::milliseconds{20};

}  // namespace

TimePoint Schedule::due(std::uint64_t call) const noexcept {
  const long double turn = static_cast<long double>(call) * static_cast<long double>(producers_) +
                           static_cast<long double>(producer_index_);
  return deadline_after(
      start_, saturate(std::chrono::duration<long double, std::nano>(turn * ns_per_call_)));
}

std::uint64_t Schedule::calls_before(TimePoint end) const noexcept {
  if (end <= start_) return 0;
  const long double turns = static_cast<long double>((end - start_).count()) / ns_per_call_;
  const long double own =
      (turns - static_cast<long double>(producer_index_)) / static_cast<long double>(producers_);
  if (own < 0) return 0;
  // The estimate may be one off where due() rounds.
  auto calls = static_cast<std::uint64_t>(own);
  while (due(calls) < end) ++calls;
  while (calls > 0 && due(calls - 1) >= end) --calls;
  return calls;
}

TimePoint sleep_towards(TimePoint wake_up) {
  thread_local const bool is_precise = ::prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  static_cast<void>(is_precise);
  const TimePoint now = steady_clock().now();
  if (wake_up <= now) return now;
  std::this_thread::sleep_until(std::min(wake_up, now + kLongestSleep));
  return steady_clock().now();
}

}  // namespace databuffer::tuning
