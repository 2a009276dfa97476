#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/buffer.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "tools/databuffer/batch_writer.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/line.hpp"
#include "tools/databuffer/producers.hpp"
#include "tools/databuffer/progress.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/sink.hpp"
#include "tools/databuffer/summary.hpp"
#include "tools/databuffer/text_memory.hpp"

namespace databuffer::tools {

/// What `databuffer ingest` was asked to do.
struct IngestSettings {
  std::vector<std::string> inputs;    ///< "-" is standard input. All different.
  std::vector<std::string> warnings;  ///< Of what was asked for; to be said before the run.
  SinkSpec sink;
  SinkSettings sink_settings;
  std::size_t producers = 0;  ///< Threads that read files; 0: one a file, at most one a core.
  std::uint64_t memory_bytes = 256U << 20U;      ///< See TextMemory.
  std::uint64_t max_line_bytes = 1'000'000'000;  ///< A longer line is an error of its input.
  std::optional<std::string> json_path;          ///< "-" is standard output.
  bool is_quiet = false;
  Options buffer;

  /// Whether there is a summary for people, and whether it goes to standard output: not where the
  /// lines go there.
  [[nodiscard]] bool is_for_people() const { return !is_quiet && json_path != "-"; }
  [[nodiscard]] bool prints_to_output() const {
    return is_for_people() && sink.kind != SinkSpec::Kind::kStdout;
  }
};

/// One run: producers read lines into a buffer, whose handler writes them to a sink.
///
///     sources → Producers → Buffer<Line> → BatchWriter → Sink
///
/// The run ends when all sources are read, when RunControl says so, or when the sink fails; in
/// every case but an abort with what the buffer holds stored. After run() the run may be stuck:
/// threads that did not return hold on to it, and then it must not be destroyed, but the process
/// ended.
class Ingest {
 public:
  /// All borrowed.
  Ingest(const IngestSettings& settings, RunControl& control, Console& console);
  Ingest(const Ingest&) = delete;
  Ingest& operator=(const Ingest&) = delete;

  /// Uses `sink` in place of the one in the settings. For tests.
  void use_sink(std::unique_ptr<Sink> sink) { sink_ = std::move(sink); }

  /// Never throws for what a sink or an input does, or for threads that cannot be started: that is
  /// in the summary, and has been said. Throws      std::bad_alloc.
  Summary run();

  [[nodiscard]] bool is_stuck() const noexcept { return is_stuck_; }

 private:
  [[nodiscard]] bool open();
  [[nodiscard]] bool start();
  void make_parts();
  void wait_for_producers();
  void close();
  void end_all();
  [[nodiscard]] Progress progress() const;
  [[nodiscard]] Summary summarise() const;
  void report_error(const std::string& message);

  const IngestSettings& settings_;
  RunControl& control_;
  Console& console_;

  TextMemory memory_;
  std::vector<Source> sources_;
  std::optional<std::uint64_t> total_bytes_;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<BatchWriter> writer_;
  std::unique_ptr<Buffer<Line>> buffer_;
  std::unique_ptr<Producers> producers_;
  std::thread closer_;
  TimePoint started_at_{};
  TimePoint ended_at_{};
  bool is_stuck_ = false;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool has_ended_ = false;           // guarded by mutex_
  std::vector<std::string> errors_;  // guarded by mutex_
};

}  // namespace databuffer::tools
