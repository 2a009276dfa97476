#pragma once

#include "tools/databuffer/ingest.hpp"

namespace databuffer::tools {

/// Runs `databuffer ingest`, and returns the exit code. Prints the summary, and says on standard
/// error what failed. Ends the process itself if threads are left that did not return.
int run_ingest(const IngestSettings& settings);

}  // namespace databuffer::tools
