#pragma once

#include <string>

#include "tools/databuffer/tune_cli.hpp"

namespace databuffer::tools {

/// Runs `databuffer tune`, and returns the exit code. Prints what it found, and says on standard
/// error what failed.
int run_tune(const TuneSettings& settings);

/// The workload and the sink in words: "2 producers, items of 8 bytes, …".
[[nodiscard]] std::string workload_text(const WorkloadSettings& settings);

}  // namespace databuffer::tools
