#include "tools/databuffer/workload_cli.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tools/databuffer/options_cli.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/tuning/measurement.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

constexpr const char* kGroup = "Workload";
constexpr const char* kHandlerGroup = "Handler";
constexpr std::size_t kMaxProducers = 1024;
constexpr std::size_t kMaxBatch = 1'000'000;
constexpr std::size_t kMaxRate = 1'000'000'000;
constexpr Duration kMaxFixed = 1h;
constexpr Duration kMaxPerItem = 1s;
constexpr std::string_view kString = "string:";

// What a sink has no use for, because it takes the simulated one's place.
constexpr const char* kHandlerFlags[] = {"--handler-fixed",  "--handler-per-item",
                                         "--handler-jitter", "--handler-burn",
                                         "--handler-fail",   "--handler-retry"};

tuning::Payload parse_payload(const std::string& text) {
  using Kind = tuning::Payload::Kind;
  tuning::Payload payload;
  const std::string forms = "expected " + tuning::plain_sizes() + " bytes, or string:BYTES with " +
                            std::to_string(tuning::kMinStringBytes) + " to " +
                            std::to_string(tuning::kMaxStringBytes) + " bytes";
  const bool is_string = text.starts_with(kString);
  payload.kind = is_string ? Kind::kString : Kind::kPlain;
  try {
    payload.bytes =
        static_cast<std::size_t>(parse_bytes(is_string ? text.substr(kString.size()) : text));
    payload.validate();
  } catch (const BadQuantity&) {
    throw BadQuantity(forms);
  } catch (const OptionsError&) {
    throw BadQuantity(forms);
  }
  return payload;
}

}  // namespace

void check_rate(const tuning::Workload& workload, const std::string& flag, Duration length) {
  const double seconds = tuning::seconds_of(length);
  const auto batch = static_cast<double>(workload.batch);
  if (workload.rate <= 0 || workload.rate * seconds >= batch) return;
  const auto least_rate = static_cast<std::uint64_t>(std::ceil(batch / seconds));
  const auto least_length = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(batch / workload.rate));
  throw CLI::ValidationError(
      "--rate", "at this rate not one call of --batch " + std::to_string(workload.batch) +
                    " is due within " + flag + " " + format_duration(length) +
                    "; expected at least " + std::to_string(least_rate) + ", or " + flag + " " +
                    format_duration(least_length) + " or more");
}

double parse_percent(const std::string& text) {
  constexpr const char* kForm = "expected a percentage from 0% to 100%, such as 10% or 0.5%";
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  // Not left to strtod, which also knows "inf", "0x" and signs.
  const bool is_plain = std::all_of(number.begin(), number.end(), [](char character) {
    return (character >= '0' && character <= '9') || character == '.';
  });
  const std::string digits(number);
  char* end = nullptr;
  const double percent = std::strtod(digits.c_str(), &end);
  const bool is_number = is_plain && !digits.empty() && *end == '\0';
  constexpr double kWhole = 100;
  if (!is_number || percent > kWhole) throw BadQuantity(kForm);
  return percent / kWhole;
}

Duration parse_seconds_within(const std::string& text, Duration min, Duration max) {
  const std::string range = "expected " + format_duration(min) + " to " + format_duration(max) +
                            ", as in 5, 2.5s or 500ms";
  const bool is_number =
      !text.empty() &&
      (text.back() == '.' || std::isdigit(static_cast<unsigned char>(text.back())) != 0);
  try {
    return parse_duration_within(is_number ? text + "s" : text, min, max);
  } catch (const BadQuantity&) {
    throw BadQuantity(range);
  }
}

void WorkloadFlags::add_to(CLI::App& app) {
  app_ = &app;
  add_producers(app);
  add_handler(app);
  add_sink(app);
}

void WorkloadFlags::add_producers(CLI::App& app) {
  const tuning::Workload& workload = settings_.workload;
  add_parsed(
      app, "--producers", settings_.workload.producers,
      [](const std::string& text) { return parse_count_within(text, 1, kMaxProducers); },
      "Threads that insert; 1 to 1024")
      ->default_str(std::to_string(workload.producers))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(app, "--payload", settings_.payload, parse_payload,
             "The items: " + tuning::plain_sizes() +
                 " bytes, trivially copyable; or string:BYTES, a std::string of 8 to 1048576")
      ->default_str(std::to_string(settings_.payload.bytes))
      ->type_name("BYTES")
      ->group(kGroup);
  add_parsed(
      app, "--batch", settings_.workload.batch,
      [](const std::string& text) { return parse_count_within(text, 1, kMaxBatch); },
      "Items in one call; 1: insert, more: insert_batch; up to 1000000")
      ->default_str(std::to_string(workload.batch))
      ->type_name("COUNT")
      ->group(kGroup);
  add_parsed(
      app, "--rate", settings_.workload.rate,
      [](const std::string& text) {
        return static_cast<double>(parse_count_within(text, 1, kMaxRate));
      },
      "Items per second of all producers together, evenly: an open loop; 1 to 1G")
      ->default_str("as fast as possible")
      ->type_name("COUNT")
      ->group(kGroup);
}

void WorkloadFlags::add_handler(CLI::App& app) {
  tuning::SimulatedSinkSettings& handler = settings_.handler;
  add_parsed(
      app, "--handler-fixed", handler.fixed,
      [](const std::string& text) { return parse_duration_within(text, 0s, kMaxFixed); },
      "What the simulated handler takes for a batch; 0s to 1h")
      ->default_str(format_duration(handler.fixed))
      ->type_name("TIME")
      ->group(kHandlerGroup);
  add_parsed(
      app, "--handler-per-item", handler.per_item,
      [](const std::string& text) { return parse_duration_within(text, 0s, kMaxPerItem); },
      "... and for each item in it; 0s to 1s")
      ->default_str(format_duration(handler.per_item))
      ->type_name("TIME")
      ->group(kHandlerGroup);
  add_parsed(app, "--handler-jitter", handler.jitter, parse_percent,
             "... more or less, at random; 0% to 100%")
      ->default_str("0%")
      ->type_name("PERCENT")
      ->group(kHandlerGroup);
  app.add_flag("--handler-burn,--handler-cpu", handler.burns_cpu,
               "It computes for that long, instead of waiting")
      ->group(kHandlerGroup);
  add_parsed(app, "--handler-fail", handler.failing_share, parse_percent,
             "Calls that fail for good, at random; 0% to 100%")
      ->default_str("0%")
      ->type_name("PERCENT")
      ->group(kHandlerGroup);
  add_parsed(app, "--handler-retry", handler.retrying_share, parse_percent,
             "Calls that ask for a retry, at random; see --retry-attempts; 0% to 100%")
      ->default_str("0%")
      ->type_name("PERCENT")
      ->group(kHandlerGroup);
}

void WorkloadFlags::add_sink(CLI::App& app) {
  add_parsed(
      app, "--sink", settings_.sink,
      [](const std::string& text) {
        constexpr const char* kForms = "expected sqlite:PATH, file:PATH or null";
        if (text == "stdout") throw BadQuantity(kForms);  // that is for the results
        try {
          return parse_sink(text);
        } catch (const BadQuantity&) {
          throw BadQuantity(kForms);
        }
      },
      "A real handler in its place: sqlite:PATH, file:PATH or null")
      ->type_name("SINK")
      ->group(kHandlerGroup);
  add_parsed(app, "--busy-timeout", settings_.sink_settings.busy_timeout, parse_duration,
             "How long to wait for another process that writes to the database")
      ->default_str(format_duration(settings_.sink_settings.busy_timeout))
      ->type_name("TIME")
      ->group(kHandlerGroup);
}

WorkloadSettings WorkloadFlags::checked(std::uint64_t seed) const {
  const auto is_given = [this](const char* flag) { return app_->count(flag) > 0; };
  for (const char* const flag : kHandlerFlags) {
    if (settings_.sink.has_value() && is_given(flag)) {
      throw CLI::ValidationError(flag, "it is for the simulated handler, and --sink " +
                                           app_->get_option("--sink")->results().back() +
                                           " takes its place: expected only one of the two");
    }
  }
  if (is_given("--busy-timeout") &&
      (!settings_.sink.has_value() || settings_.sink->kind != SinkSpec::Kind::kSqlite)) {
    throw CLI::ValidationError("--busy-timeout",
                               "it is for --sink sqlite:PATH, which is not given");
  }
  if (settings_.handler.failing_share + settings_.handler.retrying_share > 1) {
    throw CLI::ValidationError("--handler-retry",
                               "with --handler-fail it is more than all calls: expected 100% of "
                               "both together, at most");
  }
  WorkloadSettings settings = settings_;
  if (seed != 0) settings.handler.seed = seed;
  return settings;
}

}  // namespace databuffer::tools
