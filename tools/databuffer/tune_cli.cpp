#include "tools/databuffer/tune_cli.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "tools/databuffer/output_file.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/space_cli.hpp"
#include "tools/tuning/measure.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

constexpr const char* kDescription =
    "Search for the configuration of a buffer that suits a workload and a sink best.";

constexpr const char* kFooter = R"(
Every combination of --partitions, --max-size, --capacity and --wait is a candidate; so are the
defaults of the library. LIST is values with commas between them; A..B is A, B, and every 1, 2 and
5 x 10^n between them; a capacity such as 4x is four times the max-size. Combinations whose capacity
is below their max-size are left out.

The machine is taken to be noisy. Candidates run in rounds, all once in each, in shuffled order, and
are compared within rounds only; who is clearly behind is dropped, who is left runs again. That takes
70 % of --budget. In the rest the best, the runner-up and the defaults run side by side: how much
the winner wins is what these runs say.

Objectives, of which a higher score is better:
  throughput   items/s that the handler takes
  latency      (items/s)^(1/4) / (age p99)^(3/4)
  memory       (items/s)^(1/4) / memory^(3/4)
  balanced     (items/s)^(1/2) / (age p99 x memory)^(1/4)
The age of an item is the time from when it was due to when the handler gets it, the wait for room
included. A candidate whose median age p99 is above --max-p99, or whose memory is above --max-memory,
does not win unless all are.

Without --rate producers insert as fast as they can, so ages are those of a full buffer. Give --rate to
tune for the ages of a buffer that keeps up.

A simulated handler takes --handler-fixed and --handler-per-item for a batch; with none of them it
does nothing. --sink sqlite:PATH and file:PATH store each item as a line of as many bytes, appended to
what is there: name a file that may be thrown away.

Units: TIME is a number with ns, us, ms, s, m or h; COUNT may end in k, M or G; SIZE also in Ki, Mi
or Gi.

Ctrl-C (SIGINT), SIGTERM and SIGHUP end the search, with the best so far. A second signal ends it at
once, with nothing.

Exit codes: 0 found, 1 something failed, 2 wrong arguments, 128 + signal ended by a signal.)";

constexpr const char* kSpaceGroup = "Candidates";
constexpr std::size_t kMaxPartitions = 1024;                // as in Options
constexpr std::size_t kMaxMaxSize = std::size_t{1} << 31U;  // likewise
constexpr Duration kMinRun = 10ms;
constexpr Duration kMaxRun = 1h;
constexpr Duration kMaxBudget = 24h;

Options tune_defaults() {
  Options options;
  options.name = "tuned";
  return options;
}

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Duration parse_duration_within(const std::string& text, Duration min, Duration max) {
  const Duration duration = parse_duration(text);
  if (duration < min || duration > max) {
    throw BadQuantity("expected " + format_duration(min) + " to " + format_duration(max));
  }
  return duration;
}

// As --max-p99: seconds.
double parse_age(const std::string& text) {
  return seconds_of(parse_duration_within(text, 1ns, kForever));
}

double parse_memory(const std::string& text) {
  const std::uint64_t bytes = parse_bytes(text);
  if (bytes == 0) throw BadQuantity("expected 1 byte or more");
  return static_cast<double>(bytes);
}

std::string parse_plot_path(const std::string& text) {
  if (text.ends_with(".svg") || text.ends_with(".png")) return text;
  throw BadQuantity("expected a path that ends in .svg or .png");
}

std::string parse_file_path(const std::string& text) {
  if (text.empty() || text == "-") throw BadQuantity("expected the path of a file");
  return text;
}

}  // namespace

TuneCli::TuneCli(std::size_t cores)
    : space_(tuning::default_space(cores)), buffer_(tune_defaults()) {
  settings_.cores = cores;
}

CLI::App* TuneCli::add_to(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("tune", kDescription);
  command->footer(kFooter);
  add_search(*command);
  add_outputs(*command);
  workload_.add_to(*command);
  buffer_.add_to(*command);
  // These four are what is searched: lists take their places.
  for (const char* const flag : {"--partitions", "--max-size", "--capacity", "--wait"}) {
    command->remove_option(command->get_option(flag));
  }
  add_space(*command);
  return command;
}

void TuneCli::add_space(CLI::App& command) {
  add_parsed(
      command, "--partitions", space_.partitions,
      [](const std::string& text) { return parse_counts(text, 1, kMaxPartitions); },
      "Queues, each with one consumer thread; 1 to 1024")
      ->default_str(counts_text(space_.partitions))
      ->type_name("LIST")
      ->group(kSpaceGroup);
  add_parsed(
      command, "--max-size", space_.max_sizes,
      [](const std::string& text) { return parse_counts(text, 1, kMaxMaxSize); },
      "Items that trip a flush, and the largest batch; 1 to 2^31")
      ->default_str("100..20k")
      ->type_name("LIST")
      ->group(kSpaceGroup);
  add_parsed(command, "--capacity", space_.capacities, parse_capacities,
             "Items that may wait in a partition; 4x: four times the max-size")
      ->default_str("4x")
      ->type_name("LIST")
      ->group(kSpaceGroup);
  add_parsed(command, "--wait", space_.waits, parse_waits,
             "How consumers wait: adaptive, spin, yield or park")
      ->default_str("adaptive")
      ->type_name("LIST")
      ->group(kSpaceGroup);
}

void TuneCli::add_search(CLI::App& command) {
  add_parsed(command, "--objective", settings_.objective.goal, parse_goal,
             "What is to be good: throughput, latency, memory or balanced")
      ->default_str("throughput")
      ->type_name("GOAL");
  add_parsed(command, "--max-p99", settings_.objective.max_p99, parse_age,
             "The p99 of items' ages at the handler may not be above this")
      ->type_name("TIME");
  add_parsed(command, "--max-memory", settings_.objective.max_memory, parse_memory,
             "Resident memory, beyond what the process had before, may not be above this")
      ->type_name("SIZE");
  add_parsed(
      command, "--budget", settings_.budget,
      [](const std::string& text) { return parse_duration_within(text, kMinRun, kMaxBudget); },
      "How long the search may take; at least a --run for each candidate, and three; at most 24h")
      ->default_str(format_duration(settings_.budget))
      ->type_name("TIME");
  add_parsed(
      command, "--run", settings_.least_run,
      [](const std::string& text) { return parse_duration_within(text, kMinRun, kMaxRun); },
      "The shortest run that says something of this sink; 10ms to 1h. Runs are longer where "
      "--budget allows it")
      ->default_str(format_duration(settings_.least_run))
      ->type_name("TIME");
}

void TuneCli::add_outputs(CLI::App& command) {
  add_parsed(command, "--json", settings_.json_path, parse_output_path,
             "Write everything as one JSON object to FILE; - is standard output")
      ->type_name("FILE");
  add_parsed(command, "--csv", settings_.csv_path, parse_output_path,
             "Write the candidates as CSV, with a header, to FILE; - is standard output")
      ->type_name("FILE");
  add_parsed(command, "--plot", settings_.plot_path, parse_plot_path,
             "Draw throughput and ages with gnuplot, to FILE.svg or FILE.png")
      ->type_name("FILE");
  add_parsed(command, "--report", settings_.report_path, parse_file_path,
             "Write everything as one HTML page to FILE")
      ->type_name("FILE");
  command.add_flag("--quiet", settings_.is_quiet, "No progress, and no results but in files");
}

TuneSettings TuneCli::settings() const {
  TuneSettings settings = settings_;
  settings.workload = workload_.checked();
  settings.base = buffer_.checked();
  if (settings.base.seed != 0) {
    settings.seed = settings.base.seed;
    settings.workload.handler.seed = settings.base.seed;
  }
  check_candidates(settings);
  check_outputs(settings);
  if (settings.plot_path.has_value() && settings.plot_path->ends_with(".png")) {
    settings.plot_format = tuning::PlotFormat::kPng;
  }
  return settings;
}

void TuneCli::check_candidates(TuneSettings& settings) const {
  try {
    settings.candidates = tuning::candidates_of(space_, &settings.left_out);
    std::vector<tuning::Candidate> all = settings.candidates;
    all.push_back(tuning::default_candidate());
    for (const tuning::Candidate& candidate : all) {
      tuning::with_candidate(settings.base, candidate).validate();
    }
  } catch (const tuning::SpaceError& error) {
    throw CLI::ValidationError(flag_of(error.field()), error.what());
  } catch (const OptionsError& error) {
    throw CLI::ValidationError(flag_of(error.field()), error.what());
  }
  const bool has_default = std::find(settings.candidates.begin(), settings.candidates.end(),
                                     tuning::default_candidate()) != settings.candidates.end();
  const std::size_t count = settings.candidates.size() + (has_default ? 0 : 1);
  const Duration least = tuning::least_budget(count, settings.least_run);
  if (settings.budget < least) {
    throw CLI::ValidationError(
        "--budget", "'" + format_duration(settings.budget) + "': expected " +
                        format_duration(least) + " to " + format_duration(kMaxBudget) +
                        ": a --run of " + format_duration(settings.least_run) + " for each of " +
                        std::to_string(count) + " candidates, and three more at the end");
  }
  const tuning::Workload& workload = settings.workload.workload;
  const double seconds = seconds_of(settings.least_run);
  if (workload.rate > 0 && workload.rate * seconds < static_cast<double>(workload.batch)) {
    throw CLI::ValidationError(
        "--run", "'" + format_duration(settings.least_run) + "': not one call of --batch " +
                     std::to_string(workload.batch) +
                     " is due within that at this --rate; expected at least " +
                     format_duration(
                         std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(
                             static_cast<double>(workload.batch) / workload.rate))));
  }
}

void TuneCli::check_outputs(const TuneSettings& settings) const {
  std::map<std::string, std::string> flags;  // by path
  const auto check = [&flags](const char* flag, const std::optional<std::string>& path) {
    if (!path.has_value()) return;
    const auto [earlier, is_new] = flags.emplace(*path, flag);
    if (is_new) return;
    throw CLI::ValidationError(
        flag, "'" + *path + "': that is where " + earlier->second + " writes to; expected another");
  };
  check("--json", settings.json_path);
  check("--csv", settings.csv_path);
  check("--plot", settings.plot_path);
  check("--report", settings.report_path);
}

}  // namespace databuffer::tools
