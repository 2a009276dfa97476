#include "tools/databuffer/utf8.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/tuning/utf8.hpp"

namespace databuffer::tools {
namespace {

TEST_SUITE("utf8") {
  TEST_CASE("ASCII and well-formed UTF-8 are clean text") {
    CHECK(is_clean_text(""));
    CHECK(is_clean_text("plain, with\ttabs and\r carriage returns and \x7F"));
    CHECK(is_clean_text("\xC2\x80 \xDF\xBF"));  // shortest and longest of two bytes
    CHECK(is_clean_text("\xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBD"));  // … of three
    CHECK(is_clean_text("\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF"));                    // … of four
    CHECK(is_clean_text("\xEF\xBB\xBF with a byte order mark"));
  }

  TEST_CASE("what is not well-formed is not clean text") {
    for (const char* const bytes : {"\x80",
                                    "\xBF",  // a continuation alone
                                    "\xC3",
                                    "\xE2\x82",
                                    "\xF0\x9F\x98",  // cut off
                                    "\xC3 ",
                                    "\xE2\x82 ",  // cut off in the middle
                                    "\xC0\x80",
                                    "\xC1\xBF",
                                    "\xE0\x80\x80",
                                    "\xE0\x9F\xBF",
                                    "\xF0\x80\x80\x80",
                                    "\xF0\x8F\xBF\xBF",  // longer than need be
                                    "\xED\xA0\x80",
                                    "\xED\xBF\xBF",  // surrogates
                                    "\xF4\x90\x80\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xF8\x88\x80\x80\x80",
                                    "\xFE",
                                    "\xFF"}) {
      CAPTURE(bytes);
      CHECK_FALSE(is_clean_text(bytes));
    }
  }

  TEST_CASE("NUL, and what SQLite's UTF-16 replaces, is not clean text") {
    CHECK_FALSE(is_clean_text(std::string_view("\0", 1)));
    CHECK_FALSE(is_clean_text("\xEF\xBF\xBE"));  // U+FFFE
    CHECK_FALSE(is_clean_text("\xEF\xBF\xBF"));  // U+FFFF
  }

  // Goal: a path looks alike in every output, and none of them is broken by it.
  // Method: every string of up to four of the bytes at which something changes, against what the
  // JSON library puts in their place.
  TEST_CASE("what is not UTF-8 is replaced in the HTML as it is in the JSON") {
    const std::string_view edges(
        "\x01"
        "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5\xFF");
    const auto by_json = [](const std::string& bytes) {
      constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
      const std::string dumped = nlohmann::json(bytes).dump(-1, ' ', false, kReplace);
      return nlohmann::json::parse(dumped).get<std::string>();
    };
    std::size_t different = 0;
    std::size_t invalid = 0;
    std::size_t strings = 1;
    for (std::size_t length = 1; length <= 4; ++length) {
      strings *= edges.size();
      for (std::size_t number = 0; number < strings; ++number) {
        std::string bytes;
        for (std::size_t rest = number, left = length; left > 0; --left, rest /= edges.size()) {
          bytes += edges[rest % edges.size()];
        }
        const std::string valid = tuning::valid_utf8(bytes);
        if (valid != by_json(bytes)) ++different;
        if (tuning::valid_utf8(valid) != valid) ++invalid;
        if (is_clean_text(bytes) && valid != bytes) ++different;
      }
    }
    CHECK(different == 0);
    CHECK(invalid == 0);
    CHECK(tuning::valid_utf8("") == "");
    CHECK(tuning::valid_utf8("a\xFFö\xE2\x82z\xF0\x9F\x98") == "a\uFFFDö\uFFFDz\uFFFD");
  }

  TEST_CASE("a bad byte is found wherever it stands among the words of eight") {
    for (std::size_t size = 1; size <= 40; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        for (const char bad : {'\0', '\x80', '\xFF'}) {
          std::string bytes(size, '\x01');  // the byte for which the search for zeros borrows most
          CHECK(is_clean_text(bytes));
          bytes[at] = bad;
          CHECK_FALSE(is_clean_text(bytes));
        }
      }
    }
  }
}

}  // namespace
}  // namespace databuffer::tools
