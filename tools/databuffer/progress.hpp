#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "databuffer/clock.hpp"
#include "tools/databuffer/console.hpp"

namespace databuffer::tools {

/// How far a run has come.
struct Progress {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> total_bytes;  ///< Unknown where an input is not a regular file.
  Duration elapsed{};
};

/// One line of at most `columns` characters: per cent, bar, lines, lines/s and time left; only
/// lines and lines/s where the end is not known.
[[nodiscard]] std::string progress_text(const Progress& progress, std::size_t columns);

/// "01:05", "2:00:00".
[[nodiscard]] std::string time_text(double seconds);

/// One line of at most `columns` characters: `share` in per cent, a bar where there is room for
/// one, and `text`.
[[nodiscard]] std::string share_line(double share, const std::string& text, std::size_t columns);

/// Shows the progress on the console a few times a second, from its own thread, until destroyed.
/// Where no thread or no memory is left, there is no bar: the run is worth more.
class ProgressBar {
 public:
  /// `look` gives the line, of at most so many characters. Called from the bar's thread.
  ProgressBar(Console& console, std::function<std::string(std::size_t columns)> look);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void show(const std::stop_token& stop);

  Console& console_;  // borrowed
  std::function<std::string(std::size_t)> look_;
  std::mutex mutex_;  // for ended_ alone: it is held while the console is written to
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace databuffer::tools
