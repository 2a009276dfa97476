#pragma once

#include <chrono>

#include "databuffer/databuffer.hpp"

// For buffers that are run by hand where nothing but the buffer may ask for memory; ManualBuffer
// notes each batch.
namespace databuffer::support {

[[nodiscard]] inline const ManualClock& still_clock() {
  static const ManualClock clock(TimePoint{std::chrono::hours{1}});
  return clock;
}

/// `options` for a buffer that is run by hand, by still_clock() unless they name a clock.
[[nodiscard]] inline Options by_hand(Options options = {}) {
  options.name = "b";
  options.threading = Threading::kManual;
  if (options.clock == nullptr) options.clock = &still_clock();
  return options;
}

/// Steps until nothing more is due at `now`.
void work_all(auto& buffer, TimePoint now) {
  while (buffer.do_work(now) <= now) {
  }
}

}  // namespace databuffer::support
