#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace databuffer::tuning {

/// What stands at the beginning of some bytes: a character in UTF-8, or what one reads before it is
/// clear that there is none.
struct Utf8Step {
  std::size_t size = 0;  ///< In bytes; 1 or more.
  bool is_character = false;
};

/// Requires    `bytes` is not empty.
[[nodiscard]] inline Utf8Step utf8_step(std::string_view bytes) noexcept {
  const auto byte = [bytes](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80U) return {1, true};
  const std::size_t size = lead < 0xC2U ? 0 : lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
  if (size == 0 || lead > 0xF4U) return {1, false};
  // The second byte is where what is longer than need be, surrogates and what is above U+10FFFF
  // show.
  const unsigned char lowest = lead == 0xE0U ? 0xA0 : lead == 0xF0U ? 0x90 : 0x80;
  const unsigned char highest = lead == 0xEDU ? 0x9F : lead == 0xF4U ? 0x8F : 0xBF;
  if (bytes.size() < 2 || byte(1) < lowest || byte(1) > highest) return {1, false};
  std::size_t read = 2;
  while (read < size && read < bytes.size() && (byte(read) & 0xC0U) == 0x80U) ++read;
  return {read, read == size};
}

/// `bytes` with U+FFFD for what is not UTF-8, as browsers do it: one for each step that is no
/// character. A path may be any bytes.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace databuffer::tuning
