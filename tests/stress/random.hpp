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

/// `count` repetitions, fewer where a sanitizer makes each slower.
[[nodiscard]] constexpr std::size_t scaled(std::size_t count) noexcept {
  constexpr std::size_t kSanitizerShare = 8;
  return support::kHasSanitizer ? (count + kSanitizerShare - 1) / kSanitizerShare : count;
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
