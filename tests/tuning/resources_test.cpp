#include "tools/tuning/resources.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "support/sanitizers.hpp"
#include "tools/tuning/ticks.hpp"

namespace databuffer::tuning {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

/// Memory that is really there.
std::unique_ptr<char[]> touched(std::size_t bytes) {  // NOLINT: an array, as asked for
  auto memory = std::make_unique<char[]>(bytes);      // NOLINT
  std::memset(memory.get(), 1, bytes);
  return memory;
}

TEST_SUITE("resources") {
  TEST_CASE("CPU time goes on with work, and not backwards") {
    const Duration before = cpu_time();
    volatile std::uint64_t sum = 0;
    while (cpu_time() == before) sum = sum + 1;
    CHECK(cpu_time() > before);
  }

  TEST_CASE("the peak is what was there at most since the start, and is forgotten by a new start") {
    if (support::kHasSanitizer) return;  // it keeps what is freed
    constexpr std::size_t kBytes = 64 * kMegabyte;
    PeakMemory memory;
    memory.start();
    const std::uint64_t before = resident_bytes();
    touched(kBytes).reset();
    if (memory.is_sampled()) MESSAGE("the kernel does not reset VmHWM here: peaks are sampled");
    if (!memory.is_sampled()) {
      CHECK(memory.peak_bytes() >= before + kBytes - kMegabyte);
    }
    give_memory_back();
    CHECK(resident_bytes() < before + kBytes / 2);
    memory.start();
    CHECK(memory.peak_bytes() < before + kBytes / 2);
    {
      const auto kept = touched(kBytes);
      memory.sample();
    }
    CHECK(memory.peak_bytes() >= before + kBytes - kMegabyte);
  }

  TEST_CASE("ticks have a length, a cost and a step") {
    const std::int64_t first = Ticks::now();
    const TimePoint began = steady_clock().now();
    while (steady_clock().now() - began < std::chrono::milliseconds{1}) {
    }
    const std::int64_t last = Ticks::now();
    CHECK(last > first);
    CHECK(Ticks::between(first, last) > Duration::zero());
    CHECK(Ticks::between(last, first) == Duration::zero());
    CHECK(Ticks::between(first, first) == Duration::zero());
    CHECK(Ticks::cost() >= Duration::zero());
    CHECK(Ticks::step() > Duration::zero());
  }
}

}  // namespace
}  // namespace databuffer::tuning
