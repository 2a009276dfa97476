#include "tools/tuning/recommendation.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string_view>

#include "tools/tuning/text.hpp"
#include "tools/tuning/utf8.hpp"

namespace databuffer::tuning {

namespace {

// A byte in octal, in three digits, so that no digit behind it is taken for its own.
std::string octal(char character) {
  const auto byte = static_cast<unsigned char>(character);
  std::string text = "\\";
  for (const unsigned shift : {6U, 3U, 0U}) text += static_cast<char>('0' + (byte >> shift & 7U));
  return text;
}

std::string quoted_byte(char character) {
  const auto byte = static_cast<unsigned char>(character);
  if (character == '"' || character == '\\') return {'\\', character};
  const bool is_plain = byte >= 0x20 && byte != 0x7f && character != '?';  // ? may begin a trigraph
  return is_plain ? std::string(1, character) : octal(character);
}

// A string literal, in UTF-8: bytes that are neither printable nor plain are written in octal.
std::string quoted(std::string_view text) {
  std::string literal = "\"";
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    for (const char character : text.substr(0, step.size)) {
      literal += step.is_character ? quoted_byte(character) : octal(character);
    }
    text.remove_prefix(step.size);
  }
  return literal + '"';
}

struct Unit {
  Duration::rep nanoseconds;
  const char* type;  // in C++
  const char* flag;  // behind a number, in a flag
};

constexpr std::array kUnits{Unit{1'000'000'000, "seconds", "s"},
                            Unit{1'000'000, "milliseconds", "ms"},
                            Unit{1'000, "microseconds", "us"}, Unit{1, "nanoseconds", "ns"}};

// The largest that it is a whole number of.
const Unit& unit_of(Duration duration) {
  return *std::find_if(kUnits.begin(), kUnits.end(), [duration](const Unit& unit) {
    return duration.count() % unit.nanoseconds == 0;
  });
}

std::string duration_cpp(Duration duration) {
  if (duration == kForever) return "databuffer::kForever";
  const Unit& unit = unit_of(duration);
  return std::string("std::chrono::") + unit.type + "{" +
         std::to_string(duration.count() / unit.nanoseconds) + "}";
}

std::string duration_flag(Duration duration) {
  if (duration == kForever) return "forever";
  const Unit& unit = unit_of(duration);
  return std::to_string(duration.count() / unit.nanoseconds) + unit.flag;
}

// As one word for a shell.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/+@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char character : text) {
    word += character == '\'' ? "'\\''" : std::string(1, character);
  }
  return word + "'";
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

std::string_view overdue_cpp(OnOverdue action) {
  return action == OnOverdue::kReplace ? "kReplace" : "kReport";
}

// A field of an initialiser for each value that is not the usual one, in the order of the fields:
// C++ demands it.
class Fields {
 public:
  explicit Fields(std::string indent) : indent_(std::move(indent)) {}

  void add(const char* field, const std::string& value) {
    text_ += indent_ + "." + field + " = " + value + ",\n";
  }
  void add_count(const char* field, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) add(field, std::to_string(value));
  }
  void add_time(const char* field, Duration value, Duration usual) {
    if (value != usual) add(field, duration_cpp(value));
  }
  void add_flag(const char* field, bool value, bool usual) {
    if (value != usual) add(field, value ? "true" : "false");
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  const std::string indent_;
  std::string text_;
};

// The same as flags of the command.
class Flags {
 public:
  void add(const char* flag, const std::string& value) {
    text_ += (text_.empty() ? "" : " ") + std::string(flag) + " " + shell_word(value);
  }
  void add_count(const char* flag, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) add(flag, std::to_string(value));
  }
  void add_time(const char* flag, Duration value, Duration usual) {
    if (value != usual) add(flag, duration_flag(value));
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

std::string retry_cpp(const Retry& retry) {
  const Retry usual;
  Fields fields("        ");
  fields.add_count("attempts", retry.attempts, usual.attempts);
  fields.add_time("initial_backoff", retry.initial_backoff, usual.initial_backoff);
  fields.add_time("max_backoff", retry.max_backoff, usual.max_backoff);
  fields.add_time("total_time", retry.total_time, usual.total_time);
  fields.add_flag("on_exception", retry.on_exception, usual.on_exception);
  fields.add_flag("isolate", retry.isolate, usual.isolate);
  return fields.text().empty() ? std::string() : "{\n" + fields.text() + "    }";
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

bool has_flushed(const Entry& entry) { return entry.measured.flushed > 0; }

// Why the defaults win.
std::string default_text(const SearchResult& result) {
  const Entry& winner = result.winner();
  if (!has_flushed(winner)) return "The defaults are kept: nothing was flushed.";
  if (winner.excess > 1) return "The defaults are kept: nothing is clearly nearer to the limits.";
  const bool is_any_better =
      std::any_of(result.entries.begin() + 1, result.entries.end(), [](const Entry& entry) {
        return entry.excess > 1 && entry.score.median >= Comparison::kWorthwhile;
      });
  if (is_any_better) {
    return "The defaults are kept: what has a higher score is over the limits asked for.";
  }
  if (result.runner_up.has_value() && result.over_runner_up.rounds == 0) {
    return "The defaults are kept: there was no time to compare the best of the others with them, "
           "side by side.";
  }
  return "The defaults are kept: nothing that was tried is clearly better.";
}

}  // namespace

std::string cpp_text(const Options& base, const Candidate& candidate) {
  const Options usual;
  Fields fields("    ");
  fields.add("name", quoted(base.name));
  fields.add("partitions", std::to_string(candidate.partitions));
  fields.add("max_size", std::to_string(candidate.max_size));
  fields.add_count("max_size_jitter", base.max_size_jitter, usual.max_size_jitter);
  fields.add_time("flush_interval", base.flush_interval, usual.flush_interval);
  fields.add_time("flush_jitter", base.flush_jitter, usual.flush_jitter);
  fields.add_time("flush_timeout", base.flush_timeout, usual.flush_timeout);
  fields.add("capacity", std::to_string(candidate.capacity));
  fields.add_count("max_bytes", base.max_bytes, usual.max_bytes);
  fields.add_count("capacity_bytes", base.capacity_bytes, usual.capacity_bytes);
  if (const std::string retry = retry_cpp(base.retry); !retry.empty()) fields.add("retry", retry);
  if (base.on_overdue != usual.on_overdue) {
    fields.add("on_overdue", "databuffer::OnOverdue::" + std::string(overdue_cpp(base.on_overdue)));
  }
  fields.add_count("max_abandoned", base.max_abandoned, usual.max_abandoned);
  if (base.overflow != usual.overflow) {
    fields.add("overflow", "databuffer::Overflow::" + std::string(overflow_cpp(base.overflow)));
  }
  fields.add_time("insert_timeout", base.insert_timeout, usual.insert_timeout);
  fields.add_time("close_timeout", base.close_timeout, usual.close_timeout);
  fields.add("wait_strategy", "databuffer::WaitStrategy::" + std::string(wait_cpp(candidate.wait)));
  if (base.seed != usual.seed) fields.add("seed", std::to_string(base.seed) + "U");
  return "const databuffer::Options options{\n" + fields.text() + "};\n";
}

std::string title_text(const SearchResult& result) {
  return "Recommended: " + candidate_text(result.winner().candidate) +
         (result.is_winner_default() ? " (the defaults)" : "");
}

std::string flags_text(const Options& base, const Candidate& candidate) {
  const Options usual;
  Flags flags;
  if (base.name != kUsualName) flags.add("--name", base.name);
  flags.add("--partitions", std::to_string(candidate.partitions));
  flags.add("--max-size", std::to_string(candidate.max_size));
  flags.add_count("--max-size-jitter", base.max_size_jitter, usual.max_size_jitter);
  flags.add_time("--flush-interval", base.flush_interval, usual.flush_interval);
  flags.add_time("--flush-jitter", base.flush_jitter, usual.flush_jitter);
  flags.add_time("--flush-timeout", base.flush_timeout, usual.flush_timeout);
  flags.add("--capacity", std::to_string(candidate.capacity));
  flags.add_count("--retry-attempts", base.retry.attempts, usual.retry.attempts);
  flags.add_time("--retry-backoff", base.retry.initial_backoff, usual.retry.initial_backoff);
  if (base.overflow != usual.overflow) {
    flags.add("--overflow", std::string(to_string(base.overflow)));
  }
  flags.add_time("--insert-timeout", base.insert_timeout, usual.insert_timeout);
  flags.add_time("--close-timeout", base.close_timeout, usual.close_timeout);
  flags.add("--wait", std::string(to_string(candidate.wait)));
  flags.add_count("--seed", base.seed, usual.seed);
  return flags.text();
}

std::string win_text(const SearchResult& result) {
  if (result.is_winner_default()) return default_text(result);
  // The defaults win unless they are over the limits, or another is clearly better.
  const Comparison& over = result.over_default;
  const bool have_flushed = has_flushed(result.entries[result.default_entry]);
  if (over.rounds == 0) {
    return have_flushed ? "The defaults are over the limits asked for."
                        : "The defaults flushed nothing.";
  }
  const std::string how_much = amount(over.ratio, "the defaults");
  if (over.is_clear()) return how_much + ": " + sureness(over) + ".";
  if (result.winner().excess > 1) {
    return how_much + ", but it is clearly nearer to the limits asked for.";
  }
  return how_much + (have_flushed ? ", but they are over the limits asked for."
                                  : ", but they flushed nothing.");
}

std::string runner_up_text(const SearchResult& result) {
  const Comparison& over = result.over_runner_up;
  if (!result.runner_up.has_value() || over.rounds == 0) return {};
  const Entry& other = result.entries[*result.runner_up];
  const std::string how_much =
      amount(over.ratio, "the runner-up, " + candidate_text(other.candidate) + ",");
  if (over.is_clear()) return how_much + ": " + sureness(over) + ".";
  if (other.excess > 1 && !(result.winner().excess > 1)) {
    return how_much + (has_flushed(other) ? ", but that is over the limits asked for."
                                          : ", but that flushed nothing.");
  }
  return "No clear difference from the runner-up. " + how_much + ": " + sureness(over) + ".";
}

}  // namespace databuffer::tuning
