#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tools/databuffer/console.hpp"
#include "tools/tuning/search.hpp"

namespace databuffer::tools {

/// One line of at most `columns` characters: per cent of the budget, bar, where the search is, the
/// best so far and the time left. `elapsed` since the search began, for its last report is older.
[[nodiscard]] std::string tune_progress_text(const tuning::SearchProgress& progress,
                                             Duration elapsed, std::size_t columns);

/// Shows a search's progress on the console a few times a second, from its own thread, until
/// destroyed.
class TuneProgress {
 public:
  TuneProgress(Console& console, Duration budget);
  ~TuneProgress();
  TuneProgress(const TuneProgress&) = delete;
  TuneProgress& operator=(const TuneProgress&) = delete;

  /// For SearchSettings::on_progress.
  void note(const tuning::SearchProgress& progress);

 private:
  void show();

  Console& console_;  // borrowed
  const TimePoint started_ = steady_clock().now();
  std::mutex mutex_;
  tuning::SearchProgress progress_;  // guarded by mutex_
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace databuffer::tools
