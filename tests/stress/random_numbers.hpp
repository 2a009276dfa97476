#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

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

/// Random numbers, the same for the same seed. Threads: one; give each thread its own.
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

}  // namespace databuffer::stress
