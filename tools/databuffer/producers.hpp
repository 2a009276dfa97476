#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/buffer.hpp"
#include "databuffer/clock.hpp"
#include "tools/databuffer/line.hpp"
#include "tools/databuffer/line_reader.hpp"
#include "tools/databuffer/sink.hpp"
#include "tools/databuffer/summary.hpp"

namespace databuffer::tools {

/// What producers need, all borrowed.
struct ProducerContext {
  std::span<Source> sources;
  Buffer<Line>& buffer;
  std::optional<FileId> output;  ///< Not to be read: see Sink::file_id().
  RunControl& control;
  ReaderContext reader;
  std::function<void(const std::string& message)> report_error;
  std::function<void(const std::string& message)> report_note;
};

/// Threads that read the sources, each a whole one at a time, and insert their lines one by one.
///
/// A source that may wait for its writer (see may_wait) has a thread of its own from the start.
/// With fewer threads than such sources, a writer that fills several of them in turn would wait for
/// ever for a source that nobody reads yet, while every thread waits for more of the others.
///
/// A source's lines go in by its number as the key: into one partition, so they stay in order.
/// When the run stops, files are left at once, for they can be read again. From anything else what
/// has been read is gone, so its lines are inserted first.
class Producers {
 public:
  /// `file_reader_count` threads at most read the sources that do not wait: files.
  /// Throws      std::system_error or std::bad_alloc if not one thread can be started.
  Producers(ProducerContext context, std::size_t file_reader_count);
  /// Requires    all done, or abandon().
  ~Producers();
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;

  /// Waits until all sources are done, `stop` is requested, or `deadline` has passed.
  /// Returns     whether all are done.
  bool wait_until(TimePoint deadline, const std::stop_token& stop);

  /// Gives the threads up: they may be stuck in a system call. The process is about to end.
  void abandon();

  [[nodiscard]] std::uint64_t lines() const noexcept;
  [[nodiscard]] std::uint64_t not_accepted() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// One for each source. Exact for those that are done.
  [[nodiscard]] std::vector<SourceSummary> summaries() const;

 private:
  /// What has happened since the last publish().
  struct Tally {
    std::uint64_t lines = 0;
    std::uint64_t not_accepted = 0;
    std::uint64_t bytes = 0;
  };

  void run();
  [[nodiscard]] bool replaces_missing_thread();
  void read_source(std::size_t source_index);
  [[nodiscard]] std::string report(std::size_t source_index, const std::exception& exception);
  [[nodiscard]] bool read_lines(std::size_t source_index, Tally& tally);
  void insert(std::size_t source_index, Line& line, Tally& tally);
  void publish(std::size_t source_index, Tally& tally);

  // Fixed before the first thread is started.
  const ProducerContext context_;
  std::vector<std::size_t> order_;  // of the sources: those that may wait are first
  std::size_t waiting_count_ = 0;   // how many those are

  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_place_{0};  // in order_; drawn by the threads

  // Statistics, written by the threads once for each piece read.
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> not_accepted_{0};
  std::atomic<std::uint64_t> bytes_{0};

  mutable std::mutex mutex_;
  std::condition_variable_any done_;
  std::size_t running_ = 0;               // guarded by mutex_
  std::size_t missing_threads_ = 0;       // guarded by mutex_: could not be started
  std::vector<SourceSummary> summaries_;  // guarded by mutex_
};

}  // namespace databuffer::tools
