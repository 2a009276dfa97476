#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace databuffer::tools {

/// What the command says to people: messages, and a progress line below them, on standard error.
///
/// Threads     any number at once; a message and the progress line do not mix.
class Console {
 public:
  /// `prefix` stands in front of each message: "databuffer ingest: ".
  explicit Console(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Also where there is no memory for more than the message itself.
  void say(std::string_view message) noexcept;

  /// Replaces the progress line; empty takes it away.
  void show_progress(std::string_view line);

  /// Whether standard error is a terminal.
  [[nodiscard]] static bool is_terminal();
  /// Its width; 80 where it does not tell.
  [[nodiscard]] static std::size_t columns();

 private:
  const std::string prefix_;
  std::mutex mutex_;
  std::string progress_;  // guarded by mutex_
};

/// What an error says, in words: "out of memory" for std::bad_alloc.
[[nodiscard]] std::string failure_text(const std::exception& error);

/// Writes all of `text`, waiting where the descriptor would block. Returns 0 or an errno.
[[nodiscard]] int write_fully(int fd, std::string_view text) noexcept;

}  // namespace databuffer::tools
