#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "databuffer/options.hpp"
#include "tools/databuffer/options_cli.hpp"
#include "tools/databuffer/workload_cli.hpp"

namespace databuffer::tools {

/// What `databuffer bench` was asked to do.
struct BenchSettings {
  WorkloadSettings workload;
  Options buffer;
  Duration measured = std::chrono::seconds{5};  ///< After the workload's warm-up.
  std::optional<std::string> json_path;         ///< "-" is standard output; so is the next.
  std::optional<std::string> csv_path;

  /// Whether standard output gets the results for people.
  [[nodiscard]] bool prints_table() const { return json_path != "-" && csv_path != "-"; }
};

/// The arguments of `databuffer bench`.
class BenchCli {
 public:
  BenchCli();
  BenchCli(const BenchCli&) = delete;
  BenchCli& operator=(const BenchCli&) = delete;

  /// Adds the subcommand, which writes to this object while `app` parses.
  CLI::App* add_to(CLI::App& app);

  /// What was asked for, once parsed.
  /// Throws      CLI::ValidationError for what does not go together.
  [[nodiscard]] BenchSettings settings() const;

 private:
  void add_flags(CLI::App& command);

  BenchSettings settings_;
  Duration warm_up_ = std::chrono::milliseconds{500};
  WorkloadFlags workload_;
  BufferFlags buffer_;
};

}  // namespace databuffer::tools
