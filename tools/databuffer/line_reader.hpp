#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/line.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/text_memory.hpp"

namespace databuffer::tools {

/// An input could not be read (further). what() says why, without the input's name.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Opens an input: "-" is standard input. Never waits, not even for a FIFO's other end.
/// Throws      ReadError: missing, not permitted, a directory, a socket.
[[nodiscard]] FileDescriptor open_input(const std::string& name);

/// Whether reading the input may wait for whoever writes it: a pipe, a FIFO, a terminal, a device;
/// no regular file, and nothing that cannot be read.
[[nodiscard]] bool may_wait(const std::string& name);

/// What all readers of a run share. Borrowed.
struct ReaderContext {
  TextMemory& memory;
  const RunControl& control;
  std::uint64_t max_line_bytes;
  std::function<void()> flush;  ///< Starts a flush of the buffer: see TextMemory.
};

/// Cuts an input into lines, by read(2) into chunks that the lines then share.
///
///     while (reader.fill()) {
///       while (reader.next(line)) use(std::move(line));
///     }
///
/// A line ends before its '\n'; what stands behind the last '\n', if anything, is the last line.
///
/// Threads     one. It waits for input, and for memory, only in fill(), and not once
///             RunControl::is_stopping().
class LineReader {
 public:
  LineReader(FileDescriptor input, Source& source, const ReaderContext& context);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Reads some more. Returns false at the end of the input, or when the run is stopping.
  /// Throws      ReadError, with the lines before the error given out; std::bad_alloc.
  /// Requires    next() has returned false since the last call.
  [[nodiscard]] bool fill();

  /// Moves the next line of what has been read into `line`; returns false if there is none.
  /// Throws      ReadError if it is longer than `max_line_bytes`.
  [[nodiscard]] bool next(Line& line);

  /// After a stop: what has been read behind the last '\n', as an unterminated line. For inputs
  /// that cannot be read again.
  [[nodiscard]] bool next_cut_line(Line& line);

  /// Whether what we have read can be read again by another run: a regular file.
  [[nodiscard]] bool is_rereadable() const noexcept { return is_rereadable_; }
  [[nodiscard]] bool is_at_end() const noexcept { return is_at_end_; }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  [[nodiscard]] bool make_space();
  [[nodiscard]] std::size_t unfinished() const noexcept { return filled_ - begin_; }
  Line cut(std::size_t end, bool is_terminated);
  void check_length(std::size_t bytes) const;

  FileDescriptor input_;
  const ReaderContext& context_;
  const bool is_rereadable_;

  Chunk* chunk_;              // owned until retired; never null
  std::size_t begin_ = 0;     // where in the chunk the next line begins
  std::size_t searched_ = 0;  // no '\n' between begin_ and here
  std::size_t filled_ = 0;    // bytes of the chunk that have been read
  std::uint64_t given_ = 0;   // lines of this chunk given out
  std::uint64_t number_ = 0;  // lines given out in all
  std::uint64_t bytes_read_ = 0;
  bool is_at_end_ = false;
};

}  // namespace databuffer::tools
