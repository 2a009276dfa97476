#pragma once

#include <string>

#include "tools/databuffer/bench_cli.hpp"
#include "tools/tuning/measurement.hpp"

namespace databuffer::tools {

/// What `databuffer bench` has measured.
struct BenchResult {
  BenchSettings settings;
  tuning::Measurement measurement;
  int signal = 0;  ///< That ended the run early, or 0.
};

/// A table for people.
[[nodiscard]] std::string to_text(const BenchResult& result);

/// One JSON object, with a newline behind it. Times in seconds, memory in bytes.
[[nodiscard]] std::string to_json(const BenchResult& result);

/// A header and a line; the same names and values as in JSON.
[[nodiscard]] std::string to_csv(const BenchResult& result);

}  // namespace databuffer::tools
