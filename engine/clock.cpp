#include "databuffer/clock.hpp"

#include "engine/times.hpp"

namespace databuffer {
namespace {

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override {
    return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
  }
};

}  // namespace

const Clock& steady_clock() noexcept {
  // Never destroyed: a detached consumer reads it to the very end of the process.
  static const auto* const clock = new SteadyClock;
  return *clock;
}

std::chrono::nanoseconds detail::wall_time() noexcept {
  return std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace databuffer
