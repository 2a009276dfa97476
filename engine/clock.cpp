#include "databuffer/clock.hpp"

#include <cstddef>
#include <new>

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
  // Never destroyed: a detached consumer reads it to the very end of the process. In a place of its
  // own: the first look may come where there is no memory.
  alignas(SteadyClock) static std::byte place[sizeof(SteadyClock)];
  static const Clock* const clock = ::new (static_cast<void*>(place)) SteadyClock;
  return *clock;
}

std::chrono::nanoseconds detail::wall_time() noexcept {
  return std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace databuffer
