#include "tools/tuning/recommendation.hpp"

#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

// A string literal. Bytes that are neither printable nor plain are written in octal, three digits
// each, so that no digit behind them is taken for theirs.
std::string quoted(const std::string& text) {
  std::string literal = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      literal += '\\';
      literal += character;
    } else if (byte < 0x20 || byte == 0x7f || character == '?') {  // ? may begin a trigraph
      literal += '\\';
      for (const unsigned shift : {6U, 3U, 0U}) {
        literal += static_cast<char>('0' + (byte >> shift & 7U));
      }
    } else {
      literal += character;
    }
  }
  return literal + '"';
}

std::string duration_cpp(Duration duration) {
  if (duration == kForever) return "databuffer::kForever";
  const Duration::rep count = duration.count();
  if (count % 1'000'000'000 == 0) {
    return "std::chrono::seconds{" + std::to_string(count / 1'000'000'000) + "}";
  }
  if (count % 1'000'000 == 0) {
    return "std::chrono::milliseconds{" + std::to_string(count / 1'000'000) + "}";
  }
  if (count % 1'000 == 0) return "std::chrono::microseconds{" + std::to_string(count / 1'000) + "}";
  return "std::chrono::nanoseconds{" + std::to_string(count) + "}";
}

std::string_view overflow_cpp(Overflow overflow) {
  switch (overflow) {
    case Overflow::kBlock:
      return "kBlock";
    case Overflow::kReject:
      return "kReject";
    case Overflow::kDropNewest:
      return "kDropNewest";
    case Overflow::kDropOldest:
      return "kDropOldest";
  }
  return "?";
}

std::string_view wait_cpp(WaitStrategy wait) {
  switch (wait) {
    case WaitStrategy::kAdaptive:
      return "kAdaptive";
    case WaitStrategy::kSpin:
      return "kSpin";
    case WaitStrategy::kYield:
      return "kYield";
    case WaitStrategy::kPark:
      return "kPark";
  }
  return "?";
}

std::string sureness(const Comparison& comparison) {
  return "better in " + std::to_string(comparison.won) + " of " +
         std::to_string(comparison.rounds) +
         " rounds side by side; if neither were better, that would happen with a chance of " +
         (comparison.chance < 0.0001 ? "less than 0.01" : fixed_text(comparison.chance * 100, 2)) +
         " %";
}

// "Its score is 12.3 % above that of the defaults (95 % interval …)".
std::string amount(const Interval& ratio, const std::string& other) {
  std::string text = "Its score is ";
  if (ratio.median >= 2) {
    text += (ratio.median >= 1000 ? "more than 1000" : fixed_text(ratio.median, 1)) +
            std::string(" times that of ");
  } else {
    text += fixed_text(std::abs(ratio.median - 1) * 100, 1) +
            (ratio.median < 1 ? " % below that of " : " % above that of ");
  }
  return text + other +
         (ratio.is_range ? " (too few rounds for an interval; range " : " (95 % interval ") +
         gain_text(ratio.low) + " … " + gain_text(ratio.high) + ")";
}

}  // namespace

std::string cpp_text(const Options& base, const Candidate& candidate) {
  const Options usual;
  std::string text = "const databuffer::Options options{\n";
  const auto line = [&text](const char* field, const std::string& value) {
    text += std::string("    .") + field + " = " + value + ",\n";
  };
  // In the order of the fields: C++ demands it.
  line("name", quoted(base.name));
  line("partitions", std::to_string(candidate.partitions));
  line("max_size", std::to_string(candidate.max_size));
  if (base.max_size_jitter != usual.max_size_jitter) {
    line("max_size_jitter", std::to_string(base.max_size_jitter));
  }
  const auto time = [&](const char* field, Duration Options::*member) {
    if (base.*member != usual.*member) line(field, duration_cpp(base.*member));
  };
  time("flush_interval", &Options::flush_interval);
  time("flush_jitter", &Options::flush_jitter);
  time("flush_timeout", &Options::flush_timeout);
  line("capacity", std::to_string(candidate.capacity));
  if (base.overflow != usual.overflow) {
    line("overflow", "databuffer::Overflow::" + std::string(overflow_cpp(base.overflow)));
  }
  time("insert_timeout", &Options::insert_timeout);
  time("close_timeout", &Options::close_timeout);
  line("wait_strategy", "databuffer::WaitStrategy::" + std::string(wait_cpp(candidate.wait)));
  if (base.seed != usual.seed) line("seed", std::to_string(base.seed) + "U");
  return text + "};\n";
}

std::string flags_text(const Candidate& candidate) {
  return "--partitions " + std::to_string(candidate.partitions) + " --max-size " +
         std::to_string(candidate.max_size) + " --capacity " + std::to_string(candidate.capacity) +
         " --wait " + wait_text(candidate.wait);
}

std::string win_text(const SearchResult& result) {
  if (result.is_winner_default()) {
    return "The defaults are it: nothing that was tried is better by 1 % or more.";
  }
  const Comparison& over = result.over_default;
  if (over.rounds == 0) {
    return "It was not compared with the defaults at the end: there was no time left.";
  }
  if (over.is_clear()) {
    return amount(over.ratio, "the defaults") + ": " + sureness(over) + ".";
  }
  if (!over.ratio.is_range && over.ratio.high < 1) {
    return amount(over.ratio, "the defaults") + ", but they are over the limits asked for.";
  }
  return "No clear difference from the defaults. " + amount(over.ratio, "the defaults") + ": " +
         sureness(over) + ".";
}

std::string runner_up_text(const SearchResult& result) {
  const Comparison& over = result.over_runner_up;
  if (!result.runner_up.has_value() || over.rounds == 0) return {};
  const Entry& other = result.entries[*result.runner_up];
  const std::string against = "the runner-up, " + candidate_text(other.candidate) + ",";
  if (over.is_clear()) {
    return amount(over.ratio, against) + ": " + sureness(over) + ".";
  }
  return "No clear difference from the runner-up: take either. " + amount(over.ratio, against) +
         ".";
}

}  // namespace databuffer::tuning
