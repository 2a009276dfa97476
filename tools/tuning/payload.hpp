#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "databuffer/clock.hpp"

namespace databuffer::tuning {

/// What a payload is filled with.
inline constexpr char kFiller = 'x';

/// A trivially copyable payload of kBytes; see kPlainBytes.
template <std::size_t kBytes>
struct PlainItem {
  TimePoint due;
  std::array<char, kBytes - sizeof(TimePoint)> filler;
};

template <>
struct PlainItem<sizeof(TimePoint)> {
  TimePoint due;
};

template <std::size_t kBytes>
[[nodiscard]] PlainItem<kBytes> make_plain_item() noexcept {
  static_assert(sizeof(PlainItem<kBytes>) == kBytes);
  PlainItem<kBytes> item;  // NOLINT: `due` is set behind us
  if constexpr (kBytes > sizeof(TimePoint)) item.filler.fill(kFiller);
  return item;
}

template <std::size_t kBytes>
[[nodiscard]] std::string_view bytes_of(const PlainItem<kBytes>& item) noexcept {
  return {reinterpret_cast<const char*>(&item), sizeof item};
}

/// A string as payload. Its first eight bytes are the time at which it was due.
struct StringItem {
  std::string text;

  void set_due(TimePoint due) noexcept { std::memcpy(text.data(), &due, sizeof due); }
  [[nodiscard]] TimePoint due() const noexcept {
    TimePoint due;
    std::memcpy(&due, text.data(), sizeof due);
    return due;
  }
};

[[nodiscard]] inline std::string_view bytes_of(const StringItem& item) noexcept {
  return item.text;
}

}  // namespace databuffer::tuning
