#include "tools/databuffer/utf8.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

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
