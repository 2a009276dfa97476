#include "reference/partition_model.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace databuffer::reference {
namespace {

Duration sum(Duration left, Duration right) {
  return left > kForever - right ? kForever : left + right;
}

TimePoint deadline_of(TimePoint from, Duration interval) {
  return interval == kForever ? TimePoint::max() : deadline_after(from, interval);
}

}  // namespace

bool PartitionModel::has_room(std::size_t weight) const {
  if (pending_.size() >= options_->effective_capacity()) return false;
  const std::size_t capacity = options_->effective_capacity_bytes();
  return capacity == 0 || weight_ == 0 || weight_ + weight <= capacity;
}

void PartitionModel::put(std::uint32_t number, std::size_t weight, TimePoint now) {
  if (!earliest_) earliest_ = now;
  pending_.push_back({number, weight, now, ++last_place_});
  weight_ += weight;
  ++ledger_.accepted;
  ++ledger_.pending;
}

PartitionModel::Entry PartitionModel::remove_front() {
  const Entry entry = pending_.front();
  pending_.pop_front();
  weight_ -= entry.weight;
  --ledger_.pending;
  return entry;
}

std::vector<std::uint32_t> PartitionModel::remove_oldest(std::size_t weight) {
  std::vector<std::uint32_t> numbers;
  while (!has_room(weight)) numbers.push_back(remove_front().number);
  return numbers;
}

std::vector<std::uint32_t> PartitionModel::remove_all() {
  std::vector<std::uint32_t> numbers;
  while (!pending_.empty()) numbers.push_back(remove_front().number);
  return numbers;
}

bool PartitionModel::is_through(std::uint64_t place) const {
  const auto is_behind = [place](const Range& range) {
    return std::all_of(range.begin(), range.end(),
                       [place](const Entry& entry) { return entry.place > place; });
  };
  return std::all_of(ranges_.begin(), ranges_.end(), is_behind) && is_behind(in_hand_) &&
         (pending_.empty() || pending_.front().place > place);
}

void PartitionModel::ask_flush() {
  is_flush_asked_ = true;
  flush_up_to_ = last_place_;
}

std::size_t PartitionModel::largest_batch() const {
  return options_->max_size + options_->max_size_jitter;
}

bool PartitionModel::is_due_by_weight() const {
  const std::size_t trip =
      options_->max_bytes != 0 ? options_->max_bytes : options_->capacity_bytes;
  return trip != 0 && weight_ >= trip;
}

bool PartitionModel::is_surely_due_by_size() const {
  return pending_.size() >= largest_batch() || is_due_by_weight();
}

bool PartitionModel::may_be_due_by_size() const {
  return pending_.size() >= options_->max_size || is_due_by_weight();
}

// Never later than the interval of the oldest item; a little earlier is allowed.
Window PartitionModel::deadline() const {
  return {deadline_of(std::min(*earliest_, pending_.front().inserted_at), options_->flush_interval),
          deadline_of(pending_.front().inserted_at,
                      sum(options_->flush_interval, options_->flush_jitter))};
}

Window PartitionModel::due(TimePoint now) const {
  if (has_batch()) return is_closing_ ? Window{now, now} : retry_due_;
  if (pending_.empty()) return {};
  const bool is_flush_due = is_flush_asked_ && pending_.front().place <= flush_up_to_;
  if (is_surely_due_by_size() || is_closing_ || is_flush_due) return {now, now};
  Window window = deadline();
  if (may_be_due_by_size() || is_flush_asked_) window.low = now;
  return window;
}

void PartitionModel::looked(bool is_exact) {
  if (has_batch() || !pending_.empty()) return;
  is_flush_asked_ = is_flush_asked_ && !is_exact;
  if (is_closing_) is_finished_ = true;
  if (is_exact) earliest_.reset();
}

void PartitionModel::date_back(TimePoint now) {
  if (earliest_) earliest_ = std::min(*earliest_, now);
}

std::string PartitionModel::check_reason(FlushReason reason, TimePoint now) const {
  const bool is_size_certain = is_surely_due_by_size();
  const bool is_flush_certain = is_flush_asked_ && pending_.front().place <= flush_up_to_;
  bool is_right = false;
  switch (reason) {
    case FlushReason::kSize:
      is_right = may_be_due_by_size();
      break;
    case FlushReason::kClose:
      is_right = is_closing_ && !is_size_certain;
      break;
    case FlushReason::kManual:
      is_right = is_flush_asked_ && !is_closing_ && !is_size_certain;
      break;
    case FlushReason::kInterval:
      is_right = now >= deadline().low && !is_closing_ && !is_size_certain && !is_flush_certain;
      break;
  }
  return is_right ? "" : "a batch for the reason " + std::string(to_string(reason));
}

std::string PartitionModel::begin_call(const std::vector<std::uint32_t>& numbers,
                                       const FlushContext& context, TimePoint work_now,
                                       TimePoint now) {
  if (is_in_call_) return "two calls at once";
  if (numbers.empty() || numbers.size() != context.size) return "a batch of another size than told";
  if (!has_batch()) {
    if (std::string wrong = gather(numbers, context, work_now); !wrong.empty()) return wrong;
  } else if (work_now < due(work_now).low) {
    return "a retry before its time";
  }
  in_hand_ = std::move(ranges_.back());
  ranges_.pop_back();
  expected_.clear();
  for (const Entry& entry : in_hand_) expected_.push_back(entry.number);
  is_in_call_ = true;
  call_began_ = now;
  if (++attempt_ > 1) ++counts_.retries;
  if (numbers != expected_) return "a batch of other items";
  if (context.batch_id != batch_id_) return "another batch id";
  if (context.attempt != attempt_) return "another attempt";
  if (context.reason != reason_) return "another reason";
  if (context.waiting_behind != waiting_behind_) return "other items waiting behind";
  return {};
}

// A new batch: the oldest items, as many as fit.
std::string PartitionModel::gather(const std::vector<std::uint32_t>& numbers,
                                   const FlushContext& context, TimePoint now) {
  if (pending_.empty()) return "a batch out of nothing";
  date_back(now);
  if (std::string wrong = check_reason(context.reason, now); !wrong.empty()) return wrong;
  if (numbers.size() > largest_batch()) return "a batch above the limit";
  if (numbers.size() > pending_.size()) return "a batch of more than is pending";
  Range batch;
  std::size_t weight = 0;
  batch_first_ = first_pending();
  while (batch.size() < numbers.size()) {
    weight += pending_.front().weight;
    batch.push_back(remove_front());
  }
  const std::size_t max_bytes = options_->max_bytes;
  if (max_bytes != 0 && batch.size() > 1 && weight > max_bytes) return "a batch too heavy";
  const bool is_full = batch.size() >= options_->max_size || pending_.empty() ||
                       (max_bytes != 0 && weight + pending_.front().weight > max_bytes);
  if (!is_full) return "a batch that leaves behind what would fit";

  ledger_.in_flight += batch.size();
  batch_items_ = batch.size();
  failed_items_ = 0;
  reason_ = context.reason;
  waiting_behind_ = pending_.size();
  ++batch_id_;
  attempt_ = 0;
  last_answer_.clear();
  batch_began_ = now;
  is_halving_ = false;
  ranges_.push_back(std::move(batch));
  if (pending_.empty()) earliest_ = now;
  return {};
}

void PartitionModel::end_call(const Verdict& verdict, TimePoint now, bool has_given_up,
                              std::vector<Drop>& drops) {
  is_in_call_ = false;
  if (now >= deadline_after(call_began_, options_->flush_timeout)) ++counts_.overdue_batches;
  counts_.last_flush_duration = now - call_began_;
  last_call_ended_ = now;
  Range range = std::exchange(in_hand_, {});
  if (verdict.status == FlushStatus::kOk) {
    ledger_.flushed += range.size();
    ledger_.in_flight -= range.size();
  } else if (verdict.is_taken) {  // The items named fail, or all; none is dropped.
    std::set<std::size_t> named;
    for (const ItemResult& item : verdict.items) {
      if (item.index < range.size()) named.insert(item.index);
    }
    Range failed;
    for (const std::size_t index : named) failed.push_back(range[index]);
    if (named.empty()) failed = range;
    ledger_.flushed += range.size() - failed.size();
    ledger_.in_flight -= range.size() - failed.size();
    fail(failed, verdict);
  } else {
    std::vector<std::string> reasons;
    settle_items(verdict, range, reasons, drops);
    if (range.empty()) {
      // Each has its end.
    } else if (!is_halving_ && !has_given_up && schedule_retry(verdict, now)) {
      last_reasons_ = reasons;
      ranges_.push_back(std::move(range));
    } else if (options_->retry.isolate && range.size() > 1 && !has_given_up) {
      is_halving_ = true;
      last_answer_ = verdict.message;
      retry_due_ = {now, now};
      const auto middle = range.begin() + static_cast<std::ptrdiff_t>(range.size() / 2);
      ranges_.emplace_back(middle, range.end());
      ranges_.emplace_back(range.begin(), middle);
    } else {
      const bool is_final = verdict.status == FlushStatus::kFailed;
      give_up(range, verdict, is_final ? LastAnswer::kRejected : LastAnswer::kExhausted, reasons,
              drops);
    }
  }
  if (!has_batch()) end_batch();
}

// The items named go their own ways, by the first word about each: the others are flushed. Of those
// that failed, neighbours go to on_drop together.
void PartitionModel::settle_items(const Verdict& verdict, Range& range,
                                  std::vector<std::string>& reasons, std::vector<Drop>& drops) {
  std::vector<const ItemResult*> words(range.size(), nullptr);
  bool is_any_named = false;
  for (const ItemResult& item : verdict.items) {
    if (item.index >= range.size()) continue;
    is_any_named = true;
    if (words[item.index] == nullptr) words[item.index] = &item;
  }
  if (!is_any_named) {
    reasons.assign(range.size(), verdict.message);
    return;
  }
  Range again;
  Range failed;
  std::vector<std::string> failed_reasons;
  const auto end_group = [&] {
    if (!failed.empty()) give_up(failed, verdict, LastAnswer::kRejected, failed_reasons, drops);
    failed.clear();
    failed_reasons.clear();
  };
  for (std::size_t index = 0; index < range.size(); ++index) {
    if (words[index] == nullptr) {
      ++ledger_.flushed;
      --ledger_.in_flight;
      continue;
    }
    const std::string& own = words[index]->message;
    const bool is_final = words[index]->status == FlushStatus::kFailed;
    if (!is_final) end_group();
    (is_final ? failed : again).push_back(range[index]);
    (is_final ? failed_reasons : reasons).push_back(own.empty() ? verdict.message : own);
  }
  end_group();
  range = std::move(again);
}

bool PartitionModel::schedule_retry(const Verdict& verdict, TimePoint now) {
  const Retry& retry = options_->retry;
  if (verdict.status != FlushStatus::kRetry || attempt_ >= retry.attempts) return false;
  // Scenarios have either a back-off or a total time, so that the jitter of the one leaves no doubt
  // about the other.
  Duration longest = retry.initial_backoff;
  for (std::uint32_t call = 1; call < attempt_ && longest < retry.max_backoff; ++call) longest *= 2;
  longest = std::min(longest, retry.max_backoff);
  const TimePoint due = deadline_after(now, verdict.retry_after);
  if (retry.total_time != kForever && due > deadline_after(batch_began_, retry.total_time)) {
    return false;
  }
  retry_due_ = {due, deadline_after(now, std::max(longest, verdict.retry_after))};
  last_answer_ = verdict.message;
  return true;
}

void PartitionModel::fail(const Range& range, const Verdict& verdict) {
  failed_items_ += range.size();
  ledger_.failed += range.size();
  ledger_.in_flight -= range.size();
  counts_.last_error = verdict.message;
}

void PartitionModel::give_up(const Range& range, const Verdict& verdict, LastAnswer answer,
                             std::vector<std::string> reasons, std::vector<Drop>& drops) {
  fail(range, verdict);
  Drop& drop = drops.emplace_back(Drop{DropReason::kFailed, index_, batch_id_, verdict.message});
  for (const Entry& entry : range) drop.numbers.push_back(entry.number);
  drop.last_answer = answer;
  drop.attempts = attempt_;
  drop.reasons = std::move(reasons);
}

void PartitionModel::give_up_all(std::vector<Drop>& drops) {
  while (!ranges_.empty()) {
    Drop& drop = drops.emplace_back(Drop{DropReason::kClosed, index_, batch_id_, last_answer_});
    for (const Entry& entry : ranges_.back()) drop.numbers.push_back(entry.number);
    drop.last_answer = LastAnswer::kGivenUp;
    drop.attempts = attempt_;
    drop.reasons = last_reasons_;
    if (is_halving_) drop.reasons.assign(drop.numbers.size(), last_answer_);
    ledger_.in_flight -= ranges_.back().size();
    ledger_.dropped_closed += ranges_.back().size();
    ranges_.pop_back();
  }
  if (!pending_.empty()) {
    Drop& drop = drops.emplace_back(Drop{.reason = DropReason::kClosed, .partition_index = index_});
    drop.numbers = remove_all();
    ledger_.dropped_closed += drop.numbers.size();
  }
  is_finished_ = true;
}

void PartitionModel::end_batch() {
  ++counts_.batches;
  if (failed_items_ > 0) ++counts_.failed_batches;
  ++ended_.batches;
  ended_.items += batch_items_;
  ended_.failed_items += failed_items_;
}

PartitionInfo PartitionModel::info(TimePoint now) const {
  PartitionInfo info = counts_;
  info.partition_index = index_;
  info.size = pending_.size();
  info.capacity = options_->effective_capacity();
  info.in_flight = static_cast<std::size_t>(ledger_.in_flight);
  info.since_last_flush = now - last_call_ended_;
  info.bytes = weight_;
  info.ledger = ledger_;
  return info;
}

// When the oldest pending item came, at the earliest and at the latest, as the consumer dates it.
Window PartitionModel::first_pending() const {
  const TimePoint came = pending_.front().inserted_at;
  return {std::min(*earliest_, came), came};
}

std::string PartitionModel::check_ages(const PartitionInfo& actual, TimePoint now) const {
  const auto is_within = [now](Duration age, const Window& came) {
    return age >= now - came.high && age <= now - came.low;
  };
  const bool is_pending_right = pending_.empty() ? actual.pending_age == Duration::zero()
                                                 : is_within(actual.pending_age, first_pending());
  if (!is_pending_right) return "pending_age " + std::to_string(actual.pending_age.count());
  const bool is_batch_right = !has_batch() ? actual.in_flight_age == Duration::zero()
                                           : is_within(actual.in_flight_age, batch_first_);
  if (!is_batch_right) return "in_flight_age " + std::to_string(actual.in_flight_age.count());
  return {};
}

}  // namespace databuffer::reference
