#pragma once

#include <chrono>

#include "databuffer/clock.hpp"

namespace databuffer::detail {

/// When a call that may wait for `wait` has waited long enough, on the machine's steady clock.
[[nodiscard]] inline TimePoint wait_deadline(Duration wait) noexcept {
  return wait == kForever ? TimePoint::max() : deadline_after(steady_clock().now(), wait);
}

/// The wall clock, since the Unix epoch: to be told, never to be waited by.
[[nodiscard]] std::chrono::nanoseconds wall_time() noexcept;

}  // namespace databuffer::detail
