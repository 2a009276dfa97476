#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "databuffer/clock.hpp"
#include "tools/databuffer/line.hpp"
#include "tools/databuffer/run_control.hpp"

namespace databuffer::tools {

/// A sink could not store. what() names the sink, what it was doing, and why it failed.
class SinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file as the system knows it, whatever its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Where lines go.
///
/// Threads     one at a time; not always the same one.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// Stores the lines, in order: all of them, or, where the sink allows it, none.
  /// Returns soon, by an error, once RunControl::is_aborting().
  /// Throws      SinkError.
  virtual void write(std::span<const Line> lines) = 0;

  /// Completes what was written. Not called after an error.
  /// Throws      SinkError.
  virtual void finish() = 0;

  /// The longest line it can store.
  [[nodiscard]] virtual std::uint64_t max_line_bytes() const noexcept { return UINT64_MAX; }

  /// The regular file it writes to, if it does: reading that one would never end.
  [[nodiscard]] virtual std::optional<FileId> file_id() const { return std::nullopt; }
};

/// `sqlite:PATH`, `file:PATH`, `stdout`, `null`.
struct SinkSpec {
  enum class Kind : std::uint8_t { kSqlite, kFile, kStdout, kNull };
  Kind kind = Kind::kNull;
  std::string path;  ///< kSqlite and kFile: never empty.
};

/// Throws      BadQuantity saying what forms there are.
[[nodiscard]] SinkSpec parse_sink(std::string_view text);

struct SinkSettings {
  /// How long to wait for another process that holds the database's write lock.
  Duration busy_timeout = std::chrono::seconds{5};
};

/// Opens a sink, and makes sure that it can be written to, before anything is read.
/// Throws      SinkError.
[[nodiscard]] std::unique_ptr<Sink> open_sink(const SinkSpec& spec, const SinkSettings& settings,
                                              const RunControl& control);

}  // namespace databuffer::tools
