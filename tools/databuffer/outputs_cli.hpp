#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace databuffer::tools {

/// One flag that names a file which the command writes to.
struct OutputPath {
  const char* flag;
  std::optional<std::string> path;  ///< "-" is standard output.
};

/// Refuses that two of them name the same file: each would write over the other.
/// Throws      CLI::ValidationError that names the later flag.
void check_outputs(const std::vector<OutputPath>& outputs);

/// Adds `flag` for the path of an output.
void add_output(CLI::App& app, const std::string& flag, std::optional<std::string>& path,
                const std::string& description);

}  // namespace databuffer::tools
