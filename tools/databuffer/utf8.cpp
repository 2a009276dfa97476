#include "tools/databuffer/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/tuning/utf8.hpp"

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

// What a database in UTF-16 replaces.
bool is_noncharacter(std::string_view character) noexcept {
  return character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";  // U+FFFE, U+FFFF
}

}  // namespace

bool is_clean_text(std::string_view bytes) noexcept {
  std::size_t at = 0;
  for (;;) {
    at = skip_ascii(bytes.data(), at, bytes.size());
    if (at == bytes.size()) return true;
    const tuning::Utf8Step step = tuning::utf8_step(bytes.substr(at));
    if (!step.is_character || bytes[at] == '\0') return false;
    if (is_noncharacter(bytes.substr(at, step.size))) return false;
    at += step.size;
  }
}

}  // namespace databuffer::tools
