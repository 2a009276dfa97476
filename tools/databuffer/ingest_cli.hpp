#pragma once

#include <CLI/CLI.hpp>

#include "tools/databuffer/ingest.hpp"
#include "tools/databuffer/options_cli.hpp"

namespace databuffer::tools {

/// The arguments of `databuffer ingest`.
class IngestCli {
 public:
  IngestCli();
  IngestCli(const IngestCli&) = delete;
  IngestCli& operator=(const IngestCli&) = delete;

  /// Adds the subcommand, which writes to this object while `app` parses.
  CLI::App* add_to(CLI::App& app);

  /// What was asked for, once parsed.
  /// Throws      CLI::ValidationError for what does not go together.
  [[nodiscard]] IngestSettings settings() const;

 private:
  void add_flags(CLI::App& command);

  IngestSettings settings_;
  BufferFlags buffer_;
  const CLI::Option* files_ = nullptr;  // borrowed: FILE…, as typed
};

}  // namespace databuffer::tools
