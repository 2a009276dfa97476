// The comparisons of what can be asked of a buffer: ledger, drops, info and the next deadline.

#include "reference/scenario_class.hpp"

#include <sstream>

namespace databuffer::reference {

std::vector<std::uint32_t> numbers_of(std::span<const Item> items) {
  std::vector<std::uint32_t> numbers;
  for (const Item& item : items) numbers.push_back(item.number);
  return numbers;
}

std::string text(TimePoint time) {
  if (time == TimePoint::max()) return "never";
  return std::to_string(time.time_since_epoch().count());
}

std::string text(const Ledger& ledger) {
  std::ostringstream out;
  out << "accepted " << ledger.accepted << " flushed " << ledger.flushed << " failed "
      << ledger.failed << " newest " << ledger.dropped_newest << " oldest " << ledger.dropped_oldest
      << " closed " << ledger.dropped_closed << " no memory " << ledger.dropped_no_memory
      << " taken " << ledger.taken << " pending " << ledger.pending << " in flight "
      << ledger.in_flight << " refused " << ledger.refused_full << " " << ledger.refused_timed_out
      << " " << ledger.refused_closed << " " << ledger.refused_no_memory;
  return out.str();
}

std::string text(const std::vector<Drop>& drops) {
  std::ostringstream out;
  for (const Drop& drop : drops) {
    out << to_string(drop.reason) << " in " << drop.partition_index << " batch " << drop.batch_id
        << " \"" << drop.error << "\" " << to_string(drop.last_answer) << " after " << drop.attempts
        << " ";
    print_list(out, drop.numbers);
    print_list(out, drop.reasons);
  }
  return out.str();
}

std::string text(const ReferenceModel::Outcome& outcome) {
  if (outcome.has_thrown) return "an exception after " + std::to_string(outcome.result.accepted);
  return std::string(to_string(outcome.result.status)) + " after " +
         std::to_string(outcome.result.accepted);
}

void Scenario::expect_same_items(const char* what, const std::vector<std::uint32_t>& actual,
                                 const std::vector<std::uint32_t>& expected) {
  if (actual == expected || !is_right()) return;
  std::ostringstream out;
  out << what << ": ";
  print_list(out, actual);
  out << ", expected ";
  print_list(out, expected);
  fail(out.str());
}

void Scenario::compare() {
  if (!is_right()) return;
  const Ledger actual = live_->ledger();
  const Ledger expected = model_.ledger();
  if (!(actual == expected)) fail("ledger: " + text(actual) + "\nexpected " + text(expected));
  if (!actual.balances()) fail("the ledger does not balance: " + text(actual));
  if (live_->size() != expected.pending) fail("size");
  const std::vector<Drop> drops = model_.take_drops();
  if (drops_ != drops) fail("on_drop: " + text(drops_) + "\nexpected " + text(drops));
  drops_.clear();
}

void Scenario::compare_info() {
  if (nesting_ > 0) return;
  log("info");
  const std::vector<PartitionInfo> infos = live_->info();
  expect_equal("infos", infos.size(), options_.partitions);
  for (std::size_t index = 0; index < infos.size() && is_right(); ++index) {
    const PartitionInfo& actual = infos[index];
    const PartitionInfo expected = model_.partitions()[index].info(clock_.now());
    expect_equal("info.partition_index", actual.partition_index, expected.partition_index);
    expect_equal("info.size", actual.size, expected.size);
    expect_equal("info.capacity", actual.capacity, expected.capacity);
    expect_equal("info.in_flight", actual.in_flight, expected.in_flight);
    expect_equal("info.is_flushing", actual.is_flushing, false);
    expect_equal("info.batches", actual.batches, expected.batches);
    expect_equal("info.failed_batches", actual.failed_batches, expected.failed_batches);
    expect_equal("info.overdue_batches", actual.overdue_batches, expected.overdue_batches);
    expect_equal("info.retries", actual.retries, expected.retries);
    expect_equal("info.bytes", actual.bytes, expected.bytes);
    expect_equal("info.last_error", actual.last_error, expected.last_error);
    expect_equal("info.since_last_flush", actual.since_last_flush.count(),
                 expected.since_last_flush.count());
    expect_equal("info.last_flush_duration", actual.last_flush_duration.count(),
                 expected.last_flush_duration.count());
    expect_equal("info.ledger", text(actual.ledger), text(expected.ledger));
    fail_if(model_.partitions()[index].check_ages(actual, clock_.now()));
  }
}

void Scenario::compare_next_deadline() {
  if (nesting_ > 0) return;
  const TimePoint now = clock_.now();
  const TimePoint next = live_->next_deadline();
  log("next_deadline: ", text(next));
  const TimePoint needed = model_.needs_look(now);
  if (needed <= now && next > now) fail("a look is needed now, and announced for " + text(next));
  if (is_wanted_ && next > wanted_) {
    fail("a look is announced for " + text(next) + ", and do_work wanted " + text(wanted_));
  }
}

}  // namespace databuffer::reference
