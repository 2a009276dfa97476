#pragma once

#include "tools/databuffer/tune_cli.hpp"

namespace databuffer::tools {

/// Runs `databuffer tune`, and returns the exit code. Prints what it found, and says on standard
/// error what failed.
int run_tune(const TuneSettings& settings);

}  // namespace databuffer::tools
