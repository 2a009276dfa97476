// How a consumer waits until a batch may be due.
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "engine/buffer_core.hpp"
#include "engine/consumer.hpp"

namespace databuffer::detail {
namespace {

// Naps: not shorter than a sleep takes anyway, not longer than a trigger may be late.
constexpr Duration kShortestNap = std::chrono::microseconds{20};
constexpr Duration kLongestNap = std::chrono::microseconds{500};
// What a nap may take that was to be short. A rate, in items per ns, at which that matters.
constexpr Duration kLongSleep = std::chrono::microseconds{200};
constexpr double kPouring = 0.002;
// The rate is measured over at least this long.
constexpr Duration kRateSpan = std::chrono::microseconds{10};

void pause_briefly() noexcept {
  for (int turn = 0; turn < 64; ++turn) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
}

}  // namespace

void Consumer::observe_rate(TimePoint now) noexcept {
  if (now - rate_since_ < kRateSpan) return;
  const std::uint64_t inserted = partition_.drain.inserted_here();
  items_per_ns_ = static_cast<double>(inserted - rate_inserted_) /
                  static_cast<double>((now - rate_since_).count());
  rate_inserted_ = inserted;
  rate_since_ = now;
}

Duration Consumer::time_to_fill() const noexcept {
  const std::size_t pending = std::min(partition_.pending_here(), schedule_.limit());
  const auto missing = static_cast<double>(schedule_.limit() - pending);
  // More than an hour is as good as never, and keeps the conversion in range.
  constexpr double kLongNs = 3.6e12;
  if (items_per_ns_ * kLongNs <= missing) return kForever;
  return Duration(static_cast<Duration::rep>(missing / items_per_ns_));
}

bool Consumer::keeps_looking(TimePoint now) const noexcept {
  if (buffer_.options().threading == Threading::kManual) return false;
  switch (buffer_.options().wait_strategy) {
    case WaitStrategy::kSpin:
    case WaitStrategy::kYield:
      return true;
    case WaitStrategy::kAdaptive:
      return time_to_fill() <= kHotFill || now < hot_until_;
    case WaitStrategy::kPark:
      break;
  }
  return false;
}

void Consumer::wait(TimePoint next, TimePoint now) noexcept {
  observe_rate(now);
  if (is_short_of_memory_ || flusher_.has_batch()) {  // Whatever is pending: not before then.
    is_short_of_memory_ = false;
    return sleep(next, now);
  }
  if (!keeps_looking(now)) return park(next, now);
  switch (buffer_.options().wait_strategy) {
    case WaitStrategy::kSpin:
      return pause_briefly();
    case WaitStrategy::kYield:
      sched_yield();
      return;
    case WaitStrategy::kAdaptive:
    case WaitStrategy::kPark:
      break;
  }
  const Duration fill = time_to_fill();
  if (would_oversleep() && steady_clock().now() >= contended_until_) return stay_awake(fill);
  sleep(std::min(next, now + std::clamp(fill, kShortestNap, kLongestNap)), now);
}

// Whether the partition may be full before a nap ends: then producers would go to sleep, and waking
// them costs more than the nap saves. Only where they pour: a few items into a tiny partition are
// not worth a core.
bool Consumer::would_oversleep() const noexcept {
  if (items_per_ns_ < kPouring) return false;
  const auto room =
      static_cast<double>(partition_.capacity) - static_cast<double>(partition_.pending_here());
  return room < items_per_ns_ * static_cast<double>(kLongSleep.count());
}

// Until the batch is there, which is before the partition is full, without a look at what producers
// write. Where others want the core, it is theirs, and for a while we nap. As sleep(), on the
// machine's clock: the buffer's may stand.
void Consumer::stay_awake(Duration fill) noexcept {
  TimePoint last = steady_clock().now();
  const TimePoint until = deadline_after(last, fill);
  while (last < until) {
    sched_yield();
    const TimePoint now = steady_clock().now();
    if (now - last > kShortestNap) {
      contended_until_ = deadline_after(now, kStaysHot);
      return;
    }
    pause_briefly();
    last = now;
  }
}

// `until` is on the buffer's clock, the sleep on the machine's.
void Consumer::sleep(TimePoint until, TimePoint now) noexcept {
  partition_.doorbell.sleep_until(
      until == TimePoint::max() ? until : deadline_after(steady_clock().now(), until - now));
}

void Consumer::park(TimePoint next, TimePoint now) noexcept {
  const std::size_t threshold = schedule_.is_started() ? schedule_.limit() : 1;
  if (!is_armed_for(threshold)) {
    disarm();
    arm(threshold);
    if (armed_for_ == 0) return;  // They have come already.
  }
  sleep(next, now);
  if (armed_for_ != 1) disarm();  // An empty partition keeps its watch.
}

}  // namespace databuffer::detail
