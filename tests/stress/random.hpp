#pragma once

#include <doctest/doctest.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/sanitizers.hpp"

namespace databuffer::stress {

/// A whole number from the environment, or `otherwise` where it is not set.
/// Throws      std::invalid_argument naming the variable and its value.
[[nodiscard]] inline std::uint64_t number_from_environment(const char* name,
                                                           std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::string_view digits(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw std::invalid_argument(std::string(name) + " = " + text +
                                ": a whole number, 0 … 2^64 - 1");
  }
  return number;
}

/// A test case's random numbers. The seed is printed; DATABUFFER_STRESS_SEED=… runs it again (the
/// threads still meet as they like). Threads: one; give each thread its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// A number of low … high, both included.
  [[nodiscard]] std::size_t number(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(engine_);
  }
  [[nodiscard]] bool one_in(std::size_t count) { return number(1, count) == 1; }
  template <class T>
  [[nodiscard]] T pick(std::initializer_list<T> choices) {
    return choices.begin()[number(0, choices.size() - 1)];
  }
  [[nodiscard]] std::uint64_t seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// The random numbers of a test case, with their seed printed.
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
