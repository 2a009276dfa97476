#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace databuffer::reference {

/// Decisions, read from bytes: a fuzzer's or random ones. Behind their end every decision is the
/// first choice. Threads: one.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] bool is_over() const noexcept { return at_ == bytes_.size(); }

  /// 0 … count - 1. Requires 1 <= count <= 256.
  [[nodiscard]] std::size_t below(std::size_t count) noexcept {
    return is_over() ? 0 : bytes_[at_++] % count;
  }
  [[nodiscard]] bool one_in(std::size_t count) noexcept { return below(count) == count - 1; }
  template <class T>
  [[nodiscard]] T pick(std::initializer_list<T> choices) noexcept {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::span<const std::uint8_t> bytes_;  // borrowed
  std::size_t at_ = 0;
};

}  // namespace databuffer::reference
