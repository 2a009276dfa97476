#include "engine/flusher.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "databuffer/detail/forced_unwind.hpp"
#include "engine/buffer_core.hpp"
#include "engine/partition.hpp"

namespace databuffer::detail {
namespace {

// A pause that is cut short while the buffer closes is no shorter than this.
constexpr Duration kShortestCut = std::chrono::milliseconds{1};

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

Flusher::Flusher(BufferCore& buffer, Partition& partition, HandlerCall& call,
                 std::unique_ptr<Cargo> cargo, std::uint64_t seed)
    : buffer_(buffer),
      partition_(partition),
      call_(call),
      cargo_(std::move(cargo)),
      backoff_(buffer.options().retry, seed) {
  // Halving keeps at most one half for each bit of the size, and the one in hand.
  ranges_.reserve(8 * sizeof(std::size_t) + 1);
}

void Flusher::begin(const Batch& batch, TimePoint now) {
  DATABUFFER_ASSERT(!has_batch() && cargo_->size() > 0);
  batch_ = batch;
  batch_id_ = partition_.next_batch_id();
  attempt_ = 0;
  began_ = due_ = paused_at_ = now;
  is_halving_ = false;
  items_ = cargo_->size();
  failed_items_ = 0;
  failure_ = FlushResult::ok();
  answer_ = FlushResult::ok();
  ranges_.push_back({0, items_});
}

TimePoint Flusher::due_while_closing(TimePoint deadline) const noexcept {
  const Clock* const clock = buffer_.options().clock;
  if (clock != nullptr && clock != &steady_clock()) return TimePoint::min();
  if (deadline == TimePoint::max()) return due_;
  // Not ever faster towards the deadline, or all attempts would be spent in its last moment.
  return std::min(due_, paused_at_ + std::max((deadline - paused_at_) / 2, kShortestCut));
}

void Flusher::step(Handler& handler, TimePoint now) {
  DATABUFFER_ASSERT(has_batch());
  const Range range = ranges_.back();
  bool is_taken = false;
  std::optional<FlushResult> result = call(handler, range, now, is_taken);
  // The handler forked, and returned in the child as well: the batch is the parent's, and so are
  // the locks.
  if (buffer_.is_forked()) return;
  if (is_disowned_) return discard();
  if (!result) return give_up_rest();
  ranges_.pop_back();
  if (result->is_ok()) {
    count_flushed(range.count);
  } else if (is_taken) {  // What it named counts, but can neither be dropped nor tried again.
    put_in_order(*result, range.count);
    const std::size_t named = result->items_.size();
    const std::size_t failed = named == 0 ? range.count : named;
    count_flushed(range.count - failed);
    count_failed(failed, *result);
  } else {
    handle_failure(range, *result);
  }
  if (!has_batch()) end_batch(std::move(*result));
  // release: pairs with is_idle(): a sync_flush that finds nothing in flight has the result.
  partition_.counts.in_flight.fetch_sub(std::exchange(ended_items_, 0), std::memory_order_release);
}

// What failed is tried again, halved, or given up; what the result says of single items is done
// first.
void Flusher::handle_failure(Range range, FlushResult& result) noexcept {
  const ItemResults named = settle_items(result, range);
  if (range.count == 0) return;
  const TimePoint now = buffer_.now();
  const bool may_go_on = !call_.is_retired();  // Another consumer calls handlers by now.
  if (may_go_on && !is_halving_ && schedule_retry(result, now)) {
    answer_ = std::move(result);
    ranges_.push_back(range);
  } else if (may_go_on && buffer_.options().retry.isolate && range.count > 1) {
    is_halving_ = true;
    answer_ = std::move(result);
    due_ = now;
    const std::size_t half = range.count / 2;
    ranges_.push_back({range.first + half, range.count - half});
    ranges_.push_back({range.first, half});
  } else {
    const bool is_final = result.status() == FlushStatus::kFailed;
    give_up(range, result, is_final ? LastAnswer::kRejected : LastAnswer::kExhausted, named);
  }
}

void Flusher::give_up_rest() noexcept {
  const BufferCore::Sweeper sweeper(buffer_);
  std::size_t left = 0;
  for (const Range& range : ranges_) left += range.count;
  failed_items_ += left;
  if (failure_.is_ok()) failure_ = FlushResult::failed({});
  tell_requests(std::move(failure_));
  while (!ranges_.empty()) {
    const Range range = ranges_.back();
    ranges_.pop_back();
    DropInfo info;
    info.batch_id = batch_id_;
    info.error = answer_.message();
    info.attempts = attempt_;
    if (attempt_ > 0) info.last_answer = LastAnswer::kGivenUp;
    // What is left after it are the items that it named to be tried again; they are its last.
    if (!is_halving_ && !answer_.items().empty()) {
      info.items = ItemResults(answer_.items()).last(range.count);
    }
    // release: as in step(). Range by range, so that an on_drop sees a ledger that balances.
    partition_.counts.in_flight.fetch_sub(range.count, std::memory_order_release);
    buffer_.give_up(partition_, cargo_->at(range.first), range.count, info);
  }
  cargo_->clear();
  failure_ = FlushResult::ok();
}

// Nobody is left to be told.
void Flusher::discard() noexcept {
  ranges_.clear();
  cargo_->clear();
}

// One call. Nothing if close() has given up before the handler was entered, or if the buffer went
// away while it was inside.
std::optional<FlushResult> Flusher::call(Handler& handler, const Range& range, TimePoint now,
                                         bool& is_taken) {
  if (std::exchange(has_lost_thread_, false)) {
    is_taken = had_taken_;
    TelemetryEvent event = event_of(range, now);
    FlushResult result = failure_of_call("the handler ended its thread");
    conclude(event, result);
    return result;
  }
  if (buffer_.has_given_up()) return std::nullopt;
  FlushContext context;
  context.buffer = buffer_.options().name;
  context.partition = partition_.name;
  context.partition_index = partition_.index;
  context.size = range.count;
  context.reason = batch_.reason;
  context.batch_id = batch_id_;
  context.attempt = ++attempt_;
  context.waiting_behind = batch_.waiting_behind;
  context.meta = &buffer_.options().flush_meta;
  // relaxed: a statistic
  if (attempt_ > 1) partition_.counts.retries.fetch_add(1, std::memory_order_relaxed);

  TelemetryEvent event = event_of(range, now);
  tell(event);
  if (buffer_.is_forked()) return std::nullopt;
  std::optional<std::stop_token> token = call_.begin(buffer_.now(), batch_id_, context.size);
  if (!token) {  // The deadline of close() came this moment.
    event.event = Event::kFlushException;
    --attempt_;
    event.error = "close() gave up";
    tell(event);
    return std::nullopt;
  }
  context.stop_token = *std::move(token);
  buffer_.notice_call();
  FlushResult result = call_handler(handler, range, context, is_taken);
  if (buffer_.is_forked()) return result;
  is_disowned_ = !call_.leave();
  if (is_disowned_) return std::nullopt;
  conclude(event, result);
  return result;
}

// The call has returned, or its thread is gone.
void Flusher::conclude(TelemetryEvent& event, const FlushResult& result) noexcept {
  const TimePoint ended = buffer_.now();
  HandlerCall::Overdue overdue;
  // Where no thread watches (kManual) an overdue call is found when it returns.
  if (call_.report_overdue(ended, buffer_.options().flush_timeout, overdue)) {
    buffer_.report_overdue(partition_.index, overdue);
  }
  event.duration = last_call_ = call_.end(ended).duration;
  event.event = result.is_ok() ? Event::kFlushStop : Event::kFlushException;
  event.error = result.message();
  tell(event);
}

TelemetryEvent Flusher::event_of(const Range& range, TimePoint now) const noexcept {
  TelemetryEvent event;
  event.event = Event::kFlushStart;
  event.size = range.count;
  event.waiting_behind = batch_.waiting_behind;
  event.age = std::max(Duration::zero(), now - batch_.first);
  event.partition_index = partition_.index;
  event.batch_id = batch_id_;
  event.attempt = attempt_;
  event.reason = batch_.reason;
  return event;
}

// noexcept: a hook may not end this thread (README, "Limits").
void Flusher::tell(TelemetryEvent& event) noexcept { buffer_.emit(event); }

FlushResult Flusher::call_handler(Handler& handler, const Range& range, const FlushContext& context,
                                  bool& is_taken) {
  try {
    return handler.flush(*cargo_, range.first, range.count, context, is_taken);
  } catch (const ForcedUnwind&) {
    if (buffer_.is_forked()) throw;
    is_disowned_ = !call_.leave();
    has_lost_thread_ = true;
    had_taken_ = is_taken;
    throw;
  } catch (...) {
    return failure_of_call(describe_current_exception());
  }
}

FlushResult Flusher::failure_of_call(std::string what) const noexcept {
  return buffer_.options().retry.on_exception ? FlushResult::retry(std::move(what))
                                              : FlushResult::failed(std::move(what));
}

// Whether the batch is to be tried again; then due_ says when.
bool Flusher::schedule_retry(const FlushResult& result, TimePoint now) noexcept {
  const Retry& retry = buffer_.options().retry;
  if (result.status() != FlushStatus::kRetry || attempt_ >= retry.attempts) return false;
  const Duration pause = std::max(backoff_.draw(attempt_), result.retry_after());
  const TimePoint due = deadline_after(now, pause);
  if (retry.total_time != kForever && due > deadline_after(began_, retry.total_time)) return false;
  due_ = due;
  paused_at_ = now;
  return true;
}

// What the result names: those not named are done, those that failed are given up, and the range
// shrinks to those to be tried again, of which the result's words are returned.
// Goes on without memory, too.
Flusher::ItemResults Flusher::settle_items(FlushResult& result, Range& range) noexcept {
  put_in_order(result, range.count);
  std::vector<ItemResult>& named = result.items_;
  if (named.empty()) return {};
  for (std::size_t place = 0; place < named.size(); ++place) {
    cargo_->replace(range.first + place, range.first + named[place].index);
  }
  count_flushed(range.count - named.size());
  range.count = 0;
  for (std::size_t begin = 0, end = 0; begin < named.size(); begin = end) {
    while (end < named.size() && named[end].status == named[begin].status) ++end;
    if (named[begin].status == FlushStatus::kFailed) {
      give_up({range.first + begin, end - begin}, result, LastAnswer::kRejected,
              ItemResults(named).subspan(begin, end - begin));
    } else {
      for (std::size_t place = begin; place < end; ++place) {
        cargo_->replace(range.first + range.count++, range.first + place);
      }
    }
  }
  std::stable_partition(named.begin(), named.end(),
                        [](const ItemResult& item) { return item.status == FlushStatus::kFailed; });
  return ItemResults(named).last(range.count);
}

// Leaves the items that are named and not done: in range, in order, each once, by the first word
// about it.
void Flusher::put_in_order(FlushResult& result, std::size_t count) noexcept {
  std::vector<ItemResult>& named = result.items_;
  std::erase_if(named, [count](const ItemResult& item) {
    return item.index >= count || item.status == FlushStatus::kOk;
  });
  std::stable_sort(named.begin(), named.end(), [](const ItemResult& left, const ItemResult& right) {
    return left.index < right.index;
  });
  named.erase(std::unique(named.begin(), named.end(),
                          [](const ItemResult& left, const ItemResult& right) {
                            return left.index == right.index;
                          }),
              named.end());
}

// relaxed, here and below: see ItemCounts. An end goes up before in_flight goes down (in step()),
// so that sync_flush's look at an idle partition (BufferCore::is_idle) misses none.
void Flusher::count_flushed(std::size_t items) noexcept {
  partition_.counts.flushed.fetch_add(items, std::memory_order_relaxed);
  ended_items_ += items;
}

void Flusher::give_up(const Range& range, const FlushResult& result, LastAnswer answer,
                      ItemResults items) noexcept {
  DropInfo info;
  info.reason = DropReason::kFailed;
  info.batch_id = batch_id_;
  info.error = result.message();
  info.last_answer = answer;
  info.attempts = attempt_;
  info.items = items;
  buffer_.drop(partition_, cargo_->at(range.first), range.count, info);
  count_failed(range.count, result);
}

void Flusher::count_failed(std::size_t items, const FlushResult& result) noexcept {
  if (failure_.is_ok()) {
    try {
      failure_ = result;
    } catch (...) {  // No memory, or a value that does not copy: the status is what counts.
      failure_ = FlushResult::failed({});
    }
  }
  failed_items_ += items;
  partition_.counts.failed.fetch_add(items, std::memory_order_relaxed);  // as count_flushed()
  ended_items_ += items;
  keep_error(result.message());
}

void Flusher::end_batch(FlushResult result) noexcept {
  cargo_->clear();
  ItemCounts& counts = partition_.counts;
  // relaxed, both: statistics
  if (failed_items_ > 0) counts.failed_batches.fetch_add(1, std::memory_order_relaxed);
  counts.batches.fetch_add(1, std::memory_order_relaxed);
  tell_requests(failed_items_ > 0 ? std::move(failure_) : std::move(result));
  failure_ = FlushResult::ok();
}

void Flusher::tell_requests(FlushResult result) noexcept {
  try {
    partition_.requests.add_batch(items_, failed_items_, std::move(result));
  } catch (const std::bad_alloc&) {
    buffer_.count_hook_failure();  // The waiting sync_flush gets its status without the result.
  }
}

void Flusher::keep_error(const std::string& message) noexcept {
  try {
    const MutexLock lock(error_mutex_);
    last_error_ = message;
  } catch (const std::bad_alloc&) {
    buffer_.count_hook_failure();  // info() shows the error before this one.
  }
}

std::string Flusher::last_error() const {
  const MutexLock lock(error_mutex_);
  return last_error_;
}

}  // namespace databuffer::detail
