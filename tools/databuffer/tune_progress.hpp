#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "databuffer/clock.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/progress.hpp"
#include "tools/tuning/search.hpp"

namespace databuffer::tools {

/// One line of at most `columns` characters: per cent of the budget, bar, where the search is, the
/// best so far and the time left. `elapsed` since the search began, for its last report is older.
[[nodiscard]] std::string tune_progress_text(const tuning::SearchProgress& progress,
                                             Duration elapsed, std::size_t columns);

/// Shows a search's progress on the console until destroyed.
class TuneProgress {
 public:
  TuneProgress(Console& console, Duration budget);
  TuneProgress(const TuneProgress&) = delete;
  TuneProgress& operator=(const TuneProgress&) = delete;

  /// For SearchSettings::on_progress. Never waits for the terminal, which may stand still (Ctrl-S):
  /// the search goes on.
  void note(const tuning::SearchProgress& progress);

 private:
  [[nodiscard]] std::string line(std::size_t columns);

  const TimePoint started_ = steady_clock().now();
  std::mutex mutex_;
  tuning::SearchProgress progress_;  // guarded by mutex_
  ProgressBar bar_;                  // last: its thread uses the others
};

}  // namespace databuffer::tools
