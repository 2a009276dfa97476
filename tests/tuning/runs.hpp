#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

#include "tools/tuning/measurement.hpp"
#include "tools/tuning/trial.hpp"

namespace databuffer::tuning {

/// A measurement's counts add up, whatever happened.
inline void check_sums(const Measurement& measured) {
  CHECK(measured.dropped >= measured.refused);
  const auto given_up = measured.dropped - measured.refused;
  CHECK(static_cast<std::int64_t>(measured.inserted) ==
        static_cast<std::int64_t>(measured.flushed + measured.failed + given_up) +
            measured.backlog);
  CHECK(measured.batches ==
        measured.size_flushes + measured.interval_flushes + measured.other_flushes);
  CHECK(measured.seconds > 0);
}

/// Runs it, longer each time, until what must happen has happened: on a busy machine some
/// milliseconds may pass without anything. What never happens is the watchdog's.
template <class Condition>
Measurement run_until(Trial trial, const PayloadHandler& handler, Condition has_happened) {
  for (;; trial.measured *= 2) {
    const Measurement measured = run_trial(trial, handler);
    check_sums(measured);
    CHECK_FALSE(measured.is_cut_short);
    if (has_happened(measured)) return measured;
  }
}

/// The same for a Measure.
template <class Condition>
Measurement measure_until(const Measure& measure, const Candidate& candidate,
                          Condition has_happened) {
  for (Duration duration = std::chrono::milliseconds{5};; duration *= 2) {
    const Measurement measured = measure(candidate, duration);
    check_sums(measured);
    if (has_happened(measured)) return measured;
  }
}

inline bool has_flushed(const Measurement& measured) { return measured.flushed > 0; }
inline bool has_batches(const Measurement& measured) { return measured.batches > 0; }

}  // namespace databuffer::tuning
