#include "engine/flush_schedule.hpp"

#include "databuffer/detail/assert.hpp"

namespace databuffer::detail {

FlushSchedule::FlushSchedule(const Options& options, std::uint64_t seed)
    : max_size_(options.max_size),
      max_size_jitter_(options.max_size_jitter),
      flush_interval_(options.flush_interval),
      flush_jitter_(options.flush_jitter),
      random_(seed) {
  next_batch();
}

void FlushSchedule::start(TimePoint first) noexcept {
  DATABUFFER_ASSERT(!is_started_);
  is_started_ = true;
  first_ = first;
  // An interval of 0 makes the batch due at once: deadline_after() takes that as it is.
  deadline_ = interval_ == kForever ? TimePoint::max() : deadline_after(first, interval_);
}

void FlushSchedule::next_batch() {
  is_started_ = false;
  deadline_ = TimePoint::max();
  limit_ = max_size_;
  if (max_size_jitter_ > 0) {
    limit_ += std::uniform_int_distribution<std::size_t>(0, max_size_jitter_)(random_);
  }
  interval_ = flush_interval_;
  if (flush_jitter_ > Duration::zero()) {
    const Duration::rep drawn =
        std::uniform_int_distribution<Duration::rep>(0, flush_jitter_.count())(random_);
    interval_ = interval_ > kForever - Duration(drawn) ? kForever : interval_ + Duration(drawn);
  }
}

}  // namespace databuffer::detail
