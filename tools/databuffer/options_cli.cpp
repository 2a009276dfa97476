#include "tools/databuffer/options_cli.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace databuffer::tools {

namespace {

constexpr const char* kGroup = "Buffer";

constexpr std::array kOverflows{Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest,
                                Overflow::kDropOldest};
constexpr std::array kWaitStrategies{WaitStrategy::kAdaptive, WaitStrategy::kSpin,
                                     WaitStrategy::kYield, WaitStrategy::kPark};

// By the names that the library gives them.
template <class Enum, std::size_t kCount>
Enum parse_choice(std::string_view text, const std::array<Enum, kCount>& choices) {
  std::string names;
  for (const Enum choice : choices) {
    if (to_string(choice) == text) return choice;
    if (!names.empty()) names += choice == choices.back() ? " or " : ", ";
    names += to_string(choice);
  }
  throw BadQuantity("expected " + names);
}

// Whether the value makes sense is for Options::validate() to say.
std::size_t parse_size(const std::string& text) {
  return static_cast<std::size_t>(parse_count(text));
}

}  // namespace

std::size_t parse_count_within(const std::string& text, std::size_t min, std::size_t max) {
  const std::uint64_t count = parse_count(text);
  if (count < min || count > max) {
    throw BadQuantity("expected " + std::to_string(min) + " to " + std::to_string(max));
  }
  return static_cast<std::size_t>(count);
}

Duration parse_duration_within(const std::string& text, Duration min, Duration max) {
  const Duration duration = parse_duration(text);
  if (duration < min || duration > max) {
    throw BadQuantity("expected " + format_duration(min) + " to " + format_duration(max));
  }
  return duration;
}

WaitStrategy parse_wait(const std::string& text) { return parse_choice(text, kWaitStrategies); }

std::string flag_of(const std::string& field) {
  if (field == "wait_strategy") return "--wait";
  std::string flag = "--" + field;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void BufferFlags::add_to(CLI::App& app) {
  app_ = &app;
  app.add_option("--name", options_.name, "Names the buffer and its threads; 1 to 256 bytes")
      ->capture_default_str()
      ->group(kGroup);
  add_sizes(app);
  add_times(app);
  add_policies(app);
}

void BufferFlags::add_sizes(CLI::App& app) {
  add_parsed(app, "--partitions", options_.partitions, parse_size,
             "Queues, each with one consumer thread; 1 to 1024")
      ->default_str(std::to_string(options_.partitions))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(app, "--max-size", options_.max_size, parse_size,
             "Items that trip a flush, and the largest batch; 1 to 2^31")
      ->default_str(std::to_string(options_.max_size))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(app, "--max-size-jitter", options_.max_size_jitter, parse_size,
             "Random 0 to COUNT added to it, for each batch")
      ->default_str(std::to_string(options_.max_size_jitter))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(app, "--capacity", options_.capacity, parse_size,
             "Items that may wait in a partition; at least the largest batch")
      ->default_str("4 x the largest batch")
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(app, "--seed", options_.seed, parse_count,
             "Seeds the jitter, for reproducible runs; 0: differs each time")
      ->default_str(std::to_string(options_.seed))
      ->type_name("NUMBER")
      ->group(kGroup);
}

void BufferFlags::add_times(CLI::App& app) {
  const auto add = [&app](const char* flag, Duration& target, const char* description) {
    add_parsed(app, flag, target, parse_duration, description)
        ->default_str(format_duration(target))
        ->type_name("TIME")
        ->group(kGroup);
  };
  add("--flush-interval", options_.flush_interval, "How long an item waits for its batch to fill");
  add("--flush-jitter", options_.flush_jitter, "Random 0 to TIME added to it, for each batch");
  add("--flush-timeout", options_.flush_timeout, "After this a running flush counts as overdue");
  add("--insert-timeout", options_.insert_timeout, "How long an insert waits for room");
  add("--close-timeout", options_.close_timeout, "How long the end waits for pending items");
}

void BufferFlags::add_policies(CLI::App& app) {
  add_parsed(
      app, "--overflow", options_.overflow,
      [](const std::string& text) { return parse_choice(text, kOverflows); },
      "When full: block, reject, drop-newest or drop-oldest")
      ->default_str(std::string(to_string(options_.overflow)))
      ->type_name("POLICY")
      ->group(kGroup);
  add_parsed(app, "--wait", options_.wait_strategy, parse_wait,
             "How consumers wait: adaptive, spin, yield or park")
      ->default_str(std::string(to_string(options_.wait_strategy)))
      ->type_name("STRATEGY")
      ->group(kGroup);
}

void BufferFlags::add_retry_to(CLI::App& app) {
  constexpr std::size_t kMaxAttempts = 1'000'000;  // as in Options
  Retry& retry = options_.retry;
  add_parsed(
      app, "--retry-attempts", retry.attempts,
      [](const std::string& text) {
        return static_cast<std::uint32_t>(parse_count_within(text, 1, kMaxAttempts));
      },
      "Calls with one batch, the first included, when the handler asks for a retry; 1 to 1000000")
      ->default_str(std::to_string(retry.attempts))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(
      app, "--retry-backoff", retry.initial_backoff,
      [most = retry.max_backoff](const std::string& text) {
        return parse_duration_within(text, Duration::zero(), most);
      },
      "The longest pause before the second of them; it doubles each time, up to " +
          format_duration(retry.max_backoff))
      ->default_str(format_duration(retry.initial_backoff))
      ->type_name("TIME")
      ->group(kGroup);
}

const Options& BufferFlags::checked() const {
  try {
    options_.validate();
  } catch (const OptionsError& error) {
    const std::string flag = flag_of(error.field());
    const CLI::Option* const option = app_->get_option_no_throw(flag);
    const bool is_typed = option != nullptr && option->count() > 0;
    const std::string typed = is_typed ? "'" + option->results().back() + "': " : std::string();
    throw CLI::ValidationError(flag, typed + error.what());
  }
  return options_;
}

}  // namespace databuffer::tools
