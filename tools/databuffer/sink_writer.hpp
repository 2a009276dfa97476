#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tools/databuffer/line.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/sink.hpp"
#include "tools/databuffer/text_memory.hpp"
#include "tools/tuning/trial.hpp"

namespace databuffer::tools {

/// Stores payloads in a sink for lines: each becomes a line whose text is as long as the payload,
/// numbered on from 1. The text is copied once, as it is when lines are read.
///
/// After the first error nothing else is tried.
///
/// Threads     any number at once; they take turns.
class SinkWriter {
 public:
  /// `control` is borrowed: it is told to stop when the sink fails.
  SinkWriter(std::unique_ptr<Sink> sink, RunControl& control);
  ~SinkWriter();
  SinkWriter(const SinkWriter&) = delete;
  SinkWriter& operator=(const SinkWriter&) = delete;

  FlushResult write(const tuning::PayloadBatch& batch);

  /// Throws      SinkError if the sink has failed.
  void check();

  /// Completes what was stored. Throws      SinkError if the sink has failed, or fails now.
  void finish();

 private:
  void store(const tuning::PayloadBatch& batch);

  const std::unique_ptr<Sink> sink_;
  RunControl& control_;
  TextMemory memory_;
  Source source_;

  std::mutex mutex_;
  std::string failure_;            // guarded by mutex_; empty while all is well
  std::uint64_t last_number_ = 0;  // guarded by mutex_
};

}  // namespace databuffer::tools
