#pragma once

#include <cstddef>
#include <string_view>

namespace databuffer::fuzz {

/// What is_clean_text() must answer, by the table of well-formed byte sequences in the Unicode
/// Standard (3.9), without NUL, U+FFFE and U+FFFF: byte by byte, and with no arithmetic.
[[nodiscard]] inline bool is_plain_utf8(std::string_view bytes) {
  struct Form {
    unsigned char first_low, first_high;    // of the first byte
    unsigned char second_low, second_high;  // of the second; the others are 80 to BF
    std::size_t length;
  };
  static constexpr Form kForms[] = {
      {0x01, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
      {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
      {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  const auto byte = [&bytes](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  std::size_t at = 0;
  while (at < bytes.size()) {
    const Form* form = nullptr;
    for (const Form& each : kForms) {
      if (byte(at) >= each.first_low && byte(at) <= each.first_high) form = &each;
    }
    if (form == nullptr || bytes.size() - at < form->length) return false;
    for (std::size_t index = 1; index < form->length; ++index) {
      const unsigned char low = index == 1 ? form->second_low : 0x80;
      const unsigned char high = index == 1 ? form->second_high : 0xBF;
      if (byte(at + index) < low || byte(at + index) > high) return false;
    }
    const std::string_view character = bytes.substr(at, form->length);
    if (character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") return false;
    at += form->length;
  }
  return true;
}

}  // namespace databuffer::fuzz
