#include "tools/databuffer/tune_command.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tools/databuffer/measuring.hpp"
#include "tools/databuffer/output_file.hpp"
#include "tools/databuffer/tune_progress.hpp"
#include "tools/databuffer/workload_text.hpp"
#include "tools/tuning/export.hpp"
#include "tools/tuning/findings.hpp"
#include "tools/tuning/report.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tools {

namespace {

struct Outputs {
  explicit Outputs(const TuneSettings& settings) : plot_format(settings.plot_format) {
    if (settings.plot_path.has_value()) tuning::check_gnuplot();
    if (settings.json_path.has_value()) json.emplace("--json", *settings.json_path);
    if (settings.csv_path.has_value()) csv.emplace("--csv", *settings.csv_path);
    if (settings.plot_path.has_value()) plot.emplace("--plot", *settings.plot_path);
    if (settings.report_path.has_value()) report.emplace("--report", *settings.report_path);
    if (settings.prints_text()) text.emplace("standard output", "-");
  }

  // Returns whether all of them could be written.
  bool write(const tuning::Findings& findings, Console& console) {
    std::vector<std::function<void()>> steps;
    if (text.has_value()) steps.emplace_back([&] { text->write(findings_text(findings)); });
    if (json.has_value()) steps.emplace_back([&] { json->write(to_json(findings)); });
    if (csv.has_value()) steps.emplace_back([&] { csv->write(to_csv(findings.result)); });
    if (report.has_value()) steps.emplace_back([&] { report->write(report_html(findings)); });
    if (plot.has_value()) {
      steps.emplace_back([&] { plot->write(draw_plot(findings, plot_format)); });
    }
    return try_all(console, steps);
  }

  std::optional<OutputFile> text;
  std::optional<OutputFile> json;
  std::optional<OutputFile> csv;
  std::optional<OutputFile> report;
  std::optional<OutputFile> plot;
  tuning::PlotFormat plot_format;
};

tuning::SearchResult search(const TuneSettings& settings, Measuring& with) {
  tuning::SearchSettings how = settings.search;
  how.stop = with.control.stopping();
  std::optional<TuneProgress> progress;
  if (Console::is_terminal() && !settings.is_quiet) {
    progress.emplace(with.console, how.budget);
    how.on_progress = [&progress](const tuning::SearchProgress& now) { progress->note(now); };
  }
  return tuning::search(settings.candidates, with.runner->measure(settings.base), how);
}

// The sink is opened before the outputs: if it fails, results of an earlier run are left alone.
bool tune(const TuneSettings& settings, Measuring& with) {
  with.runner.emplace(settings.workload, with.control);
  Outputs outputs(settings);
  tuning::SearchResult result = search(settings, with);
  with.runner->finish();
  if (!result.has_winner()) {
    if (result.is_stopped) {
      with.console.say("ended before anything was measured");
      return true;
    }
    with.console.say("the budget is too small: in runs of " +
                     tuning::seconds_text(result.run_length) +
                     ", which it allows, the defaults flush fewer than two batches, so nothing can "
                     "be compared with them. Give a larger --budget, or fewer candidates");
    return false;
  }
  tuning::Findings findings = tuning::findings_of(std::move(result), settings.search,
                                                  settings.workload.workload, settings.recommended);
  findings.workload = inserts_text(settings.workload) + "; " + handler_text(settings.workload);
  findings.left_out = settings.left_out;
  return outputs.write(findings, with.console);
}

}  // namespace

int run_tune(const TuneSettings& settings) {
  return run_measuring("databuffer tune: ", "ends, with what was found so far",
                       [&settings](Measuring& with) { return tune(settings, with); });
}

}  // namespace databuffer::tools
