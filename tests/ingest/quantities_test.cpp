#include "tools/databuffer/quantities.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace databuffer::tools {
namespace {

using namespace std::chrono_literals;

TEST_SUITE("quantities") {
  TEST_CASE("a duration is a number with a unit, whole or not") {
    CHECK(parse_duration("7ns") == 7ns);
    CHECK(parse_duration("500us") == 500us);
    CHECK(parse_duration("10ms") == 10ms);
    CHECK(parse_duration("2s") == 2s);
    CHECK(parse_duration("1.5s") == 1500ms);
    CHECK(parse_duration(".5s") == 500ms);
    CHECK(parse_duration("1m") == 1min);
    CHECK(parse_duration("2h") == 2h);
    CHECK(parse_duration("0") == 0s);
    CHECK(parse_duration("0s") == 0s);
    CHECK(parse_duration("forever") == kForever);
  }

  TEST_CASE("a long duration is exact to the nanosecond") {
    CHECK(parse_duration("9223372036854775806ns").count() == 9223372036854775806);
  }

  TEST_CASE("a duration without unit, with another unit, negative or too long is refused") {
    for (const char* const text :
         {"", "10", "s", "10 s", "10x", "-5ms", "+5ms", "1e3s", "0x10s", "1.2.3s", "inf", "nan",
          ".s", "10sec", "Forever", "10S", "9223372036854775807ns", "293y", "3000000h"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(static_cast<void>(parse_duration(text)), BadQuantity);
    }
  }

  TEST_CASE("a count is a whole number, in thousands and millions too") {
    CHECK(parse_count("0") == 0);
    CHECK(parse_count("5000") == 5000);
    CHECK(parse_count("5k") == 5000);
    CHECK(parse_count("1.5M") == 1'500'000);
    CHECK(parse_count("2G") == 2'000'000'000);
    CHECK(parse_count("18446744073709551615") == UINT64_MAX);
  }

  TEST_CASE("a count that is not whole, negative, too large or not a number is refused") {
    for (const char* const text : {"", "k", "1.5", "1.0001k", "-1", "5kk", "5K", "5Ki", "5 k",
                                   "ten", "18446744073709551616", "99999999999999999999G"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(static_cast<void>(parse_count(text)), BadQuantity);
    }
  }

  TEST_CASE("a size in bytes knows thousands and powers of 1024") {
    CHECK(parse_bytes("4096") == 4096);
    CHECK(parse_bytes("4096B") == 4096);
    CHECK(parse_bytes("64k") == 64'000);
    CHECK(parse_bytes("64Ki") == 65'536);
    CHECK(parse_bytes("1.5MiB") == 1'572'864);
    CHECK(parse_bytes("1G") == 1'000'000'000);
    CHECK(parse_bytes("1Gi") == 1'073'741'824);
  }

  TEST_CASE("a size in bytes with another unit is refused") {
    for (const char* const text : {"", "B", "1T", "1ki", "1KB", "-1", "1.5", "1BB"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(static_cast<void>(parse_bytes(text)), BadQuantity);
    }
  }

  TEST_CASE("a formatted duration is in its largest whole unit, and parses back") {
    CHECK(format_duration(10s) == "10s");
    CHECK(format_duration(90s) == "90s");
    CHECK(format_duration(1500ms) == "1500ms");
    CHECK(format_duration(500us) == "500us");
    CHECK(format_duration(1ns) == "1ns");
    CHECK(format_duration(0s) == "0s");
    CHECK(format_duration(kForever) == "forever");
    for (const Duration duration : {Duration{1}, Duration{1'001}, Duration{60s}, kForever}) {
      CHECK(parse_duration(format_duration(duration)) == duration);
    }
  }
}

}  // namespace
}  // namespace databuffer::tools
