#include "tools/databuffer/tune_cli.hpp"

#include <chrono>

#include "tools/databuffer/outputs_cli.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/space_cli.hpp"
#include "tools/databuffer/used_files.hpp"
#include "tools/tuning/diagnosis.hpp"
#include "tools/tuning/measure.hpp"
#include "tools/tuning/recommendation.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

constexpr const char* kDescription =
    "Search for the configuration of a buffer that suits a workload and a sink best.";

constexpr const char* kFooter = R"(
Every combination of --partitions, --max-size, --capacity and --wait is a candidate; so are the
defaults of the library. LIST is values with commas between them; A..B is A, B, and every 1, 2 and
5 x 10^n between them; a capacity such as 4x is four times the largest batch: the max-size and its
jitter. Combinations whose capacity is below their largest batch are left out.

The machine is taken to be noisy. Candidates run in rounds, all once in each, in shuffled order, and
are compared within rounds only; who is clearly behind is dropped, who is left runs again. That takes
70 % of --budget. In the rest the best two and the defaults run side by side, and these rounds alone
say who wins: the defaults, unless another is clearly better than they are, which means by 1 % or more
and in so many rounds that chance does that once in 1,000 times (10 of 10, or 24 of 30).

Runs follow --rate, --batch, --max-size and --flush-interval, so that each partition flushes three
times in one. A candidate for which --budget has no room to do so is not measurable, and never wins.

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
does nothing. --sink sqlite:PATH and file:PATH store each item as a line of as many bytes, in a scratch
file of their own next to PATH, PATH.tune-XXXXXX, of 256 MiB and a batch at most. Each run begins with
an empty one, and it is removed at the end. PATH itself is not touched, unless it is a FIFO or a device.

Units: TIME is a number with ns, us, ms, s, m or h; COUNT may end in k, M or G; SIZE also in Ki, Mi
or Gi.

Ctrl-C (SIGINT), Ctrl-\ (SIGQUIT), SIGTERM and SIGHUP end the search, with what it has found so far: the
defaults, unless another has already shown to be better side by side. A second one ends it at once, with
nothing. Other signals that end a process, such as SIGUSR1 or SIGKILL, also leave the scratch file.

Exit codes: 0 found, 1 something failed, 2 wrong arguments, 128 + signal ended by a signal.)";

constexpr const char* kSpaceGroup = "Candidates";
constexpr std::size_t kMaxPartitions = 1024;                // as in Options
constexpr std::size_t kMaxMaxSize = std::size_t{1} << 31U;  // likewise
constexpr Duration kMinRun = 10ms;
constexpr Duration kMaxRun = 1h;
constexpr Duration kMaxBudget = 24h;

Options tune_defaults() {
  Options options;
  options.name = tuning::kUsualName;
  options.close_timeout = 10s;  // for a handler that does not come back
  return options;
}

// As --max-p99: seconds.
double parse_age(const std::string& text) {
  return tuning::seconds_of(parse_duration_within(text, 1ns, kForever));
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

// The least budget if no batch waited for its interval: the most that a shorter one can help.
Duration budget_without_interval(const TuneSettings& settings) {
  Options at_once = settings.base;
  at_once.flush_interval = at_once.flush_jitter = Duration::zero();
  tuning::SearchSettings search = settings.search;
  search.least_run_of = tuning::run_of_several_flushes(settings.workload.workload, at_once);
  return tuning::least_budget(settings.candidates, search).budget;
}

// Blames what the user can change: --budget while there is one that is large enough.
[[noreturn]] void refuse_budget(const TuneSettings& settings, const tuning::LeastBudget& least) {
  const bool is_of_rate = least.run > settings.search.least_run;
  const Duration without_interval = budget_without_interval(settings);
  const bool is_of_interval = is_of_rate && without_interval < least.budget / 4 * 3;
  const std::string runs = std::string(is_of_rate ? "a run" : "a --run") + " of " +
                           format_duration(least.run) + " for each of " +
                           std::to_string(least.candidates) + " candidates, and 30 more at the end";
  const std::string why = ". The defaults need that long to flush several times at this --rate: ";
  if (least.budget <= kMaxBudget) {
    const char* const less = is_of_interval
                                 ? "a shorter --flush-interval (and --flush-jitter) needs less"
                                 : "a higher --rate or a smaller --batch needs less";
    throw CLI::ValidationError("--budget", "'" + format_duration(settings.search.budget) +
                                               "': expected " + format_duration(least.budget) +
                                               " to " + format_duration(kMaxBudget) + ": " + runs +
                                               (is_of_rate ? why + less : std::string()));
  }
  const std::string too_long = "': " + runs + " are " + format_duration(least.budget) +
                               ", and --budget is at most " + format_duration(kMaxBudget);
  if (!is_of_rate) {
    throw CLI::ValidationError("--run", "'" + format_duration(settings.search.least_run) +
                                            too_long +
                                            "; expected a shorter --run, or fewer candidates");
  }
  if (without_interval <= kMaxBudget) {
    throw CLI::ValidationError(
        "--flush-interval", "'" + format_duration(settings.base.flush_interval) + too_long + why +
                                "expected a shorter --flush-interval (and --flush-jitter)");
  }
  const tuning::Workload& workload = settings.workload.workload;
  throw CLI::ValidationError(
      "--rate",
      "'" + std::to_string(static_cast<std::uint64_t>(workload.rate)) + too_long + why +
          "expected a higher --rate" +
          (workload.batch > 1 ? ", or a --batch smaller than " + std::to_string(workload.batch)
                              : ""));
}

}  // namespace

TuneCli::TuneCli()
    : space_(tuning::default_space(tuning::core_count())), buffer_(tune_defaults()) {}

CLI::App* TuneCli::add_to(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("tune", kDescription);
  command->footer(kFooter);
  add_search(*command);
  add_outputs(*command);
  workload_.add_to(*command);
  buffer_.add_to(*command);
  buffer_.add_retry_to(*command);
  close_timeout_ = command->get_option("--close-timeout");
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
             "Items that may wait in a partition; 4x: four times the largest batch")
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
  add_parsed(command, "--objective", settings_.search.objective.goal, parse_goal,
             "What is to be good: throughput, latency, memory or balanced")
      ->default_str("throughput")
      ->type_name("GOAL");
  add_parsed(command, "--max-p99", settings_.search.objective.max_p99, parse_age,
             "The p99 of items' ages at the handler may not be above this")
      ->type_name("TIME");
  add_parsed(command, "--max-memory", settings_.search.objective.max_memory, parse_memory,
             "Resident memory, beyond what the process had before, may not be above this")
      ->type_name("SIZE");
  add_parsed(
      command, "--budget", settings_.search.budget,
      [](const std::string& text) { return parse_duration_within(text, kMinRun, kMaxBudget); },
      "How long the search may take; at least a --run for each candidate, and 30; at most 24h")
      ->default_str(format_duration(settings_.search.budget))
      ->type_name("TIME");
  add_parsed(
      command, "--run", settings_.search.least_run,
      [](const std::string& text) { return parse_duration_within(text, kMinRun, kMaxRun); },
      "The shortest run that says something of this sink; 10ms to 1h. Runs are longer where "
      "--budget allows it")
      ->default_str(format_duration(settings_.search.least_run))
      ->type_name("TIME");
}

void TuneCli::add_outputs(CLI::App& command) {
  add_output(command, "--json", settings_.json_path, "Write everything as one JSON object");
  add_output(command, "--csv", settings_.csv_path, "Write the candidates as CSV, with a header,");
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
  settings.base = settings.recommended = buffer_.checked();
  if (close_timeout_->count() == 0) settings.recommended.close_timeout = Options{}.close_timeout;
  settings.workload = workload_.checked(settings.base.seed);
  settings.workload.has_scratch = true;
  if (settings.base.seed != 0) settings.search.seed = settings.base.seed;
  settings.search.least_run_of =
      tuning::run_of_several_flushes(settings.workload.workload, settings.base);
  check_candidates(settings);
  UsedFiles used(settings.prints_text() ? "the results go" : nullptr);
  if (settings.workload.sink.has_value()) used.add_sink(*settings.workload.sink);
  used.add_output("--json", settings.json_path);
  used.add_output("--csv", settings.csv_path);
  used.add_output("--plot", settings.plot_path);
  used.add_output("--report", settings.report_path);
  if (settings.plot_path.has_value() && settings.plot_path->ends_with(".png")) {
    settings.plot_format = tuning::PlotFormat::kPng;
  }
  return settings;
}

void TuneCli::check_candidates(TuneSettings& settings) const {
  tuning::Space space = space_;
  space.max_size_jitter = settings.base.max_size_jitter;
  const tuning::Candidate by_default = tuning::default_candidate(settings.base);
  settings.search.by_default = by_default;
  try {
    settings.candidates = tuning::candidates_of(space, &settings.left_out);
    for (const tuning::Candidate& candidate : settings.candidates) {
      tuning::with_candidate(settings.base, candidate).validate();
    }
  } catch (const tuning::SpaceError& error) {
    throw CLI::ValidationError(flag_of(error.field()), error.what());
  } catch (const OptionsError& error) {
    throw CLI::ValidationError(flag_of(error.field()), error.what());
  }
  const tuning::LeastBudget least = tuning::least_budget(settings.candidates, settings.search);
  if (settings.search.budget < least.budget) refuse_budget(settings, least);
}

}  // namespace databuffer::tools
