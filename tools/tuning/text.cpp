#include "tools/tuning/text.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>

#include "tools/tuning/utf8.hpp"

namespace databuffer::tuning {

namespace {

struct Unit {
  double factor;
  const char* name;
};

constexpr std::array kCountUnits{Unit{1, ""}, Unit{1e3, " k"}, Unit{1e6, " M"}, Unit{1e9, " G"}};
constexpr std::array kSecondsUnits{Unit{1e-6, " us"}, Unit{1e-3, " ms"}, Unit{1, " s"}};
constexpr std::array kByteUnits{Unit{1, " B"}, Unit{0x1p10, " KiB"}, Unit{0x1p20, " MiB"},
                                Unit{0x1p30, " GiB"}};

// A ratio above that is one to next to nothing, and its digits mean nothing.
constexpr double kMuch = 1000;

// "1.23", "12.3", "123": so that 999.7 becomes "1000" and not more digits than it has.
std::string three_digits(double value) {
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fixed_text(value, digits);
}

std::string scaled(double value, std::span<const Unit> units) {
  if (!std::isfinite(value)) return value > 0 ? "inf" : "?";
  const Unit* unit = &units.front();
  for (const Unit& larger : units) {
    if (value >= larger.factor * 0.9995) unit = &larger;
  }
  const double number = value / unit->factor;
  const bool is_whole = unit == &units.front() && number == std::floor(number);
  return (is_whole ? fixed_text(number, 0) : three_digits(number)) + unit->name;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
  std::string text;
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    text += step.is_character ? bytes.substr(0, step.size) : kReplacement;
    bytes.remove_prefix(step.size);
  }
  return text;
}

std::string fixed_text(double value, int digits) {
  std::array<char, 400> text{};  // the largest double has 309 digits
  const int size = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string count_text(double count) { return scaled(count, kCountUnits); }

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  // Whole nanoseconds, which a double in seconds holds only nearly.
  if (seconds < 0.9995e-6) return fixed_text(seconds * 1e9, 0) + " ns";
  return scaled(seconds, kSecondsUnits);
}

std::string seconds_text(Duration duration) { return seconds_text(seconds_of(duration)); }

std::string bytes_text(double bytes) { return scaled(bytes, kByteUnits); }

std::string gain_text(double ratio) {
  if (ratio >= kMuch) return "> " + fixed_text(kMuch, 0) + " x";
  if (ratio >= 2) return three_digits(ratio) + " x";
  const double percent = (ratio - 1) * 100;
  return (percent < 0 ? "" : "+") + fixed_text(percent, 1) + " %";
}

std::string ratio_text(const Interval& ratio) {
  const auto number = [](double value) {
    return value >= kMuch ? "> " + fixed_text(kMuch, 0) : fixed_text(value, 2);
  };
  const char* const brackets = ratio.is_range ? "()" : "[]";
  return number(ratio.median) + " " + brackets[0] + number(ratio.low) + " … " + number(ratio.high) +
         brackets[1];
}

std::string candidate_text(const Candidate& candidate) {
  return std::to_string(candidate.partitions) +
         (candidate.partitions == 1 ? " partition" : " partitions") + ", max_size " +
         std::to_string(candidate.max_size) + ", capacity " + std::to_string(candidate.capacity) +
         ", " + std::string(to_string(candidate.wait));
}

std::string workload_text(const Workload& workload, const std::string& items) {
  return std::to_string(workload.producers) +
         (workload.producers == 1 ? " producer, " : " producers, ") +
         (items.empty() ? "" : "items of " + items + ", ") +
         (workload.batch == 1 ? "one" : std::to_string(workload.batch)) + " a call, " +
         (workload.rate > 0 ? count_text(workload.rate) + "/s" : "as fast as possible");
}

}  // namespace databuffer::tuning
