#include "reference/scenario.hpp"

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "reference/bytes.hpp"
#include "reference/item.hpp"
#include "reference/options_from_bytes.hpp"
#include "reference/reference_model.hpp"
#include "support/ranges.hpp"

namespace databuffer::reference {
namespace {

using namespace std::chrono_literals;
using Offer = ReferenceModel::Offer;
using Outcome = ReferenceModel::Outcome;

constexpr std::size_t kMostCalls = 400;
constexpr std::size_t kMostLooks = 64;
constexpr std::size_t kMostNestedCalls = 3;

std::vector<std::uint32_t> numbers_of(std::span<const Item> items) {
  std::vector<std::uint32_t> numbers;
  for (const Item& item : items) numbers.push_back(item.number);
  return numbers;
}

template <class T>
void print_list(std::ostream& out, const std::vector<T>& values) {
  out << "{";
  for (const T& value : values) out << " " << value;
  out << " }";
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

std::string text(const Outcome& outcome) {
  if (outcome.has_thrown) return "an exception after " + std::to_string(outcome.result.accepted);
  return std::string(to_string(outcome.result.status)) + " after " +
         std::to_string(outcome.result.accepted);
}

/// A buffer and its model, and the calls that both get.
class Scenario {
 public:
  Scenario(std::span<const std::uint8_t> bytes, std::ostream* trace)
      : bytes_(bytes),
        trace_(trace),
        options_(complete(options_from_bytes(bytes_))),
        model_(options_, clock_.now()),
        buffer_(std::make_unique<Buffer<Item>>(
            options_,
            [this](auto& batch, const FlushContext& context) { return handle(batch, context); })) {}

  std::string run() {
    if (trace_ != nullptr) *trace_ << describe(options_) << "\n";
    for (std::size_t calls = 0; calls < kMostCalls && !bytes_.is_over() && is_right(); ++calls) {
      call();
      compare();
    }
    if (is_right()) compare_info();
    if (is_right()) end();
    return wrong_;
  }

 private:
  Options complete(Options options) {
    options.threading = Threading::kManual;
    options.clock = &clock_;
    options.on_drop = [this](std::span<Item> items, const DropInfo& info) {
      Drop& drop = drops_.emplace_back(Drop{info.reason, info.partition_index, info.batch_id,
                                            std::string(info.error), numbers_of(items),
                                            info.last_answer, info.attempts});
      if (info.attempts == 0) return;
      for (std::size_t index = 0; index < items.size(); ++index) {
        drop.reasons.emplace_back(info.reason_of(index));
      }
    };
    return options;
  }

  // Findings.

  [[nodiscard]] bool is_right() const { return wrong_.empty(); }
  void fail(const std::string& what) {
    if (is_right()) wrong_ = what;
  }
  template <class T>
  void expect_equal(const char* what, const T& actual, const T& expected) {
    if (actual == expected || !is_right()) return;
    std::ostringstream out;
    out << what << ": " << actual << ", expected " << expected;
    fail(out.str());
  }
  void expect_same_items(const char* what, const std::vector<std::uint32_t>& actual,
                         const std::vector<std::uint32_t>& expected) {
    if (actual == expected || !is_right()) return;
    std::ostringstream out;
    out << what << ": ";
    print_list(out, actual);
    out << ", expected ";
    print_list(out, expected);
    fail(out.str());
  }
  template <class... Parts>
  void log(const Parts&... parts) {
    if (trace_ == nullptr) return;
    *trace_ << std::string(nesting_ * 2, ' ');
    static_cast<void>((*trace_ << ... << parts));
    *trace_ << "\n";
  }

  // Calls.

  void call() {
    switch (bytes_.below(31)) {
      default:
        return insert_one();
      case 6:
      case 7:
      case 8:
      case 9:
        return insert_range();
      case 10:
      case 11:
      case 12:
      case 13:
        static_cast<void>(work());
        return;
      case 14:
      case 15:
        return work_all();
      case 16:
      case 17:
      case 18:
        return advance(bytes_.pick<Duration>({1ns, 10ns, 1us, 1ms, 10ms, 1s, 1h}));
      case 19:
        return advance_to(wanted_);
      case 20:
        return advance_to(wanted_ - 1ns);
      case 21:
      case 22:
        return flush();
      case 23:
        return sync_flush();
      case 24:
        log("dump");
        return expect_same_items("dump", numbers_of(live_->dump()), model_.dump());
      case 25:
        log("take");
        return expect_same_items("take", numbers_of(live_->take()), model_.take());
      case 26:
        return compare_info();
      case 27:
        return listen();
      case 28:
        return compare_next_deadline();
      case 29:
        return close(bytes_.pick<Duration>({0ns, kForever}));
    }
  }

  Item next_item() {
    std::uint32_t weight = static_cast<std::uint32_t>(bytes_.below(8));
    if (options_.weigh && bytes_.one_in(32)) weight = Item::kCannotBeWeighed;
    return Item(next_number_++, weight);
  }

  void insert_one() {
    Item item = next_item();
    Offer offer{.items = {item}};
    Outcome outcome;
    const std::size_t form = bytes_.below(6);
    const std::uint64_t key = bytes_.below(4);
    if (form == 1) offer.may_wait = false;
    if (form == 2) {
      offer.partition_index = detail::Inserter<Item>::partition_of(std::hash<std::uint64_t>{}(key),
                                                                   options_.partitions);
    }
    try {
      InsertStatus& status = outcome.result.status;
      switch (form) {
        default:
          status = live_->insert(std::move(item));
          break;
        case 1:
          status = live_->try_insert(std::move(item));
          break;
        case 2:
          status = live_->insert_keyed(key, std::move(item));
          break;
        case 3:
          status = live_->insert(std::move(item), -1h);
          break;
      }
      const bool is_taken = status == InsertStatus::kAccepted || status == InsertStatus::kDropped;
      outcome.result.accepted = is_taken ? 1 : 0;
    } catch (const std::runtime_error&) {
      outcome.has_thrown = true;
    }
    log("insert ", offer.items[0].number, " (", offer.items[0].weight, ") form ", form, ": ",
        text(outcome));
    expect_insert(outcome, offer);
    if (item.is_here == (outcome.result.accepted == 1)) fail("an item neither here nor there");
  }

  void insert_range() {
    Offer offer;
    const std::size_t count = bytes_.pick<std::size_t>({0, 1, 2, 3, 5, 9, 70, 150});
    for (std::size_t index = 0; index < count; ++index) offer.items.push_back(next_item());
    const std::size_t form = bytes_.below(6);
    if (form >= 4 && count > 0 && bytes_.one_in(4)) offer.throws_at = bytes_.below(count);
    const Outcome outcome = insert_range_as(form, offer);
    log("insert_batch of ", count, " form ", form, " throws at ", offer.throws_at, ": ",
        text(outcome));
    expect_insert(outcome, offer);
  }

  Outcome insert_range_as(std::size_t form, Offer& offer) {
    const auto read = [&offer](int index) {
      const auto at = static_cast<std::size_t>(index);
      if (at == offer.throws_at) throw std::runtime_error("unreadable");
      return offer.items[at];
    };
    const int count = static_cast<int>(offer.items.size());
    std::vector<Item> items = offer.items;
    std::list<Item> listed(items.begin(), items.end());
    try {
      switch (form) {
        default:
          return {live_->insert_batch(items)};
        case 1: {
          const Outcome outcome{live_->insert_batch(std::move(items), 0ns)};
          expect_moved(items, outcome.result.accepted);  // NOLINT(bugprone-use-after-move)
          return outcome;
        }
        case 2:
          return {live_->insert_batch(listed, -1ns)};
        case 3:
          offer.takes_items_back = false;
          return {live_->insert_batch(std::move(listed))};
        case 4:
          offer.takes_items_back = false;
          return {live_->insert_batch(support::made_forward(count, read))};
        case 5:
          offer.takes_items_back = offer.knows_length = false;
          return {live_->insert_batch(support::made_one_by_one(count, read))};
      }
    } catch (const std::runtime_error&) {
      return {{}, true};
    }
  }

  void expect_moved(const std::vector<Item>& items, std::size_t accepted) {
    for (std::size_t index = 0; index < items.size(); ++index) {
      if (items[index].is_here == (index < accepted)) fail("an item neither here nor there");
    }
  }

  void expect_insert(const Outcome& actual, const Offer& offer) {
    Outcome expected = model_.insert(offer, clock_.now());
    if (expected.has_thrown) expected.result = {};  // The caller is told nothing else.
    if (actual != expected) fail("answers " + text(actual) + ", expected " + text(expected));
  }

  void flush() {
    log("flush");
    live_->flush();
    model_.flush();
  }

  // Looks.

  TimePoint work() {
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

  void work_all() {
    for (std::size_t looks = 0; looks < kMostLooks && is_right(); ++looks) {
      if (work() > clock_.now() || nesting_ > 0) return;
    }
  }

  void begin_look() {
    is_look_exact_ = true;
    last_called_ = ReferenceModel::kAny;
    model_.begin_look(clock_.now());
  }
  void end_look() {
    if (const std::string wrong = model_.end_look(is_look_exact_); !wrong.empty()) fail(wrong);
  }

  void sync_flush() {
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

  void compare_report(const FlushReport& report, const FlushReport& before, std::uint64_t place) {
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

  void close(Duration timeout) {
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

  // The handler.

  FlushResult handle(Batch<Item>& batch, const FlushContext& context) {
    if (!is_right()) return FlushResult::ok();
    if (is_waiting_ || !is_look_exact_) begin_next_look(context.partition_index);
    last_called_ = context.partition_index;
    log("handler of ", context.partition, ": ", batch.size(), " items from ", batch[0].number,
        ", batch ", context.batch_id, ", attempt ", context.attempt, ", ",
        to_string(context.reason));
    fail_if(model_.begin_call(numbers_of(batch.items()), context, clock_.now()));
    expect_equal("the partition's name", context.partition,
                 std::string_view("model." + std::to_string(context.partition_index)));
    if (!is_right()) return FlushResult::ok();
    ++handler_calls_;
    meddle();
    const Verdict verdict = decide(batch);
    log("  ", to_string(verdict.status), verdict.is_exception ? " by exception" : "",
        verdict.is_taken ? ", taken" : "", " again after ", verdict.retry_after.count());
    model_.end_call(context.partition_index, verdict, clock_.now());
    return give(verdict);
  }

  void fail_if(const std::string& what) {
    if (!what.empty()) fail(what);
  }

  // A call that waits looks several times: each time at the partitions in order.
  void begin_next_look(std::size_t partition_index) {
    if (last_called_ == ReferenceModel::kAny || partition_index > last_called_) return;
    const bool was_exact = is_look_exact_;
    end_look();
    begin_look();
    is_look_exact_ = was_exact;
  }

  // What a handler does to its own buffer, and to the time.
  void meddle() {
    if (!bytes_.one_in(4)) return;
    is_look_exact_ = false;
    ++nesting_;
    if (may_move_clock_ && bytes_.one_in(2)) move_clock(bytes_.pick<Duration>({1ns, 1ms, 1h}));
    for (std::size_t calls = bytes_.below(kMostNestedCalls + 1); calls > 0; --calls) call();
    --nesting_;
  }

  Verdict decide(Batch<Item>& batch) {
    Verdict verdict;
    switch (bytes_.below(10)) {
      default:
        return verdict;
      case 4:
        verdict.status = FlushStatus::kFailed;
        verdict.message = "failed";
        break;
      case 5:
        verdict.status = FlushStatus::kRetry;
        verdict.message = "retry";
        break;
      case 6:
        verdict.status = FlushStatus::kRetry;
        verdict.message = "later";
        verdict.retry_after = bytes_.pick<Duration>({1ns, 1ms, 1h, -1h, kForever});
        break;
      case 7:
        verdict.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kFailed});
        verdict.message = "some";
        // Some may be named twice, or not be there.
        for (std::size_t named = bytes_.below(5); named > 0; --named) {
          verdict.items.push_back({bytes_.below(batch.size() + 1), verdict.status, {}});
        }
        if (!verdict.items.empty() && bytes_.one_in(2)) speak_of_each(verdict);
        break;
      case 8:
        verdict.status = options_.retry.on_exception ? FlushStatus::kRetry : FlushStatus::kFailed;
        verdict.message = "thrown";
        verdict.is_exception = true;
        break;
      case 9:
        verdict.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kOk});
        verdict.message = "taken";
        static_cast<void>(batch.take());
        verdict.is_taken = true;
        break;
    }
    return verdict;
  }

  // Each item named has a word of its own.
  void speak_of_each(Verdict& verdict) {
    verdict.is_word_by_word = true;
    verdict.status = FlushStatus::kFailed;
    for (ItemResult& item : verdict.items) {
      item.status = bytes_.pick({FlushStatus::kRetry, FlushStatus::kFailed});
      item.message = "item " + std::to_string(item.index);
      if (item.status == FlushStatus::kRetry) verdict.status = FlushStatus::kRetry;
    }
    verdict.message = verdict.items[0].message;
    if (verdict.status != FlushStatus::kRetry) return;
    verdict.retry_after = bytes_.pick<Duration>({0ns, 1ns, 1h});
    log("  word by word");
  }

  static FlushResult give(const Verdict& verdict) {
    if (verdict.is_exception) throw std::runtime_error(verdict.message);
    if (verdict.is_word_by_word) return give_of_each(verdict);
    std::vector<std::size_t> named;
    for (const ItemResult& item : verdict.items) named.push_back(item.index);
    switch (verdict.status) {
      case FlushStatus::kOk:
        break;
      case FlushStatus::kFailed:
        return FlushResult::failed(verdict.message).only_items(named);
      case FlushStatus::kRetry:
        return FlushResult::retry(verdict.message, verdict.retry_after).only_items(named);
    }
    return FlushResult::ok();
  }

  static FlushResult give_of_each(const Verdict& verdict) {
    FlushResult result = FlushResult::ok();
    for (const ItemResult& item : verdict.items) {
      if (item.status == FlushStatus::kFailed) {
        result.fail_item(item.index, item.message);
      } else {
        result.retry_item(item.index, item.message, verdict.retry_after);
      }
    }
    return result;
  }

  // Time and telemetry.

  void advance(Duration by) {
    if (nesting_ == 0) move_clock(by);
  }
  void move_clock(Duration by) {
    log("the clock moves by ", by.count());
    clock_.advance(by);
  }
  void advance_to(TimePoint time) {
    constexpr Duration kLongest = 24h;
    if (time > clock_.now() && time < clock_.now() + kLongest) advance(time - clock_.now());
  }

  // While somebody listens an insert takes another way.
  void listen() {
    log("listen: ", !is_listened_);
    if (is_listened_) {
      if (!live_->telemetry().detach("model")) fail("the listener was detached");
      if (nesting_ == 0) expect_equal("calls told", told_calls_, handler_calls_ - calls_untold_);
    } else {
      const bool is_in = live_->telemetry().attach("model", EventSet::all(), [this](auto& event) {
        if (event.event == Event::kFlushStart) ++told_calls_;
      });
      if (!is_in) fail("the listener was not attached");
      calls_untold_ = handler_calls_ - told_calls_;
    }
    is_listened_ = !is_listened_;
  }

  // Comparisons.

  void compare() {
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

  void compare_info() {
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

  // Whoever runs the buffer from an event loop asks when to come back.
  void compare_next_deadline() {
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

  void end() {
    if (bytes_.one_in(2)) close(kForever);
    const bool is_first_close = !model_.is_closed();
    if (is_first_close) {
      log("destroyed");
      model_.begin_close();
      begin_look();
      is_waiting_ = true;
    }
    buffer_.reset();
    if (is_first_close && is_right()) {
      end_look();
      expect_equal("items left", model_.dump().size(), std::size_t{0});
      expect_equal("items in flight", model_.ledger().in_flight, std::uint64_t{0});
      if (drops_ != model_.take_drops()) fail("on_drop, when destroyed");
    }
  }

  Bytes bytes_;
  std::ostream* trace_;  // borrowed; may be null
  ManualClock clock_{TimePoint{1h}};
  const Options options_;
  ReferenceModel model_;
  std::string wrong_;
  std::vector<Drop> drops_;  // since the last comparison
  std::uint32_t next_number_ = 0;
  TimePoint wanted_{};           // what do_work returned last
  bool is_wanted_ = false;       // no other call has looked since
  std::size_t nesting_ = 0;      // 1: within a handler
  bool is_look_exact_ = true;    // the look under way is one look, and nobody meddles
  bool is_waiting_ = false;      // close(kForever) looks until all is done
  bool may_move_clock_ = false;  // handlers may
  std::size_t last_called_ = ReferenceModel::kAny;  // partition, in this look
  bool is_listened_ = false;
  std::uint64_t handler_calls_ = 0;
  std::uint64_t told_calls_ = 0;
  std::uint64_t calls_untold_ = 0;
  std::unique_ptr<Buffer<Item>> buffer_;
  Buffer<Item>* live_ = buffer_.get();  // while it is destroyed, too, when its handlers call it
};

}  // namespace

std::string run_scenario(std::span<const std::uint8_t> bytes, std::ostream* trace) {
  const std::size_t alive_before = Item::alive;
  std::string wrong = Scenario(bytes, trace).run();
  if (wrong.empty() && Item::alive != alive_before) wrong = "items are left alive";
  return wrong;
}

}  // namespace databuffer::reference
