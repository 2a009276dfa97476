#include "tools/databuffer/bench_command.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include "tools/databuffer/bench_report.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/output_file.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/signals.hpp"
#include "tools/databuffer/workload_runner.hpp"
#include "tools/tuning/run.hpp"

namespace databuffer::tools {

namespace {

constexpr int kFailed = 1;
constexpr int kExitOfSignal = 128;  // the shell's convention

void react(int signal, RunControl& control, Console& console) {
  if (control.stop_for_signal(signal) == 1) {
    console.say(signal_name(signal) +
                ": ends early, with what was measured; a second signal ends at once");
    return;
  }
  console.say(signal_name(signal) + ": ends at once");
  std::_Exit(kExitOfSignal + signal);
}

struct Outputs {
  std::optional<OutputFile> json;
  std::optional<OutputFile> csv;
};

void open(Outputs& outputs, const BenchSettings& settings) {
  if (settings.json_path.has_value()) outputs.json.emplace("--json", *settings.json_path);
  if (settings.csv_path.has_value()) outputs.csv.emplace("--csv", *settings.csv_path);
}

void write(Outputs& outputs, const BenchResult& result) {
  const BenchSettings& settings = result.settings;
  if (outputs.json.has_value()) outputs.json->write(to_json(result));
  if (outputs.csv.has_value()) outputs.csv->write(to_csv(result));
  if (settings.json_path == "-" || settings.csv_path == "-") return;
  OutputFile("standard output", "-").write(to_text(result));
}

}  // namespace

int run_bench(const BenchSettings& settings) {
  Console console("databuffer bench: ");
  RunControl control;
  const SignalWatcher signals([&](int signal) { react(signal, control, console); });
  try {
    Outputs outputs;
    open(outputs, settings);
    WorkloadRunner runner(settings.workload, control);
    BenchResult result{settings, runner.run(settings.buffer, settings.measured), control.signal()};
    runner.finish();
    write(outputs, result);
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
