#include "tools/databuffer/bench_command.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/databuffer/bench_report.hpp"
#include "tools/databuffer/measuring.hpp"
#include "tools/databuffer/output_file.hpp"

namespace databuffer::tools {

namespace {

struct Outputs {
  explicit Outputs(const BenchSettings& settings) {
    if (settings.json_path.has_value()) json.emplace("--json", *settings.json_path);
    if (settings.csv_path.has_value()) csv.emplace("--csv", *settings.csv_path);
    if (settings.prints_table()) table.emplace("standard output", "-");
  }

  // Returns whether all of them could be written.
  bool write(const BenchResult& result, Console& console) {
    std::vector<std::function<void()>> steps;
    if (table.has_value()) steps.emplace_back([&] { table->write(to_text(result)); });
    if (json.has_value()) steps.emplace_back([&] { json->write(to_json(result)); });
    if (csv.has_value()) steps.emplace_back([&] { csv->write(to_csv(result)); });
    return try_all(console, steps);
  }

  std::optional<OutputFile> table;
  std::optional<OutputFile> json;
  std::optional<OutputFile> csv;
};

// The sink is opened before the outputs: if it fails, results of an earlier run are left alone.
bool bench(const BenchSettings& settings, Measuring& with) {
  WorkloadRunner& runner = with.runner.emplace(settings.workload, with.control);
  Outputs outputs(settings);
  BenchResult result{settings, runner.run(settings.buffer, settings.measured),
                     with.control.signal()};
  runner.finish();
  return outputs.write(result, with.console);
}

}  // namespace

int run_bench(const BenchSettings& settings) {
  return run_measuring("databuffer bench: ", "ends early, with what was measured",
                       [&settings](Measuring& with) { return bench(settings, with); });
}

}  // namespace databuffer::tools
