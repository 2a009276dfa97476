#include "tools/databuffer/space_cli.hpp"

#include <algorithm>
#include <string_view>

#include "tools/databuffer/options_cli.hpp"
#include "tools/databuffer/quantities.hpp"

namespace databuffer::tools {

namespace {

constexpr std::string_view kRange = "..";
constexpr std::size_t kMaxCapacity = std::size_t{1} << 40U;  // as in Options
constexpr std::size_t kMaxFactor = 1'000'000;

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char character : text) {
    if (character == ',') {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  return parts;
}

// One part of a list: a value, or the steps of a range.
std::vector<std::size_t> parse_part(const std::string& part, std::size_t min, std::size_t max) {
  const std::size_t dots = part.find(kRange);
  if (dots == std::string::npos) return {parse_count_within(part, min, max)};
  const std::size_t first = parse_count_within(part.substr(0, dots), min, max);
  const std::size_t last = parse_count_within(part.substr(dots + kRange.size()), min, max);
  if (first > last) throw BadQuantity("expected a range from the lower to the higher number");
  return tuning::geometric_steps(first, last);
}

// What a part throws says what is wrong with it; this adds what a list looks like.
template <class Parse>
void parse_list(const std::string& text, const char* form, Parse parse) {
  for (const std::string& part : parts_of(text)) {
    try {
      parse(part);
    } catch (const BadQuantity& error) {
      throw BadQuantity("at '" + part + "': " + error.what() + "; expected " + form);
    }
  }
}

}  // namespace

std::vector<std::size_t> parse_counts(const std::string& text, std::size_t min, std::size_t max) {
  std::vector<std::size_t> counts;
  parse_list(text, "a list such as 1,2,4 or a range such as 100..20k",
             [&](const std::string& part) {
               const std::vector<std::size_t> steps = parse_part(part, min, max);
               counts.insert(counts.end(), steps.begin(), steps.end());
             });
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<tuning::CapacityRule> parse_capacities(const std::string& text) {
  std::vector<tuning::CapacityRule> rules;
  parse_list(text, "a list such as 4x,16x (times max_size), 50k, or a range such as 1k..100k",
             [&](const std::string& part) {
               if (part.ends_with('x')) {
                 const std::string factor = part.substr(0, part.size() - 1);
                 rules.push_back({parse_count_within(factor, 1, kMaxFactor), true});
                 return;
               }
               for (const std::size_t items : parse_part(part, 1, kMaxCapacity)) {
                 rules.push_back({items, false});
               }
             });
  return rules;
}

std::vector<WaitStrategy> parse_waits(const std::string& text) {
  std::vector<WaitStrategy> waits;
  parse_list(text, "a list such as adaptive,park", [&](const std::string& part) {
    const WaitStrategy wait = parse_wait(part);
    if (std::find(waits.begin(), waits.end(), wait) == waits.end()) waits.push_back(wait);
  });
  return waits;
}

tuning::Goal parse_goal(const std::string& text) {
  for (const tuning::Goal goal : {tuning::Goal::kThroughput, tuning::Goal::kLatency,
                                  tuning::Goal::kMemory, tuning::Goal::kBalanced}) {
    if (tuning::to_string(goal) == text) return goal;
  }
  throw BadQuantity("expected throughput, latency, memory or balanced");
}

std::string counts_text(const std::vector<std::size_t>& counts) {
  std::string text;
  for (const std::size_t count : counts) {
    text += (text.empty() ? "" : ",") + std::to_string(count);
  }
  return text;
}

}  // namespace databuffer::tools
