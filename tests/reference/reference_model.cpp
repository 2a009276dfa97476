#include "reference/reference_model.hpp"

#include <algorithm>
#include <utility>

#include "engine/router.hpp"

namespace databuffer::reference {
namespace {

constexpr std::uint64_t kTicketRun = detail::Router::kTickets;

}  // namespace

ReferenceModel::ReferenceModel(const Options& options, TimePoint start) : options_(options) {
  for (std::size_t index = 0; index < options_.partitions; ++index) {
    partitions_.emplace_back(options_, index, start);
  }
}

std::size_t ReferenceModel::weight_of(const Item& item) const {
  return options_.weigh ? item.weight : 0;
}

void ReferenceModel::draw_tickets() {
  cursor_ = next_ticket_ % partitions_.size();
  next_ticket_ += kTicketRun;
  tickets_left_ = kTicketRun;
  has_tickets_ = true;
}

ReferenceModel::Outcome ReferenceModel::insert(const Offer& offer, TimePoint now) {
  Outcome outcome;
  if (is_closed_) {
    outcome.result.status = InsertStatus::kClosed;
    count_refused(offer, {.target = offer.partition_index}, outcome);
    return outcome;
  }
  if (offer.knows_length && offer.items.empty()) return outcome;
  if (!has_tickets_) draw_tickets();
  Progress progress;
  progress.target = offer.partition_index;
  for (;;) {
    // A range that does not know its length finds its end only by reading.
    const bool is_known_over = offer.knows_length || progress.at > 0;
    if (is_known_over && progress.at == offer.items.size()) break;
    if (options_.weigh && !read_ahead(offer, progress, outcome)) break;
    const bool is_over = progress.at == offer.items.size();
    const std::size_t weight = is_over ? 0 : weight_of(offer.items[progress.at]);
    const std::size_t partition_index = find_room(progress, weight);
    if (partition_index == kAny) {
      if (!overflow(offer, progress, outcome, now)) break;
      continue;
    }
    if (!progress.has_read && !read_ahead(offer, progress, outcome)) break;
    put(offer, progress, partition_index, now);
  }
  outcome.result.accepted = progress.at;
  count_refused(offer, progress, outcome);
  return outcome;
}

// Each item that stays with the caller; of a range that does not know its length one, unless it was
// read to its end.
void ReferenceModel::count_refused(const Offer& offer, const Progress& progress,
                                   const Outcome& outcome) {
  if (outcome.has_thrown) return;
  Ledger& ledger = partitions_[progress.target != kAny ? progress.target : 0].ledger();
  std::size_t items = offer.items.size() - progress.at;
  if (!offer.knows_length) items = progress.at == 0 || items > 0 ? 1 : 0;
  if (outcome.result.status == InsertStatus::kFull) ledger.refused_full += items;
  if (outcome.result.status == InsertStatus::kTimedOut) ledger.refused_timed_out += items;
  if (outcome.result.status == InsertStatus::kClosed) ledger.refused_closed += items;
}

// Returns whether there is a next item, and it could be read and weighed.
bool ReferenceModel::read_ahead(const Offer& offer, Progress& progress, Outcome& outcome) {
  if (progress.at == offer.items.size()) return false;
  if (progress.at == offer.throws_at) {
    outcome.has_thrown = true;
    return false;
  }
  progress.has_read = true;
  if (options_.weigh && offer.items[progress.at].weight == Item::kCannotBeWeighed) {
    outcome.has_thrown = true;
    strand(offer, progress);
    return false;
  }
  return true;
}

// What was read, and cannot go in after all, has nowhere to go if the range does not take it back.
// It counts where the call's other items went; where none has gone in, in the first partition.
void ReferenceModel::strand(const Offer& offer, Progress& progress) {
  if (!progress.has_read || offer.takes_items_back) return;
  const std::size_t partition_index = progress.target != kAny ? progress.target : 0;
  Drop& drop =
      drops_.emplace_back(Drop{.reason = DropReason::kNewest, .partition_index = partition_index});
  drop_next(offer, progress, partition_index, drop);
}

// The partition whose turn it is, or the next one with room.
std::size_t ReferenceModel::find_room(const Progress& progress, std::size_t weight) {
  if (progress.target != kAny) {
    return partitions_[progress.target].has_room(weight) ? progress.target : kAny;
  }
  for (std::size_t tried = 0; tried < partitions_.size(); ++tried) {
    if (partitions_[cursor_].has_room(weight)) return cursor_;
    cursor_ = (cursor_ + 1) % partitions_.size();
  }
  return kAny;
}

void ReferenceModel::put(const Offer& offer, Progress& progress, std::size_t partition_index,
                         TimePoint now) {
  const Item& item = offer.items[progress.at];
  partitions_[partition_index].put(item.number, weight_of(item), now);
  ++progress.at;
  progress.has_read = false;
  if (progress.target != kAny) return;
  cursor_ = (partition_index + 1) % partitions_.size();
  if (--tickets_left_ == 0) draw_tickets();
  progress.target = partition_index;  // The others follow.
}

// There is no room. Returns whether the call goes on.
bool ReferenceModel::overflow(const Offer& offer, Progress& progress, Outcome& outcome,
                              TimePoint now) {
  const std::size_t partition_index = progress.target != kAny ? progress.target : cursor_;
  switch (options_.overflow) {
    case Overflow::kReject:
      outcome.result.status = InsertStatus::kFull;
      break;
    case Overflow::kBlock: {
      const bool would_wait = offer.may_wait && calls_running_ == 0;
      outcome.result.status = would_wait ? InsertStatus::kTimedOut : InsertStatus::kFull;
      break;
    }
    case Overflow::kDropOldest: {
      if (!progress.has_read && !read_ahead(offer, progress, outcome)) return false;
      PartitionModel& partition = partitions_[partition_index];
      if (!std::exchange(progress.gives_up_oldest, true)) {  // One span for the whole call.
        drops_.push_back({.reason = DropReason::kOldest, .partition_index = partition_index});
      }
      const auto oldest = partition.remove_oldest(weight_of(offer.items[progress.at]));
      partition.ledger().dropped_oldest += oldest.size();
      drops_.back().numbers.insert(drops_.back().numbers.end(), oldest.begin(), oldest.end());
      put(offer, progress, partition_index, now);
      return true;
    }
    case Overflow::kDropNewest:
      drop_rest(offer, progress, outcome);
      return false;
  }
  strand(offer, progress);
  return false;
}

void ReferenceModel::drop_rest(const Offer& offer, Progress& progress, Outcome& outcome) {
  const std::size_t partition_index = progress.target != kAny ? progress.target : cursor_;
  if (!progress.has_read && !read_ahead(offer, progress, outcome)) return;
  Drop drop{.reason = DropReason::kNewest, .partition_index = partition_index};
  while (progress.at < offer.items.size()) {
    if (progress.at == offer.throws_at) {
      outcome.has_thrown = true;
      break;
    }
    drop_next(offer, progress, partition_index, drop);
  }
  if (!drop.numbers.empty()) drops_.push_back(std::move(drop));
  outcome.result.status = InsertStatus::kDropped;
}

void ReferenceModel::drop_next(const Offer& offer, Progress& progress, std::size_t partition_index,
                               Drop& drop) {
  drop.numbers.push_back(offer.items[progress.at].number);
  ++progress.at;
  progress.has_read = false;
  ++partitions_[partition_index].ledger().accepted;
  ++partitions_[partition_index].ledger().dropped_newest;
}

void ReferenceModel::flush() {
  for (PartitionModel& partition : partitions_) partition.ask_flush();
}

std::vector<std::uint32_t> ReferenceModel::dump() const {
  std::vector<std::uint32_t> numbers;
  for (const PartitionModel& partition : partitions_) {
    for (const PartitionModel::Entry& entry : partition.pending()) numbers.push_back(entry.number);
  }
  return numbers;
}

std::vector<std::uint32_t> ReferenceModel::take() {
  std::vector<std::uint32_t> numbers = dump();
  for (PartitionModel& partition : partitions_) {
    partition.ledger().taken += partition.remove_all().size();
  }
  return numbers;
}

void ReferenceModel::begin_close() {
  is_closed_ = true;
  for (PartitionModel& partition : partitions_) partition.begin_close();
}

void ReferenceModel::give_up_pending() {
  has_given_up_ = true;
  for (PartitionModel& partition : partitions_) partition.give_up_all(drops_);
}

bool ReferenceModel::has_nothing_left() const {
  return std::all_of(partitions_.begin(), partitions_.end(), [](const PartitionModel& partition) {
    return partition.pending().empty() && partition.ledger().in_flight == 0;
  });
}

bool ReferenceModel::is_finished() const {
  return std::all_of(partitions_.begin(), partitions_.end(),
                     [](const PartitionModel& partition) { return partition.is_finished(); });
}

void ReferenceModel::begin_look(TimePoint now) {
  look_began_ = now;
  was_called_.assign(partitions_.size(), false);
  must_be_called_.clear();
  for (const PartitionModel& partition : partitions_) {
    must_be_called_.push_back(now >= partition.due(now).high && now != TimePoint::max());
  }
}

std::string ReferenceModel::begin_call(const std::vector<std::uint32_t>& numbers,
                                       const FlushContext& context, TimePoint now) {
  if (context.partition_index >= partitions_.size()) return "a call for no partition";
  ++calls_running_;
  if (was_called_[context.partition_index]) return "two batches of a partition in one look";
  was_called_[context.partition_index] = true;
  return partitions_[context.partition_index].begin_call(numbers, context, look_began_, now);
}

void ReferenceModel::end_call(std::size_t partition_index, const Verdict& verdict, TimePoint now) {
  --calls_running_;
  partitions_[partition_index].end_call(verdict, now, has_given_up_, drops_);
}

std::string ReferenceModel::end_look(bool is_exact) {
  for (std::size_t index = 0; index < partitions_.size(); ++index) {
    PartitionModel& partition = partitions_[index];
    if (!is_exact) partition.date_back(look_began_);
    if (was_called_[index]) continue;
    if (is_exact && must_be_called_[index]) {
      return "partition " + std::to_string(index) + " has a handler call due, and it did not come";
    }
    partition.looked(is_exact);
  }
  return {};
}

Window ReferenceModel::wants_look() const {
  Window wanted;
  for (std::size_t index = 0; index < partitions_.size(); ++index) {
    const PartitionModel& partition = partitions_[index];
    Window own = partition.due(look_began_);
    if (was_called_[index]) {
      // After a batch it looks again at once; a batch that is not through yet says when.
      own = partition.has_batch() ? own : Window{look_began_, look_began_};
      own = {std::max(own.low, look_began_), std::max(own.high, look_began_)};
    }
    wanted = {std::min(wanted.low, own.low), std::min(wanted.high, own.high)};
  }
  return wanted;
}

TimePoint ReferenceModel::needs_look(TimePoint now) const {
  TimePoint needed = TimePoint::max();
  for (const PartitionModel& partition : partitions_) {
    needed = std::min(needed, partition.due(now).high);
  }
  return needed;
}

Ledger ReferenceModel::ledger() const {
  Ledger sum;
  for (const PartitionModel& partition : partitions_) sum += partition.ledger();
  return sum;
}

std::vector<Drop> ReferenceModel::take_drops() { return std::exchange(drops_, {}); }

}  // namespace databuffer::reference
