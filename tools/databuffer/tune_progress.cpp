#include "tools/databuffer/tune_progress.hpp"

#include <algorithm>

#include "tools/tuning/text.hpp"

namespace databuffer::tools {

std::string tune_progress_text(const tuning::SearchProgress& progress, Duration elapsed,
                               std::size_t columns) {
  const double budget = tuning::seconds_of(progress.budget);
  const double share = budget > 0 ? std::min(tuning::seconds_of(elapsed) / budget, 1.0) : 1.0;
  std::string state;
  if (progress.is_final) {
    state = "final";
  } else {
    state = std::to_string(progress.kept) + "/" + std::to_string(progress.candidates) + " racing";
  }
  if (progress.best.has_value()) {
    state += "  best: " + std::to_string(progress.best->partitions) + " x " +
             std::to_string(progress.best->max_size) + ", " +
             tuning::count_text(progress.best_measured.items_per_s) + "/s, p99 " +
             tuning::seconds_text(progress.best_measured.age.p99);
  }
  state += "  " + time_text(budget - tuning::seconds_of(elapsed)) + " left";
  return share_line(share, state, columns);
}

TuneProgress::TuneProgress(Console& console, Duration budget)
    : bar_(console, [this](std::size_t columns) { return line(columns); }) {
  const std::lock_guard lock(mutex_);
  progress_.budget = budget;
}

void TuneProgress::note(const tuning::SearchProgress& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

std::string TuneProgress::line(std::size_t columns) {
  const std::lock_guard lock(mutex_);
  return tune_progress_text(progress_, steady_clock().now() - started_, columns);
}

}  // namespace databuffer::tools
