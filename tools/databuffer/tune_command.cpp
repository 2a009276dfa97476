#include "tools/databuffer/tune_command.hpp"

#include <cstdlib>
#include <exception>
#include <optional>

#include "tools/databuffer/console.hpp"
#include "tools/databuffer/output_file.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/signals.hpp"
#include "tools/databuffer/tune_progress.hpp"
#include "tools/databuffer/workload_runner.hpp"
#include "tools/tuning/export.hpp"
#include "tools/tuning/findings.hpp"
#include "tools/tuning/report.hpp"
#include "tools/tuning/run.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tools {

namespace {

constexpr int kFailed = 1;
constexpr int kExitOfSignal = 128;  // the shell's convention

void react(int signal, RunControl& control, Console& console) {
  if (control.stop_for_signal(signal) == 1) {
    console.say(signal_name(signal) + ": ends, with the best so far; a second signal ends at once");
    return;
  }
  console.say(signal_name(signal) + ": ends at once");
  std::_Exit(kExitOfSignal + signal);
}

struct Outputs {
  std::optional<OutputFile> json;
  std::optional<OutputFile> csv;
  std::optional<OutputFile> plot;
  std::optional<OutputFile> report;
};

void open(Outputs& outputs, const TuneSettings& settings) {
  if (settings.plot_path.has_value()) tuning::check_gnuplot();
  if (settings.json_path.has_value()) outputs.json.emplace("--json", *settings.json_path);
  if (settings.csv_path.has_value()) outputs.csv.emplace("--csv", *settings.csv_path);
  if (settings.plot_path.has_value()) outputs.plot.emplace("--plot", *settings.plot_path);
  if (settings.report_path.has_value()) outputs.report.emplace("--report", *settings.report_path);
}

// What people read comes first: if one of the files fails, the search was not in vain.
void write(Outputs& outputs, const tuning::Findings& findings, const TuneSettings& settings) {
  const bool is_output_taken = settings.json_path == "-" || settings.csv_path == "-";
  if (!settings.is_quiet && !is_output_taken) {
    OutputFile("standard output", "-").write(tuning::findings_text(findings));
  }
  if (outputs.json.has_value()) outputs.json->write(tuning::to_json(findings));
  if (outputs.csv.has_value()) outputs.csv->write(tuning::to_csv(findings.result));
  if (outputs.report.has_value()) outputs.report->write(tuning::report_html(findings));
  if (outputs.plot.has_value()) {
    outputs.plot->write(tuning::draw_plot(findings, settings.plot_format));
  }
}

tuning::SearchResult search(const TuneSettings& settings, RunControl& control, Console& console) {
  WorkloadRunner runner(settings.workload, control);
  tuning::SearchSettings how;
  how.objective = settings.objective;
  how.budget = settings.budget;
  how.least_run = settings.least_run;
  how.seed = settings.seed;
  how.stop = control.stopping();
  std::optional<TuneProgress> progress;
  if (Console::is_terminal() && !settings.is_quiet) {
    progress.emplace(console, settings.budget);
    how.on_progress = [&progress](const tuning::SearchProgress& now) { progress->note(now); };
  }
  tuning::SearchResult result =
      tuning::search(settings.candidates, runner.measure(settings.base), how);
  runner.finish();
  return result;
}

void tune(const TuneSettings& settings, RunControl& control, Console& console) {
  Outputs outputs;
  open(outputs, settings);
  tuning::Findings findings;
  findings.result = search(settings, control, console);
  if (!findings.result.has_winner()) {
    console.say("ended before anything was measured");
    return;
  }
  const tuning::Workload& workload = settings.workload.workload;
  findings.objective = settings.objective;
  findings.budget = settings.budget;
  findings.seed = settings.seed;
  findings.base = settings.base;
  findings.circumstances = {
      .producers = workload.producers, .cores = settings.cores, .rate = workload.rate};
  findings.workload = workload_text(settings.workload);
  findings.left_out = settings.left_out;
  write(outputs, findings, settings);
}

std::string sink_text(const WorkloadSettings& settings) {
  if (settings.sink.has_value()) {
    switch (settings.sink->kind) {
      case SinkSpec::Kind::kSqlite:
        return "SQLite, " + settings.sink->path;
      case SinkSpec::Kind::kFile:
        return "file " + settings.sink->path;
      case SinkSpec::Kind::kStdout:
        return "standard output";
      case SinkSpec::Kind::kNull:
        return "none";
    }
  }
  const tuning::SimulatedSinkSettings& handler = settings.handler;
  if (handler.fixed == Duration::zero() && handler.per_item == Duration::zero()) {
    return "none, every batch is done at once";
  }
  std::string text = format_duration(handler.fixed) + " a batch + " +
                     format_duration(handler.per_item) + " an item, " +
                     (handler.burns_cpu ? "computing" : "waiting");
  const auto percent = [](double share) { return tuning::fixed_text(share * 100, 0) + " %"; };
  if (handler.jitter > 0) text += ", jitter " + percent(handler.jitter);
  if (handler.failing_share > 0) text += ", " + percent(handler.failing_share) + " of batches fail";
  return text;
}

}  // namespace

std::string workload_text(const WorkloadSettings& settings) {
  const tuning::Workload& workload = settings.workload;
  std::string text = std::to_string(workload.producers) +
                     (workload.producers == 1 ? " producer" : " producers") + ", items of " +
                     std::to_string(settings.payload.bytes) + " bytes";
  if (settings.payload.kind == tuning::Payload::Kind::kString) text += " (strings)";
  text +=
      workload.batch == 1 ? ", one by one" : ", " + std::to_string(workload.batch) + " in a call";
  text += workload.rate > 0 ? ", " + tuning::count_text(workload.rate) + " items/s"
                            : ", as fast as possible";
  return text + "; sink: " + sink_text(settings);
}

int run_tune(const TuneSettings& settings) {
  Console console("databuffer tune: ");
  RunControl control;
  const SignalWatcher signals([&](int signal) { react(signal, control, console); });
  try {
    tune(settings, control, console);
  } catch (const tuning::TrialError& error) {
    console.say(error.what());
    std::_Exit(kFailed);  // a handler may still use what would be destroyed
  } catch (const std::exception& error) {
    console.say(error.what());
    return control.signal() == 0 ? kFailed : kExitOfSignal + control.signal();
  }
  return control.signal() == 0 ? 0 : kExitOfSignal + control.signal();
}

}  // namespace databuffer::tools
