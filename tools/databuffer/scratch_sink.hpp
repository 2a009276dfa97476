#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tools/databuffer/sink.hpp"

namespace databuffer::tools {

/// A file of our own, next to one that the user named: `PATH.tune-XXXXXX`. It is new, it is ours
/// alone, and it is removed at the end, with what SQLite keeps beside it.
///
/// Threads     any number at once.
class ScratchFile {
 public:
  /// Creates it. Throws      SinkError.
  explicit ScratchFile(const std::string& path);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Makes it empty, and calls `open`, which opens it by its name. Throws      SinkError.
  void restart(const std::function<void()>& open) const;

  /// Removes all there are, and lets none be made any more: for a process that is about to end
  /// without destructors. Whoever asks for one waits for that end.
  static void remove_all();

 private:
  const std::string path_;
};

/// Stores lines as the sink of this kind does, but in a scratch file, which it empties whenever
/// `max_bytes` have been written to it.
///
/// Threads     one at a time; not always the same one.
class ScratchSink final : public Sink {
 public:
  /// What a file may hold, about: a line counts with what a table of SQLite adds to it.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20U;

  /// `spec` is of kind kSqlite or kFile; its own path is not touched. Throws      SinkError.
  ScratchSink(const SinkSpec& spec, const SinkSettings& settings, const RunControl& control,
              std::uint64_t max_bytes = kMaxBytes);

  /// Begins with an empty file. Throws      SinkError.
  void restart();

  void write(std::span<const Line> lines) override;
  void finish() override {}  // nobody reads it

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

 private:
  const SinkSettings settings_;
  const RunControl& control_;  // borrowed
  const std::uint64_t max_bytes_;
  const ScratchFile file_;
  const SinkSpec spec_;  // with the path of file_
  std::unique_ptr<Sink> sink_;
  std::uint64_t bytes_ = 0;  // written since it was empty
};

/// Whether a sink keeps what it is given in a file, so that a scratch file can stand in for it: not
/// a FIFO, a device, or the null sink.
[[nodiscard]] bool needs_scratch(const SinkSpec& spec);

}  // namespace databuffer::tools
