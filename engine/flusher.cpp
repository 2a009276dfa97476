#include "engine/flusher.hpp"

#include <exception>
#include <new>
#include <utility>

#include "engine/buffer_core.hpp"
#include "engine/partition.hpp"

namespace databuffer::detail {
namespace {

// What an exception says; it may throw while it says it.
std::string describe_current_exception() noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "an exception that is not a std::exception";
    }
  } catch (...) {
    return {};  // what() threw, or there is no memory for the text.
  }
}

}  // namespace

void Flusher::run(Handler& handler, Cargo& cargo, const Batch& batch) noexcept {
  FlushContext context;
  context.buffer = buffer_.options().name;
  context.partition = partition_.name;
  context.partition_index = partition_.index;
  context.size = cargo.size();
  context.reason = batch.reason;
  context.batch_id = ++batch_id_;
  context.waiting_behind = batch.waiting_behind;
  context.meta = &buffer_.options().flush_meta;

  TelemetryEvent event;
  event.event = Event::kFlushStart;
  event.size = context.size;
  event.waiting_behind = batch.waiting_behind;
  event.age = batch.age;
  event.partition_index = partition_.index;
  event.batch_id = context.batch_id;
  event.reason = batch.reason;
  buffer_.emit(event);

  context.stop_token = call_.begin(buffer_.now(), context.batch_id, context.size);
  buffer_.notice_call();
  FlushResult result = call_handler(handler, cargo, context);
  // The handler forked, and returned in the child as well: the batch is the parent's, and so are
  // the locks.
  if (buffer_.is_forked()) return;
  const TimePoint ended = buffer_.now();
  HandlerCall::Overdue overdue;
  // Where no thread watches (kManual) an overdue call is found when it returns.
  if (call_.report_overdue(ended, buffer_.options().flush_timeout, overdue)) {
    buffer_.report_overdue(partition_.index, overdue);
  }
  event.duration = call_.end(ended).duration;
  event.event = result.is_ok() ? Event::kFlushStop : Event::kFlushException;
  event.error = result.message();
  buffer_.emit(event);
  settle(cargo, context, std::move(result));
}

FlushResult Flusher::call_handler(Handler& handler, Cargo& cargo,
                                  const FlushContext& context) noexcept {
  try {
    return handler.flush(cargo, context);
  } catch (...) {
    return FlushResult::failed(describe_current_exception());
  }
}

void Flusher::settle(Cargo& cargo, const FlushContext& context, FlushResult result) noexcept {
  ItemCounts& counts = partition_.counts;
  const std::size_t items = context.size;
  // relaxed: see ItemCounts. What ends goes up before in_flight goes down, so that sync_flush's
  // look at an idle partition (BufferCore::is_idle) never misses it: it reads in_flight with
  // acquire.
  if (result.is_ok()) {
    counts.flushed.fetch_add(items, std::memory_order_relaxed);
  } else {
    DropInfo info;
    info.partition_index = partition_.index;
    info.reason = DropReason::kFailed;
    info.batch_id = context.batch_id;
    info.error = result.message();
    buffer_.drop(partition_, cargo, info);
    counts.failed.fetch_add(items, std::memory_order_relaxed);
    counts.failed_batches.fetch_add(1, std::memory_order_relaxed);
    keep_error(result.message());
  }
  cargo.clear();
  counts.batches.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
  try {
    partition_.requests.add_batch(items, std::move(result));
  } catch (const std::bad_alloc&) {
    buffer_.count_hook_failure();  // The waiting sync_flush gets its status without the result.
  }
  // release: pairs with is_idle(): a sync_flush that finds nothing in flight has the result.
  counts.in_flight.fetch_sub(items, std::memory_order_release);
}

void Flusher::keep_error(const std::string& message) noexcept {
  try {
    const std::lock_guard lock(error_mutex_);
    last_error_ = message;
  } catch (const std::bad_alloc&) {
    buffer_.count_hook_failure();  // info() shows the error before this one.
  }
}

std::string Flusher::last_error() const {
  const std::lock_guard lock(error_mutex_);
  return last_error_;
}

}  // namespace databuffer::detail
