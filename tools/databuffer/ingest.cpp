#include "tools/databuffer/ingest.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "tools/databuffer/quantities.hpp"
#include "tools/tuning/starting.hpp"

namespace databuffer::tools {

namespace {

using namespace std::chrono_literals;

// After an abort: how long threads may take to notice. Who does not, is stuck in a system call.
constexpr Duration kAbortGrace = 2s;

// Errors beside one of each input: room for them, for the errors may be that memory has run out.
constexpr std::size_t kErrorsBeside = 8;

// The bytes of all inputs, if they can be known: of regular files.
std::optional<std::uint64_t> measure(const std::vector<std::string>& inputs) {
  std::uint64_t total = 0;
  for (const std::string& input : inputs) {
    struct stat status {};
    const int result =
        input == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(input.c_str(), &status);
    if (result != 0) continue;  // it will be an error, and then there is nothing to read
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    total += static_cast<std::uint64_t>(status.st_size);
  }
  return total;
}

}  // namespace

Ingest::Ingest(const IngestSettings& settings, RunControl& control, Console& console)
    : settings_(settings),
      control_(control),
      console_(console),
      memory_(settings.memory_bytes),
      sources_(settings.inputs.size()),
      total_bytes_(measure(settings.inputs)) {
  errors_.reserve(settings.inputs.size() + kErrorsBeside);
  for (std::size_t index = 0; index < sources_.size(); ++index) {
    sources_[index].name = settings.inputs[index];
  }
}

Summary Ingest::run() {
  started_at_ = ended_at_ = steady_clock().now();
  if (!open() || !start()) return summarise();
  {
    std::optional<ProgressBar> bar;
    const bool shares_terminal =
        settings_.sink.kind == SinkSpec::Kind::kStdout && ::isatty(STDOUT_FILENO) == 1;
    if (!settings_.is_quiet && !shares_terminal && Console::is_terminal()) {
      bar.emplace(console_,
                  [this](std::size_t columns) { return progress_text(progress(), columns); });
    }
    wait_for_producers();
    close();
  }
  ended_at_ = steady_clock().now();
  return summarise();
}

bool Ingest::open() {
  if (sink_ != nullptr) return true;
  try {
    sink_ = open_sink(settings_.sink, settings_.sink_settings, control_);
    return true;
  } catch (const std::exception& error) {
    if (control_.signal() == 0) {
      report_error(failure_text(error));
    } else {
      console_.say(failure_text(error));  // not an error: what we were told to do
    }
    return false;
  }
}

// Where no thread or no memory is left, that is an error like that of a sink: it is in the summary.
bool Ingest::start() {
  try {
    make_parts();
    return true;
  } catch (const std::exception& error) {
    report_error(failure_text(error));
    return false;
  }
}

void Ingest::make_parts() {
  const auto report = [this](const std::string& message) { report_error(message); };
  const auto note = [this](const std::string& message) { console_.say(message); };
  writer_ = std::make_unique<BatchWriter>(*sink_, control_, report);
  buffer_ = tuning::starting(tuning::buffer_text(settings_.buffer.partitions), [this] {
    return std::make_unique<Buffer<Line>>(
        settings_.buffer, [this](std::span<Line> lines) { return writer_->write(lines); });
  });

  started_at_ = steady_clock().now();
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = settings_.producers == 0 ? cores : settings_.producers;
  const ReaderContext reader{memory_, control_,
                             std::min(settings_.max_line_bytes, sink_->max_line_bytes()),
                             [this] { buffer_->flush(); }};
  producers_ = std::make_unique<Producers>(
      ProducerContext{sources_, *buffer_, sink_->file_id(), control_, reader, report, note},
      wanted);
}

// Until all is read. Once the run is to stop, what is under way may take as long as a close.
void Ingest::wait_for_producers() {
  if (producers_->wait_until(TimePoint::max(), control_.stopping())) return;
  const TimePoint deadline = deadline_after(steady_clock().now(), settings_.buffer.close_timeout);
  producers_->wait_until(deadline, control_.aborting());
}

// On a thread of its own, so that an abort can end the wait for it. Without one, we wait as long as
// it takes.
void Ingest::close() {
  try {
    closer_ = std::thread([this] { end_all(); });
  } catch (const std::exception&) {
    end_all();
  }
  bool has_ended = false;
  {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return has_ended_; };
    has_ended = changed_.wait(lock, control_.aborting(), ended) ||
                changed_.wait_for(lock, kAbortGrace, ended);
  }
  is_stuck_ = !has_ended || buffer_->ledger().in_flight != 0;
  if (is_stuck_) producers_->abandon();
  if (!closer_.joinable()) return;
  if (is_stuck_) {
    closer_.detach();
  } else {
    closer_.join();
  }
}

// Closing the buffer stores what is in it, and releases producers that still wait in an insert;
// after an abort every batch fails at once.
void Ingest::end_all() {
  const CloseReport report = buffer_->close(settings_.buffer.close_timeout);
  producers_->wait_until(TimePoint::max(), {});
  if (report.status != CallStatus::kDone && !control_.is_aborting()) {
    report_error("--close-timeout " + format_duration(settings_.buffer.close_timeout) +
                 " passed before everything was stored");
  }
  const bool may_finish =
      report.in_flight == 0 && !writer_->has_failed() && !control_.is_aborting();
  if (may_finish) {
    try {
      sink_->finish();
    } catch (const std::exception& error) {
      report_error(failure_text(error));
    }
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

Progress Ingest::progress() const {
  return {.lines = producers_->lines(),
          .bytes = producers_->bytes(),
          .total_bytes = total_bytes_,
          .elapsed = steady_clock().now() - started_at_};
}

Summary Ingest::summarise() const {
  Summary summary;
  summary.signal = control_.signal();
  summary.is_aborted = control_.is_aborting();
  summary.seconds = std::chrono::duration<double>(ended_at_ - started_at_).count();
  if (producers_ != nullptr) {
    summary.lines = producers_->lines();
    summary.not_accepted = producers_->not_accepted();
    summary.sources = producers_->summaries();
    const Ledger ledger = buffer_->ledger();
    summary.accepted = ledger.accepted;
    summary.flushed = ledger.flushed;
    summary.refused_full = ledger.refused_full;
    summary.refused_timed_out = ledger.refused_timed_out;
    summary.refused_closed = ledger.refused_closed;
    summary.refused_no_memory = ledger.refused_no_memory;
    // Only of a stuck run: what a handler still has, and what was still waiting behind it.
    summary.uncertain = ledger.in_flight;
    summary.failed = ledger.failed + ledger.in_flight;
    summary.dropped = ledger.dropped() + ledger.pending;
    for (const PartitionInfo& partition : buffer_->info()) summary.batches += partition.batches;
  }
  const std::lock_guard lock(mutex_);
  summary.errors = errors_;
  return summary;
}

void Ingest::report_error(const std::string& message) {
  console_.say(message);
  const std::lock_guard lock(mutex_);
  errors_.push_back(message);
}

}  // namespace databuffer::tools
