#include "tools/databuffer/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace databuffer::tools {

namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

// Skips what is plain ASCII, eight bytes at a time. A borrow makes the test stop too early at
// worst, never too late: the caller looks at what comes next byte by byte.
std::size_t skip_ascii(const char* bytes, std::size_t at, std::size_t size) noexcept {
  while (size - at >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    const bool has_zero_or_high = (((word - kOnes) | word) & kHighBits) != 0;
    if (has_zero_or_high) break;
    at += sizeof word;
  }
  return at;
}

bool is_continuation(unsigned char byte) noexcept { return (byte & 0xC0U) == 0x80U; }

// The length of the well-formed character that begins here; 0 if there is none.
std::size_t character_length(const unsigned char* bytes, std::size_t size) noexcept {
  const unsigned char lead = bytes[0];
  if (lead < 0x80U) return lead == 0 ? 0 : 1;
  const std::size_t length = lead < 0xC2U ? 0 : lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
  if (length == 0 || lead > 0xF4U || length > size) return 0;
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t index = 1; index < length; ++index) {
    if (!is_continuation(bytes[index])) return 0;
    code = code << 6U | (bytes[index] & 0x3FU);
  }
  constexpr std::uint32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool is_noncharacter = code == 0xFFFE || code == 0xFFFF;  // SQLite's UTF-16 replaces these
  if (code < kShortest[length] || code > 0x10FFFF || is_surrogate || is_noncharacter) return 0;
  return length;
}

}  // namespace

bool is_clean_text(std::string_view bytes) noexcept {
  const char* const data = bytes.data();
  std::size_t at = 0;
  for (;;) {
    at = skip_ascii(data, at, bytes.size());
    if (at == bytes.size()) return true;
    const std::size_t length =
        character_length(reinterpret_cast<const unsigned char*>(data) + at, bytes.size() - at);
    if (length == 0) return false;
    at += length;
  }
}

}  // namespace databuffer::tools
