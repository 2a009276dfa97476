#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"

namespace databuffer::detail {

/// When one partition's next batch is due: pure arithmetic on sizes and times.
///
/// Every batch draws its own limit and interval: uniform over [max_size, max_size + jitter] and
/// [flush_interval, flush_interval + jitter]. The interval runs from the batch's first item.
/// Threads: the consumer.
class FlushSchedule {
 public:
  FlushSchedule(const Options& options, std::uint64_t seed);

  /// Items that make the current batch due, and the most it may hold.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

  /// The batch's first item came at `first`. Requires: not started.
  void start(TimePoint first) noexcept;

  [[nodiscard]] bool is_started() const noexcept { return is_started_; }
  [[nodiscard]] TimePoint first() const noexcept { return first_; }
  /// "Never" unless started.
  [[nodiscard]] TimePoint deadline() const noexcept { return deadline_; }

  /// The batch is gone, or was empty after all: draws the next one's limit and interval.
  void next_batch();

 private:
  const std::size_t max_size_;
  const std::size_t max_size_jitter_;
  const Duration flush_interval_;
  const Duration flush_jitter_;
  std::mt19937_64 random_;

  std::size_t limit_ = 0;
  Duration interval_{};
  bool is_started_ = false;
  TimePoint first_{};
  TimePoint deadline_ = TimePoint::max();
};

}  // namespace databuffer::detail
