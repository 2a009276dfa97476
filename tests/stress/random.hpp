#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "stress/random_numbers.hpp"
#include "support/sanitizers.hpp"

namespace databuffer::stress {

/// The random numbers of a test case, with their seed printed; DATABUFFER_STRESS_SEED=… runs it
/// again (the threads still meet as they like).
[[nodiscard]] inline Random printed_random() {
  const std::uint64_t seed =
      number_from_environment("DATABUFFER_STRESS_SEED", std::random_device{}());
  MESSAGE("DATABUFFER_STRESS_SEED=" << seed);
  return Random(seed);
}

/// `count` repetitions, fewer where a sanitizer or an emulator makes each slower. (qemu also keeps
/// some memory of each thread that has ended.)
[[nodiscard]] inline std::uint32_t scaled(std::uint32_t count) noexcept {
  constexpr std::uint32_t kSlowShare = 8;
  const bool is_slow = support::kHasSanitizer || std::getenv("DATABUFFER_TEST_EMULATOR") != nullptr;
  return is_slow ? (count + kSlowShare - 1) / kSlowShare : count;
}

/// How long a test that goes on for a while goes on: a second or two, or DATABUFFER_STRESS_SECONDS.
class Budget {
 public:
  explicit Budget(std::chrono::milliseconds usual)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::milliseconds(1000 *
                                       number_from_environment("DATABUFFER_STRESS_SECONDS", 0))) {
    if (std::getenv("DATABUFFER_STRESS_SECONDS") == nullptr) end_ += usual;
  }
  [[nodiscard]] bool is_left() const noexcept { return std::chrono::steady_clock::now() < end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace databuffer::stress
