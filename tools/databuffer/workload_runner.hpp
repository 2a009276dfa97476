#pragma once

#include <memory>

#include "databuffer/options.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/workload_cli.hpp"
#include "tools/tuning/trial.hpp"

namespace databuffer::tools {

class ScratchSink;
class SinkWriter;

/// Runs a workload against buffers, one after another, all with the same sink.
///
/// Threads     one at a time.
class WorkloadRunner {
 public:
  /// Opens the sink, and so makes sure that it can be written to. `control` is borrowed: once it is
  /// stopping, runs end early with what they have measured.
  /// Throws      SinkError.
  WorkloadRunner(const WorkloadSettings& settings, RunControl& control);
  ~WorkloadRunner();
  WorkloadRunner(const WorkloadRunner&) = delete;
  WorkloadRunner& operator=(const WorkloadRunner&) = delete;

  /// One buffer of these options, for the workload's warm-up and then for `measured`.
  /// Throws      SinkError if the sink failed (a simulated failure is none); as run_trial().
  [[nodiscard]] tuning::Measurement run(const Options& options, Duration measured);

  /// The same for the search: `base` with each candidate's values put in, and each run with an
  /// empty scratch file, where there is one. Borrows this object.
  [[nodiscard]] tuning::Measure measure(Options base);

  /// Completes what a real sink has stored, and throws what it has failed with.
  void finish();

 private:
  [[nodiscard]] std::unique_ptr<Sink> open();

  const WorkloadSettings settings_;
  RunControl& control_;                               // borrowed
  std::unique_ptr<tuning::SimulatedSink> simulated_;  // one of these two
  std::unique_ptr<SinkWriter> writer_;
  ScratchSink* scratch_ = nullptr;  // owned by the writer
  tuning::PayloadHandler handler_;
};

}  // namespace databuffer::tools
