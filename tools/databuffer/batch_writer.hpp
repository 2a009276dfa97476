#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>

#include "databuffer/result.hpp"
#include "tools/databuffer/line.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/sink.hpp"

namespace databuffer::tools {

/// The flush handler: writes batches to a sink, one at a time.
///
/// After the first failed batch no other is tried: whatever made it fail is still there, and with
/// overtaken batches nobody could say what is stored. So the lines of one source that are stored
/// are always its first ones.
///
/// Threads     any number at once; they take turns.
class BatchWriter {
 public:
  /// `on_failure` is called once, with the reason, before the run is told to stop. Both borrowed.
  BatchWriter(Sink& sink, RunControl& control,
              std::function<void(const std::string& reason)> on_failure);

  FlushResult write(std::span<Line> lines);

  /// Whether a batch has failed or was refused.
  [[nodiscard]] bool has_failed();

 private:
  void note_failure(const std::exception& error);

  Sink& sink_;
  RunControl& control_;
  std::function<void(const std::string&)> on_failure_;

  std::mutex mutex_;
  std::string failure_;  // guarded by mutex_; empty while all is well
};

}  // namespace databuffer::tools
