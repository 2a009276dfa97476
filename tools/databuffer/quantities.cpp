#include "tools/databuffer/quantities.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <span>

namespace databuffer::tools {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array kDurationUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

constexpr std::array kCountUnits{
    Unit{"", 1},
    Unit{"k", 1'000},
    Unit{"M", 1'000'000},
    Unit{"G", 1'000'000'000},
};

constexpr std::array kByteUnits{
    Unit{"", 1},           Unit{"k", 1'000},      Unit{"M", 1'000'000},  Unit{"G", 1'000'000'000},
    Unit{"Ki", 1U << 10U}, Unit{"Mi", 1U << 20U}, Unit{"Gi", 1U << 30U},
};

constexpr const char* kDurationForm =
    "expected 0s or more: a number and its unit (ns, us, ms, s, m or h), such as 500us, 10ms, 1.5s "
    "or 2m, or "
    "\"forever\"";
constexpr const char* kCountForm =
    "expected a whole number, such as 5000, 5k (thousand) or 2M (million)";
constexpr const char* kBytesForm =
    "expected a number of bytes, such as 4096, 64k (64,000) or 256Mi (256 x 1,048,576)";

// Digits with at most one point among them. Not left to strtold, which also knows "inf" and "0x".
std::size_t number_length(std::string_view text) {
  std::size_t digits = 0;
  std::size_t points = 0;
  std::size_t length = 0;
  for (const char character : text) {
    if (character >= '0' && character <= '9') {
      ++digits;
    } else if (character == '.' && points == 0) {
      ++points;
    } else {
      break;
    }
    ++length;
  }
  return digits == 0 ? 0 : length;
}

// A long double holds every 64-bit integer exactly, so whole quantities come out exact.
long double parse_scaled(std::string_view text, std::span<const Unit> units, const char* form) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const std::size_t length = number_length(text);
  if (length == 0) throw BadQuantity(form);
  const long double number = std::strtold(std::string(text.substr(0, length)).c_str(), nullptr);
  const std::string_view name = text.substr(length);
  for (const Unit& unit : units) {
    if (unit.name == name) return number * static_cast<long double>(unit.factor);
  }
  throw BadQuantity(form);
}

std::uint64_t whole(long double value, const char* form) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  if (value > static_cast<long double>(kMax)) {
    throw BadQuantity("expected at most " + std::to_string(kMax));
  }
  if (std::floor(value) != value) throw BadQuantity(form);
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Duration parse_duration(std::string_view text) {
  if (text == "forever") return kForever;
  if (text == "0") return Duration::zero();
  const long double value = parse_scaled(text, kDurationUnits, kDurationForm);
  if (value >= static_cast<long double>(Duration::max().count())) {
    throw BadQuantity("expected at most 292 years, or \"forever\"");
  }
  return Duration(static_cast<Duration::rep>(std::round(value)));
}

std::uint64_t parse_count(std::string_view text) {
  return whole(parse_scaled(text, kCountUnits, kCountForm), kCountForm);
}

std::uint64_t parse_bytes(std::string_view text) {
  if (text.ends_with('B')) text.remove_suffix(1);
  return whole(parse_scaled(text, kByteUnits, kBytesForm), kBytesForm);
}

std::string format_duration(Duration duration) {
  if (duration == kForever) return "forever";
  const Duration::rep count = duration.count();
  if (count == 0) return "0s";
  // Minutes and hours are left out: "90s" and "7200s" need no arithmetic to compare.
  for (const std::size_t index : {3U, 2U, 1U}) {
    const auto factor = static_cast<Duration::rep>(kDurationUnits[index].factor);
    if (count % factor == 0) {
      return std::to_string(count / factor) + std::string(kDurationUnits[index].name);
    }
  }
  return std::to_string(count) + "ns";
}

}  // namespace databuffer::tools
