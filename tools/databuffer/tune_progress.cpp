#include "tools/databuffer/tune_progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tools/tuning/text.hpp"

namespace databuffer::tools {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::size_t kMaxBarWidth = 30;
constexpr std::size_t kMinBarWidth = 5;

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0) + 0.5);
  const auto two_digits = [](std::uint64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  return two_digits(whole / 60) + ":" + two_digits(whole % 60);
}

}  // namespace

std::string tune_progress_text(const tuning::SearchProgress& progress, Duration elapsed,
                               std::size_t columns) {
  const double budget = seconds_of(progress.budget);
  const double share = budget > 0 ? std::min(seconds_of(elapsed) / budget, 1.0) : 1.0;
  std::string percent = std::to_string(static_cast<unsigned>(share * 100)) + " % ";
  percent.insert(0, 6 - percent.size(), ' ');
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
  state += "  " + time_text(budget - seconds_of(elapsed)) + " left";
  std::string text = percent + state;
  const std::size_t around = text.size() + 3;  // the bar's brackets and its space
  if (columns >= around + kMinBarWidth) {
    const std::size_t width = std::min(kMaxBarWidth, columns - around);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
    text = percent + "[" + std::string(full, '#') + std::string(width - full, ' ') + "] " + state;
  }
  return text.substr(0, columns);
}

TuneProgress::TuneProgress(Console& console, Duration budget)
    : console_(console), thread_([this, budget](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        progress_.budget = budget;
        while (!ended_.wait_for(lock, stop, kBetweenLooks, [&] { return stop.stop_requested(); })) {
          show();
        }
      }) {}

TuneProgress::~TuneProgress() {
  thread_.request_stop();
  thread_.join();
  console_.show_progress({});
}

void TuneProgress::note(const tuning::SearchProgress& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

void TuneProgress::show() {
  // One column stays free: some terminals wrap when the last one is written.
  console_.show_progress(
      tune_progress_text(progress_, steady_clock().now() - started_, Console::columns() - 1));
}

}  // namespace databuffer::tools
