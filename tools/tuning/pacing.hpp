#pragma once

#include <cstddef>
#include <cstdint>

#include "databuffer/clock.hpp"

namespace databuffer::tuning {

/// When the calls of one producer are due in an open loop: evenly, and in turn with the other
/// producers' calls, so that all of them together are even, too.
///
/// Call n of producer p is due at start + (n × producers + p) × batch / rate, to the nanosecond,
/// however long the run: nothing adds up.
class Schedule {
 public:
  /// Requires    rate > 0.
  Schedule(TimePoint start, double rate, std::size_t batch, std::size_t producers,
           std::size_t producer_index) noexcept
      : start_(start),
        ns_per_call_(1e9L * static_cast<long double>(batch) / static_cast<long double>(rate)),
        producers_(producers),
        producer_index_(producer_index) {}

  [[nodiscard]] TimePoint due(std::uint64_t call) const noexcept;

  /// How many of its calls are due before `end`.
  [[nodiscard]] std::uint64_t calls_before(TimePoint end) const noexcept;

 private:
  TimePoint start_;
  long double ns_per_call_;  // of all producers together
  std::size_t producers_;
  std::size_t producer_index_;
};

/// Sleeps until `wake_up`, but at most 20 ms, so that the caller can look whether it is still
/// wanted. Makes this thread's sleeps as precise as the machine can, for good. Returns the time.
TimePoint sleep_towards(TimePoint wake_up);

}  // namespace databuffer::tuning
