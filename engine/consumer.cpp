#include "engine/consumer.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "engine/buffer_core.hpp"

namespace databuffer::detail {
namespace {

// When there is no memory for a batch, a producer is still inside at close, or another thread has
// the turn, look again so soon.
constexpr Duration kRetrySoon = std::chrono::milliseconds{1};

}  // namespace

Consumer::Consumer(BufferCore& buffer, Partition& partition, std::uint64_t seed)
    : buffer_(buffer),
      partition_(partition),
      call_(buffer.now()),
      flusher_(buffer, partition, call_, partition.lane->make_cargo(), ~seed),
      schedule_(buffer.options(), seed),
      empty_at_(buffer.now()),
      rate_since_(empty_at_) {}

void Consumer::run() {
  for (;;) {
    const TimePoint now = buffer_.now();
    const TimePoint next = do_work(now);
    if (is_disowned() || buffer_.is_forked()) return;
    if (is_retired()) {
      // The partition and its doorbell are another's; what is left of the batch is ours.
      if (!flusher_.has_batch()) return;
      continue;
    }
    if (partition_.is_finished()) return;
    if (next > now) wait(next, now);
  }
}

void Consumer::end() noexcept {
  handler_.reset();
  if (!flusher_.has_batch()) flusher_.cargo().free_storage();
}

TimePoint Consumer::do_work(TimePoint now) {
  const RoleFrame role(buffer_);
  const bool is_over = partition_.is_finished() && !flusher_.has_batch();
  has_missed_turn_ = false;
  TimePoint next = is_over ? TimePoint::max() : step(now);
  if (is_disowned()) return next;
  if (has_missed_turn_) next = std::min(next, deadline_after(now, kRetrySoon));
  // relaxed, all: hints for a poller, who asks again.
  next_.store(next.time_since_epoch(), std::memory_order_relaxed);
  has_batch_.store(flusher_.has_batch(), std::memory_order_relaxed);
  next_limit_.store(schedule_.is_started() ? schedule_.limit() : 1, std::memory_order_relaxed);
  publish_ages(now);
  return next;
}

TimePoint Consumer::next_deadline(TimePoint now) const noexcept {
  // relaxed, all: hints, see do_work().
  const TimePoint next(next_.load(std::memory_order_relaxed));
  const TimePoint at_once = std::min(now, next);  // The clock may have passed `next` long ago.
  if (partition_.is_closing.load(std::memory_order_relaxed)) {
    return partition_.is_finished() ? next : at_once;
  }
  if (has_batch_.load(std::memory_order_relaxed)) return next;  // Nothing else is done before it.
  const bool has_news = partition_.requests.is_open() ||
                        partition_.pending() >= next_limit_.load(std::memory_order_relaxed) ||
                        partition_.weight_gate.is_due();
  return has_news ? at_once : next;
}

TimePoint Consumer::step(TimePoint now) {
  // Before the count: what was inserted before a request was asked is in it.
  const std::uint64_t asked = partition_.requests.asked();
  // acquire: pairs with close: no insert begins any more, and those inside are marked.
  const bool is_closing = partition_.is_closing.load(std::memory_order_acquire);
  if (is_closing) buffer_.give_up_if_left_alone();
  if (buffer_.has_given_up()) return give_up();
  if (partition_.drain.has_departed() && !is_retired()) forget_departed();
  if (flusher_.has_batch()) {  // … to be tried again.
    const TimePoint next = due(is_closing);
    return now < next ? next : deliver(now);
  }
  const bool has_producer_inside = is_closing && partition_.drain.has_producer_inside();
  const std::size_t pending = partition_.pending_here();

  if (pending == 0) {
    partition_.requests.complete(asked);
    if (is_closing && !has_producer_inside) return finish();
    empty_at_ = now;
    return is_closing ? deadline_after(now, kRetrySoon) : rest(now);
  }
  if (!schedule_.is_started()) notice_first_item(now);
  if (const auto reason = due_reason(pending, now)) return flush_batch(*reason, now);
  return schedule_.deadline();
}

// At every step: producers end also while a batch waits for its retry, or items for their deadline.
void Consumer::forget_departed() noexcept {
  const std::uint64_t departures = partition_.drain.departures();
  // relaxed: written under the turn; a look that comes too early is made again.
  const std::uint64_t removed = partition_.counts.removed.load(std::memory_order_relaxed);
  // Nobody has departed since, and none has become empty.
  if (departures == departures_seen_ && removed == removed_seen_) return;
  const std::optional<std::size_t> forgotten = partition_.forget_departed(buffer_);
  has_missed_turn_ = !forgotten;
  if (!forgotten) return;
  departures_seen_ = departures;
  removed_seen_ = removed;
  if (*forgotten > 0) buffer_.seats().trim();  // Others have waited for these to go.
}

bool Consumer::retire(std::uint64_t batch_id) {
  return call_.retire(batch_id, [this] { held_ = partition_.requests.hold(); });
}

std::optional<FlushReason> Consumer::due_reason(std::size_t pending, TimePoint now) const {
  if (pending >= schedule_.limit() || partition_.weight_gate.is_due()) return FlushReason::kSize;
  // relaxed: step() has read it; here it only names the reason.
  if (partition_.is_closing.load(std::memory_order_relaxed)) return FlushReason::kClose;
  if (partition_.requests.is_open()) return FlushReason::kManual;
  if (now >= schedule_.deadline()) return FlushReason::kInterval;
  return std::nullopt;
}

// When the next call with the batch under way is due.
TimePoint Consumer::due(bool is_closing) const noexcept {
  return is_closing ? flusher_.due_while_closing(buffer_.close_until()) : flusher_.due();
}

// Closed, and nothing is left.
TimePoint Consumer::finish() {
  disarm();
  partition_.finish();
  // Whoever asks from now on has nothing to wait for.
  partition_.requests.complete(std::numeric_limits<std::uint64_t>::max());
  buffer_.notice_finished();
  return TimePoint::max();
}

// close() has reached its deadline. Its thread takes what is pending; the batch under way is ours.
TimePoint Consumer::give_up() {
  if (flusher_.has_batch()) {
    flusher_.give_up_rest();
    if (is_retired()) buffer_.end_abandoned(partition_, held_);
  }
  if (is_retired()) return TimePoint::max();
  buffer_.sweep(partition_);
  return finish();
}

// Nothing is pending: have the first item ring, which also says when it came.
TimePoint Consumer::rest(TimePoint now) {
  if (schedule_.is_started()) schedule_.next_batch();  // take() emptied it.
  if (!is_armed_for(1) && !keeps_looking(now)) {
    disarm();
    arm(1);
    if (armed_for_ == 0) return now;  // One came in.
  }
  return TimePoint::max();
}

TimePoint Consumer::flush_batch(FlushReason reason, TimePoint now) {
  disarm();
  if (!reserve_batch()) {
    is_short_of_memory_ = true;
    return deadline_after(now, kRetrySoon);
  }
  const bool has_gathered = gather(reason, now);
  if (buffer_.is_forked()) return TimePoint::max();  // An item's code forked: see Flusher::step().
  if (!has_gathered) {
    schedule_.next_batch();  // take() was faster.
    partition_.requests.complete(covered_);
    return now;
  }
  return deliver(now);
}

// A smaller batch does as well. Returns whether there is memory for any.
bool Consumer::reserve_batch() noexcept {
  Cargo& cargo = flusher_.cargo();
  std::size_t items = std::min(schedule_.limit(), partition_.pending_here());
  for (;; items /= 2) {
    try {
      cargo.reserve(items);
      return true;
    } catch (const std::bad_alloc&) {
      if (cargo.room() > 0) return true;
      if (items <= 1) return false;
    }
  }
}

// Moves the next batch out of the partition. Returns whether there was one.
bool Consumer::gather(FlushReason reason, TimePoint now) {
  partition_.weight_gate.forget_demand();  // Whoever finds no room from here on demands anew.
  const TimePoint gathered_before = gathered_at_;
  TimePoint since{};
  {
    partition_.turn.acquire();
    const Turn::Holder holder(partition_.turn, buffer_);
    const std::uint64_t passes_before = partition_.drain.passes();
    const Drain::Taken taken =
        partition_.drain.take(schedule_.limit(), buffer_.options().max_bytes, flusher_.cargo());
    covered_ = partition_.drain.covered();
    since = left_behind_since(passes_before, now);
    // relaxed: remove() publishes it: who sees the items gone sees them in flight.
    partition_.counts.in_flight.fetch_add(taken.items, std::memory_order_relaxed);
    buffer_.remove(partition_, taken);
  }
  if (flusher_.cargo().size() == 0) return false;

  const std::size_t left_behind = partition_.pending_here();
  if (reason == FlushReason::kSize && now <= deadline_after(gathered_before, kHotFill)) {
    hot_until_ = deadline_after(now, kStaysHot);
  }
  flusher_.begin({reason, left_behind, schedule_.first()}, now);
  schedule_.next_batch();
  observe_rate(now);
  if (left_behind > 0) {
    schedule_.start(since);
  } else {
    empty_at_ = now;
    // While the handler runs the first item of the next batch says when it came; unless they pour
    // in, when each batch would pay for it and be full before its deadline matters. That is known
    // of short calls only: behind a long one the producers may have ceased.
    const bool is_soon_full = time_to_fill() <= kHotFill && flusher_.last_call() <= kHotFill &&
                              buffer_.options().threading == Threading::kOwn;
    if (!is_soon_full) arm(1);
  }
  publish_ages(now);  // The handler call may take long.
  return true;
}

// A time that what a batch leaves behind came after, so that it waits for its interval at most,
// however late the batch was: when the last pass began of which nothing is left.
TimePoint Consumer::left_behind_since(std::uint64_t passes_before, TimePoint now) noexcept {
  note_pass(passes_before, gathered_at_);  // By dump() or take(), since the last batch.
  note_pass(partition_.drain.passes(), now);
  gathered_at_ = now;
  TimePoint since = schedule_.first();
  const std::uint64_t left = partition_.drain.passes_left();
  if (left < passes_began_.size()) since = std::max(since, passes_began_[left]);
  return std::min(since, now);
}

void Consumer::note_pass(std::uint64_t passes, TimePoint began) noexcept {
  if (passes == passes_) return;
  passes_began_[1] = passes == passes_ + 1 ? passes_began_[0] : began;
  passes_began_[0] = began;
  passes_ = passes;
}

// One handler call for the batch under way.
TimePoint Consumer::deliver(TimePoint now) {
  flusher_.step(*handler_, now);
  if (is_disowned() || buffer_.is_forked()) return TimePoint::max();
  if (flusher_.has_batch()) {
    // relaxed: step() reads it again; here it only shortens a pause.
    return std::max(now, due(partition_.is_closing.load(std::memory_order_relaxed)));
  }
  if (is_retired()) buffer_.end_abandoned(partition_, held_);
  partition_.requests.complete(covered_);
  return now;
}

// The doorbell knows when the first item came. Without it, it came after the last empty look: that
// time is taken, so that an item may wait a moment less than its interval, but not more.
void Consumer::notice_first_item(TimePoint now) noexcept {
  TimePoint first = empty_at_;
  if (armed_for_ == 1) {
    const Duration rung_at = partition_.doorbell.take_rung_at();
    first = rung_at == Doorbell::kNoTime ? now : std::max(TimePoint(rung_at), empty_at_);
    disarm();
  }
  schedule_.start(std::min(first, now));
}

bool Consumer::is_armed_for(std::size_t threshold) const noexcept {
  return armed_for_ == threshold && partition_.doorbell.is_armed();
}

void Consumer::arm(std::size_t threshold) noexcept {
  if (partition_.doorbell.arm(threshold, [this] { return partition_.pending_here(); })) {
    armed_for_ = threshold;
  }
}

void Consumer::disarm() noexcept {
  if (armed_for_ == 0) return;
  partition_.doorbell.disarm();
  armed_for_ = 0;
}

}  // namespace databuffer::detail
