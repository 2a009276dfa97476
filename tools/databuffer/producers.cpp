#include "tools/databuffer/producers.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "databuffer/detail/assert.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/tuning/starting.hpp"

namespace databuffer::tools {

namespace {

void refuse_output(const FileDescriptor& input, const std::optional<FileId>& output) {
  struct stat status {};
  if (!output.has_value() || ::fstat(input.get(), &status) != 0) return;
  if (FileId{status.st_dev, status.st_ino} == *output) {
    throw ReadError("it is what the lines are written to");
  }
}

}  // namespace

Producers::Producers(ProducerContext context, std::size_t file_reader_count)
    : context_(std::move(context)), summaries_(context_.sources.size()) {
  for (std::size_t index = 0; index < summaries_.size(); ++index) {
    summaries_[index].name = context_.sources[index].name;
    order_.push_back(index);
  }
  const auto files = std::stable_partition(order_.begin(), order_.end(), [this](std::size_t index) {
    return may_wait(context_.sources[index].name);
  });
  waiting_count_ = static_cast<std::size_t>(files - order_.begin());
  const std::size_t file_count = order_.size() - waiting_count_;
  const std::size_t thread_count = waiting_count_ + std::min(file_reader_count, file_count);
  threads_.reserve(thread_count);
  const std::lock_guard lock(mutex_);
  for (; running_ < thread_count; ++running_) {
    try {
      tuning::starting("a thread that reads",
                       [this] { return threads_.emplace_back([this] { run(); }).get_id(); });
    } catch (const std::exception&) {
      // The system allows no more threads. Fewer do the same, more slowly.
      if (running_ == 0) throw;
      break;
    }
  }
  missing_threads_ = thread_count - running_;
  if (running_ >= waiting_count_) return;
  context_.report_note("only " + std::to_string(running_) + " threads could be started for " +
                       std::to_string(waiting_count_) +
                       " inputs that wait for their writers: some are read later");
}

Producers::~Producers() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool Producers::wait_until(TimePoint deadline, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return done_.wait_until(lock, stop, deadline, [this] { return running_ == 0; });
}

void Producers::abandon() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.detach();
  }
}

// relaxed, here and below: statistics; whoever needs them exact has waited for the threads.
std::uint64_t Producers::lines() const noexcept { return lines_.load(std::memory_order_relaxed); }
std::uint64_t Producers::not_accepted() const noexcept {
  return not_accepted_.load(std::memory_order_relaxed);
}
std::uint64_t Producers::bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

std::vector<SourceSummary> Producers::summaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<SourceSummary> copy = summaries_;
  for (std::size_t index = 0; index < copy.size(); ++index) {
    copy[index].stored_up_to = context_.sources[index].stored_up_to.load(std::memory_order_relaxed);
  }
  return copy;
}

void Producers::run() {
  while (!context_.control.is_stopping()) {
    // relaxed: each place is drawn once, whatever the order.
    const std::size_t place = next_place_.fetch_add(1, std::memory_order_relaxed);
    if (place >= order_.size()) break;
    read_source(order_[place]);
    if (place < waiting_count_ && !replaces_missing_thread()) break;
  }
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) done_.notify_all();
}

// After its input a thread of its own ends, so that no more threads read files than were asked for;
// unless one that should read them could not be started.
bool Producers::replaces_missing_thread() {
  const std::lock_guard lock(mutex_);
  if (missing_threads_ == 0) return false;
  --missing_threads_;
  return true;
}

void Producers::read_source(std::size_t source_index) {
  Tally tally;
  bool is_complete = false;
  std::string error;
  try {
    is_complete = read_lines(source_index, tally);
  } catch (const std::exception& exception) {
    error = report(source_index, exception);
  }
  publish(source_index, tally);
  const std::lock_guard lock(mutex_);
  summaries_[source_index].is_complete = is_complete;
  summaries_[source_index].error = std::move(error);
}

std::string Producers::report(std::size_t source_index, const std::exception& exception) {
  try {
    std::string error = context_.sources[source_index].name + ": " + failure_text(exception);
    context_.report_error(error);
    return error;
  } catch (const std::bad_alloc&) {
    std::string error = "out of memory";  // short enough to need none
    context_.report_error(error);
    return error;
  }
}

// Returns whether the source was read to its end. `tally` is right even after an exception.
bool Producers::read_lines(std::size_t source_index, Tally& tally) {
  Source& source = context_.sources[source_index];
  FileDescriptor input = open_input(source.name);
  refuse_output(input, context_.output);
  LineReader reader(std::move(input), source, context_.reader);
  std::uint64_t bytes_published = 0;
  Line line;
  while (reader.fill()) {
    while (reader.next(line)) {
      if (reader.is_rereadable() && context_.control.is_stopping()) return false;
      insert(source_index, line, tally);
    }
    tally.bytes += reader.bytes_read() - std::exchange(bytes_published, reader.bytes_read());
    publish(source_index, tally);
  }
  if (reader.is_at_end()) return true;
  if (reader.is_rereadable() || !reader.next_cut_line(line)) return false;
  context_.report_note(source.name + ": cut in the middle of line " +
                       std::to_string(line.number()) + ", of which " +
                       std::to_string(line.text().size()) + " bytes had arrived");
  insert(source_index, line, tally);
  return false;
}

void Producers::insert(std::size_t source_index, Line& line, Tally& tally) {
  ++tally.lines;
  switch (context_.buffer.insert_keyed(source_index, std::move(line))) {
    case InsertStatus::kAccepted:
    case InsertStatus::kDropped:  // counted by the buffer
      break;
    case InsertStatus::kFull:
    case InsertStatus::kTimedOut:
    case InsertStatus::kClosed:
      ++tally.not_accepted;
      break;
    case InsertStatus::kNoMemory:
      ++tally.not_accepted;
      if (!context_.control.is_stopping()) context_.report_error("out of memory: stops reading");
      context_.control.stop();
      break;
  }
}

void Producers::publish(std::size_t source_index, Tally& tally) {
  lines_.fetch_add(tally.lines, std::memory_order_relaxed);
  not_accepted_.fetch_add(tally.not_accepted, std::memory_order_relaxed);
  bytes_.fetch_add(tally.bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  summaries_[source_index].lines += tally.lines;
  tally = {};
}

}  // namespace databuffer::tools
