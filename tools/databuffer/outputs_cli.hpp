#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace databuffer::tools {

/// Adds `flag` for the path of an output; "-" is standard output.
void add_output(CLI::App& app, const std::string& flag, std::optional<std::string>& path,
                const std::string& description);

}  // namespace databuffer::tools
