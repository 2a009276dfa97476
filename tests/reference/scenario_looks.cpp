// The calls that look at the partitions: do_work, sync_flush and close, and what they report.

#include "reference/scenario_class.hpp"

#include <chrono>

namespace databuffer::reference {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMostLooks = 64;

}  // namespace

void Scenario::flush() {
  log("flush");
  live_->flush();
  model_.flush();
}

TimePoint Scenario::work() {
  const TimePoint now = clock_.now();
  if (nesting_ > 0) {
    log("do_work");
    if (live_->do_work(now) != now) fail("a do_work within another wants to run later");
    return now;
  }
  log("do_work at ", text(now));
  may_move_clock_ = true;
  begin_look();
  const TimePoint next = live_->do_work(now);
  may_move_clock_ = false;
  end_look();
  const Window wanted = model_.wants_look();
  log("  next at ", text(next));
  if (is_look_exact_ && (next < wanted.low || next > wanted.high)) {
    fail("do_work wants to run at " + text(next) + ", expected " + text(wanted.low) + " to " +
         text(wanted.high));
  }
  wanted_ = next;
  is_wanted_ = true;
  return next;
}

void Scenario::work_all() {
  for (std::size_t looks = 0; looks < kMostLooks && is_right(); ++looks) {
    if (work() > clock_.now() || nesting_ > 0) return;
  }
}

void Scenario::begin_look() {
  is_look_exact_ = true;
  last_called_ = ReferenceModel::kAny;
  model_.begin_look(clock_.now());
}

void Scenario::end_look() {
  if (const std::string wrong = model_.end_look(is_look_exact_); !wrong.empty()) fail(wrong);
}

void Scenario::sync_flush() {
  if (model_.is_closed() && !model_.is_finished()) return;  // Some partitions may have finished.
  std::vector<FlushReport> before;
  std::vector<std::uint64_t> places;
  for (PartitionModel& partition : model_.partitions()) {
    before.push_back(partition.ended());
    places.push_back(partition.last_place());
  }
  const bool is_refused = model_.is_closed() || nesting_ > 0;
  if (!is_refused) {
    model_.flush();
    begin_look();
    is_look_exact_ = false;  // There may be several, one for each partition.
  }
  const std::vector<FlushReport> reports = live_->sync_flush(0ns);
  if (!is_refused) {
    end_look();
    is_wanted_ = false;
  }
  for (const FlushReport& report : reports) log("sync_flush: ", to_string(report.status));
  expect_equal("reports", reports.size(), model_.partitions().size());
  for (std::size_t index = 0; index < reports.size() && is_right(); ++index) {
    expect_equal("the report's partition", reports[index].partition_index, index);
    if (model_.is_closed()) {
      expect_equal("status", to_string(reports[index].status), to_string(CallStatus::kClosed));
    } else if (nesting_ > 0) {
      expect_equal("status", to_string(reports[index].status), to_string(CallStatus::kReentrant));
    } else {
      compare_report(reports[index], before[index], places[index]);
    }
  }
}

void Scenario::compare_report(const FlushReport& report, const FlushReport& before,
                              std::uint64_t place) {
  const PartitionModel& partition = model_.partitions()[report.partition_index];
  if (report.status == CallStatus::kDone && !partition.is_through(place)) {
    fail("sync_flush says done, and an item from before it has no end");
  }
  // Of several partitions each has its report before the next is waited for.
  const bool is_exact = options_.partitions == 1;
  if (is_exact && report.status != CallStatus::kDone && partition.is_idle()) {
    fail("sync_flush waits for nothing");
  }
  const FlushReport& after = partition.ended();
  if (report.batches > after.batches - before.batches ||
      (is_exact && (report.batches != after.batches - before.batches ||
                    report.items != after.items - before.items ||
                    report.failed_items != after.failed_items - before.failed_items))) {
    fail("sync_flush reports " + std::to_string(report.batches) + " batches of " +
         std::to_string(report.items) + " items");
  }
}

void Scenario::close(Duration timeout) {
  if (nesting_ > 0) {
    log("close");
    return expect_equal("close", to_string(live_->close(timeout).status),
                        to_string(CallStatus::kReentrant));
  }
  log("close within ", timeout.count());
  is_wanted_ = false;
  model_.begin_close();
  const bool is_over = model_.is_finished();
  if (!is_over) {
    begin_look();
    is_waiting_ = timeout == kForever;
  }
  const CloseReport report = live_->close(timeout);
  log("  ", to_string(report.status));
  if (!is_over) end_look();
  if (is_waiting_) {  // … until one more look has found nothing.
    begin_look();
    end_look();
    is_waiting_ = false;
    if (!model_.is_finished()) fail("close is done, and items are left");
  }
  const bool is_done = model_.has_nothing_left() && !model_.has_given_up();
  if (!is_done && !model_.has_given_up()) model_.give_up_pending();
  const Ledger ledger = model_.ledger();
  expect_equal("close", to_string(report.status),
               to_string(is_done ? CallStatus::kDone : CallStatus::kTimedOut));
  expect_equal("close's report of drops", report.dropped, ledger.dropped_closed);
  expect_equal("close's report of batches in flight", report.in_flight, ledger.in_flight);
  expect_equal("close's ledger", text(report.ledger), text(ledger));
}

}  // namespace databuffer::reference
