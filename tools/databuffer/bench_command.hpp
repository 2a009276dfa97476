#pragma once

#include "tools/databuffer/bench_cli.hpp"

namespace databuffer::tools {

/// Runs `databuffer bench`, and returns the exit code. Prints the results, and says on standard
/// error what failed. Ends the process itself on a second signal, and if a handler does not return.
int run_bench(const BenchSettings& settings);

}  // namespace databuffer::tools
