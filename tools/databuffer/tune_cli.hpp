#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "databuffer/options.hpp"
#include "tools/databuffer/options_cli.hpp"
#include "tools/databuffer/workload_cli.hpp"
#include "tools/tuning/plot.hpp"
#include "tools/tuning/search.hpp"
#include "tools/tuning/space.hpp"

namespace databuffer::tools {

/// What `databuffer tune` was asked to do.
struct TuneSettings {
  WorkloadSettings workload;
  Options base;         ///< What every candidate has in common.
  Options recommended;  ///< The same, without what is the trials' own.
  std::vector<tuning::Candidate> candidates;
  std::size_t left_out = 0;  ///< Combinations whose capacity is below their largest batch.
  tuning::SearchSettings search;
  std::optional<std::string> json_path;  ///< "-" is standard output; so is the next.
  std::optional<std::string> csv_path;
  std::optional<std::string> plot_path;
  tuning::PlotFormat plot_format = tuning::PlotFormat::kSvg;
  std::optional<std::string> report_path;
  bool is_quiet = false;

  /// Whether standard output gets the results for people.
  [[nodiscard]] bool prints_text() const {
    return !is_quiet && json_path != "-" && csv_path != "-";
  }
};

/// The arguments of `databuffer tune`.
class TuneCli {
 public:
  TuneCli();
  TuneCli(const TuneCli&) = delete;
  TuneCli& operator=(const TuneCli&) = delete;

  /// Adds the subcommand, which writes to this object while `app` parses.
  CLI::App* add_to(CLI::App& app);

  /// What was asked for, once parsed.
  /// Throws      CLI::ValidationError for what does not go together.
  [[nodiscard]] TuneSettings settings() const;

 private:
  void add_space(CLI::App& command);
  void add_search(CLI::App& command);
  void add_outputs(CLI::App& command);
  void check_candidates(TuneSettings& settings) const;

  TuneSettings settings_;
  tuning::Space space_;
  WorkloadFlags workload_;
  BufferFlags buffer_;
  const CLI::Option* close_timeout_ = nullptr;
};

}  // namespace databuffer::tools
