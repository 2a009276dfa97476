#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/sink.hpp"

namespace databuffer::tools {

/// Appends lines, each with its newline, to a file, a FIFO, a device, or standard output.
///
/// A last line without newline gets none, so one input comes out byte for byte; if another line
/// follows, the newline is put in between first. The same goes for what a file already holds.
///
/// A regular file opened by name ends at a whole batch: what a failed write() has left is cut off
/// again. From a pipe nothing can be taken back; the error says how many lines went out.
class FileSink final : public Sink {
 public:
  /// Creates the file if need be. A FIFO without a reader is waited for, until the run stops.
  /// Throws      SinkError.
  [[nodiscard]] static std::unique_ptr<FileSink> open(const std::string& path,
                                                      const RunControl& control);
  [[nodiscard]] static std::unique_ptr<FileSink> standard_output(const RunControl& control);

  void write(std::span<const Line> lines) override;
  void finish() override;
  [[nodiscard]] std::optional<FileId> file_id() const override;

 private:
  FileSink(std::string name, FileDescriptor output, bool is_ours, const RunControl& control);

  void append(std::string_view bytes);
  void drain();
  void write_out(std::string_view bytes);
  void begin_batch();
  [[nodiscard]] std::string take_back(std::span<const Line> lines);
  [[nodiscard]] std::size_t lines_out(std::span<const Line> lines) const;

  const std::string name_;
  FileDescriptor output_;
  const bool is_ours_;         // opened by us: its flags and its size are ours to change
  const RunControl& control_;  // borrowed
  bool is_regular_ = false;
  FileId id_;

  std::vector<char> pending_;  // small lines, gathered
  bool is_line_open_ = false;  // the last line written has no newline

  // Where this batch began.
  bool began_with_open_line_ = false;
  std::uint64_t size_before_ = 0;  // of a regular file, in bytes
  std::uint64_t written_ = 0;      // bytes written since
};

}  // namespace databuffer::tools
