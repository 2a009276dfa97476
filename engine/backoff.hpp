#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "databuffer/clock.hpp"
#include "databuffer/options.hpp"

namespace databuffer::detail {

/// How long to pause before a batch is tried again: exponential, with full jitter, so that many who
/// failed together do not come back together. (Marc Brooker, "Exponential Backoff And Jitter",
/// 2015.)
class Backoff {
 public:
  Backoff(const Retry& retry, std::uint64_t seed) noexcept : retry_(retry), random_(seed) {}

  /// The longest pause after the `attempt`-th call (from 1).
  [[nodiscard]] Duration ceiling(std::uint32_t attempt) const noexcept {
    const Duration first = retry_.initial_backoff;
    const std::uint32_t doublings = attempt - 1;
    if (doublings >= 63U || first > Duration(kForever.count() >> doublings)) {
      return first == Duration::zero() ? first : retry_.max_backoff;
    }
    return std::min(Duration(first.count() << doublings), retry_.max_backoff);
  }

  /// A pause, uniform over 0 … ceiling(attempt).
  [[nodiscard]] Duration draw(std::uint32_t attempt) {
    const Duration::rep longest = ceiling(attempt).count();
    return Duration(std::uniform_int_distribution<Duration::rep>(0, longest)(random_));
  }

 private:
  const Retry retry_;
  std::mt19937_64 random_;
};

}  // namespace databuffer::detail
