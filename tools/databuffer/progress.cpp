#include "tools/databuffer/progress.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "tools/tuning/measurement.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::size_t kMaxBarWidth = 30;
constexpr std::size_t kMinBarWidth = 5;
constexpr double kLongestTimeLeft = 100.0 * 3600.0;  // seconds; above that it is a guess

std::string two_digits(std::uint64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

std::string bar_text(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, ' ') + "] ";
}

}  // namespace

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0) + 0.5);
  const std::string minutes_and_seconds =
      two_digits(whole / 60 % 60) + ":" + two_digits(whole % 60);
  return whole < 3600 ? minutes_and_seconds
                      : std::to_string(whole / 3600) + ":" + minutes_and_seconds;
}

std::string share_line(double share, const std::string& text, std::size_t columns) {
  std::string percent = std::to_string(static_cast<unsigned>(share * 100.0)) + " % ";
  percent.insert(0, 6 - percent.size(), ' ');
  std::string line = percent + text;
  const std::size_t around = line.size() + 3;  // the bar's brackets and its space
  if (columns >= around + kMinBarWidth) {
    line = percent + bar_text(share, std::min(kMaxBarWidth, columns - around)) + text;
  }
  return line.substr(0, columns);
}

std::string progress_text(const Progress& progress, std::size_t columns) {
  const double seconds = tuning::seconds_of(progress.elapsed);
  std::string counts = std::to_string(progress.lines) + " lines";
  if (seconds > 0) {
    const double rate = static_cast<double>(progress.lines) / seconds;
    counts += "  " + std::to_string(static_cast<std::uint64_t>(rate)) + " lines/s";
  }
  if (progress.total_bytes.has_value()) {
    // A file may have grown since it was measured.
    const auto total = static_cast<double>(std::max(*progress.total_bytes, progress.bytes));
    const auto done = static_cast<double>(progress.bytes);
    const double share = total > 0 ? done / total : 1.0;
    const double left = done > 0 ? seconds * (total - done) / done : kLongestTimeLeft;
    if (left < kLongestTimeLeft) counts += "  " + time_text(left) + " left";
    return share_line(share, counts, columns);
  }
  return counts.substr(0, columns);
}

ProgressBar::ProgressBar(Console& console, std::function<std::string(std::size_t)> look)
    : console_(console), look_(std::move(look)) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  console_.show_progress({});
}

void ProgressBar::show(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, stop, kBetweenLooks, [&] { return stop.stop_requested(); })) {
    try {
      // One column stays free: some terminals wrap when the last one is written.
      console_.show_progress(look_(Console::columns() - 1));
    } catch (const std::bad_alloc&) {  // the next one may succeed
    }
  }
}

}  // namespace databuffer::tools
