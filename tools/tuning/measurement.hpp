#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"

namespace databuffer::tuning {

[[nodiscard]] inline double seconds_of(Duration duration) noexcept {
  return std::chrono::duration<double>(duration).count();
}

/// Of one distribution of durations, in seconds.
struct Percentiles {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

/// What one run of one configuration showed. Everything is of the measured time; what happened in
/// the warm-up is left out.
struct Measurement {
  double seconds = 0;          ///< Measured, from the end of the warm-up.
  std::uint64_t inserted = 0;  ///< Items accepted.
  std::uint64_t flushed = 0;   ///< Items the handler was given and took.
  std::uint64_t failed = 0;    ///< Items whose batch failed for good.
  std::uint64_t dropped = 0;   ///< Items given up by an overflow policy, or refused.
  std::uint64_t refused = 0;   ///< ... of which this many were never accepted.
  std::int64_t backlog = 0;    ///< By how many more items were in the buffer at the end:
                               ///< inserted == flushed + failed + dropped - refused + backlog.
  std::uint64_t overdue = 0;   ///< Open loop: items due, and not offered by the end.
  double items_per_s = 0;      ///< Flushed per second: the throughput. A batch that was under way
                               ///< at the beginning or at the end counts in part; in an
                               ///< open loop whole batches stand for one that still fills.
  Percentiles insert_latency;  ///< Of one call; in an open loop from when it was due.
  double latency_step = 0;     ///< What the clock behind it can tell apart, in seconds.
  Percentiles wake_lateness;   ///< Open loop, part of it: how late the machine woke producers.
  Percentiles age;             ///< Of items, from when they were due to the handler's entry.
  bool is_age_of_oldest = false;  ///< `age` is of each batch's oldest item (see measure.hpp).
  std::uint64_t batches = 0;
  double mean_batch = 0;
  std::uint64_t size_flushes = 0;      ///< Batches by trigger: max_size, ...
  std::uint64_t interval_flushes = 0;  ///< ... flush_interval, ...
  std::uint64_t other_flushes = 0;     ///< ... flush() and close().
  double blocked_seconds = 0;          ///< Producers together, waiting for room.
  double handler_seconds = 0;          ///< Consumers together, inside the handler.
  double cpu_seconds = 0;              ///< Of the process, user and system.
  std::uint64_t wake_ups = 0;          ///< Of consumer threads, from a sleep.
  std::uint64_t peak_bytes = 0;        ///< Resident memory at its highest, beyond the start's.
  bool is_cut_short = false;           ///< Ended before its time, because it was told to stop.
};

/// One point of the space that is searched. What else a buffer is given stays as it is.
struct Candidate {
  std::size_t partitions = 1;
  std::size_t max_size = 5000;
  std::size_t capacity = 20'000;
  WaitStrategy wait = WaitStrategy::kAdaptive;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// Runs `candidate` for about `duration` and says how it did. A run whose `batches` are fewer than
/// two says nothing. May throw anything: the search ends with that error.
using Measure = std::function<Measurement(const Candidate& candidate, Duration duration)>;

}  // namespace databuffer::tuning
