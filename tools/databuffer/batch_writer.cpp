#include "tools/databuffer/batch_writer.hpp"

#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "tools/databuffer/console.hpp"

namespace databuffer::tools {

BatchWriter::BatchWriter(Sink& sink, RunControl& control,
                         std::function<void(const std::string&)> on_failure)
    : sink_(sink), control_(control), on_failure_(std::move(on_failure)) {}

FlushResult BatchWriter::write(std::span<Line> lines) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return FlushResult::failed(failure_);
  if (control_.is_aborting()) {
    failure_ = "interrupted";
    return FlushResult::failed(failure_);
  }
  try {
    sink_.write(lines);
  } catch (const std::exception& error) {
    note_failure(error);
    return FlushResult::failed(failure_);
  }
  // relaxed: a number to report; it publishes nothing.
  for (const Line& line : lines) {
    line.source().stored_up_to.store(line.number(), std::memory_order_relaxed);
  }
  return FlushResult::ok();
}

// Also without memory for more than the fact: no later batch may be tried.
void BatchWriter::note_failure(const std::exception& error) {
  failure_ = "it has failed";
  try {
    failure_ = failure_text(error);
    on_failure_(failure_);
  } catch (const std::bad_alloc&) {
  }
  control_.stop();
}

bool BatchWriter::has_failed() {
  const std::lock_guard lock(mutex_);
  return !failure_.empty();
}

}  // namespace databuffer::tools
