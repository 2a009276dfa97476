// Goal: every accepted item has exactly one end, and the ledger shows it; size() and info() agree
// with it.
// Method: random but seeded sequences of every call, against a model that is plain lists; compared
// after every single step.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;

namespace {

constexpr std::size_t kMaxSize = 8;
constexpr std::size_t kCapacity = 20;

/// A buffer of one partition, and what it must be like: every item by its number, each where it is.
class Twin {
 public:
  Twin(Overflow overflow, std::uint32_t seed)
      : random_(seed),
        overflow_(overflow),
        buffer_(options(overflow), [this](auto& batch, auto&) { return handle(batch); }) {}

  void step() {
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
      case 3:
        insert_one();
        break;
      case 4:
      case 5:
        insert_batch(random_() % 30);
        break;
      case 6:
      case 7:
        buffer_.work();
        break;
      case 8:
        buffer_.advance(std::chrono::seconds(random_() % 12));
        break;
      case 9:
        buffer_->flush();
        break;
      case 10:
        CHECK(buffer_->dump() == pending());
        break;
      default:
        if (random_() % 4 == 0) take();
    }
    check();
  }

  void close(Duration timeout) {
    is_giving_up_ = timeout == Duration::zero();
    buffer_->close(timeout);
    check();
    CHECK(pending_.empty());
    CHECK(buffer_->insert(-1) == InsertStatus::kClosed);
    count_refused(InsertStatus::kClosed, 1);
    check();
  }

  /// Every item there ever was is in exactly one place.
  void check_ends() {
    std::multiset<int> ends;
    for (const auto* items :
         {&flushed_, &failed_, &dropped_newest_, &dropped_oldest_, &dropped_closed_, &taken_}) {
      ends.insert(items->begin(), items->end());
    }
    std::multiset<int> all;
    for (int item = 0; item < next_; ++item) all.insert(item);
    CHECK(ends == all);
  }

 private:
  Options options(Overflow overflow) {
    Options options{.max_size = kMaxSize, .capacity = kCapacity, .overflow = overflow};
    options.on_drop = [this](std::span<int> items, const DropInfo& info) { drop(items, info); };
    return options;
  }

  FlushResult handle(Batch<int>& batch) {
    CHECK(batch.size() <= kMaxSize);
    in_flight_ = batch.size();
    for (const int item : batch) {
      REQUIRE_FALSE(pending_.empty());
      CHECK(item == pending_.front());
      pending_.pop_front();
    }
    check();
    const bool is_ok = random_() % 3 != 0;
    std::vector<int>& end = is_ok ? flushed_ : failed_;
    end.insert(end.end(), batch.begin(), batch.end());
    in_flight_ = 0;
    if (is_ok) return FlushResult::ok();
    is_failing_ = true;
    if (random_() % 2 == 0) return FlushResult::failed("no");
    throw std::runtime_error("no");
  }

  void drop(std::span<int> items, const DropInfo& info) {
    switch (info.reason) {
      case DropReason::kFailed:
        CHECK(is_failing_);
        is_failing_ = false;
        CHECK(std::vector<int>(failed_.end() - static_cast<std::ptrdiff_t>(items.size()),
                               failed_.end()) == std::vector<int>(items.begin(), items.end()));
        return;
      case DropReason::kNewest:
        CHECK(overflow_ == Overflow::kDropNewest);
        dropped_newest_.insert(dropped_newest_.end(), items.begin(), items.end());
        return;
      case DropReason::kOldest:
      case DropReason::kClosed:
        CHECK((info.reason == DropReason::kClosed ? is_giving_up_
                                                  : overflow_ == Overflow::kDropOldest));
        for (const int item : items) {
          REQUIRE_FALSE(pending_.empty());
          CHECK(item == pending_.front());
          pending_.pop_front();
          (info.reason == DropReason::kClosed ? dropped_closed_ : dropped_oldest_).push_back(item);
        }
        return;
      case DropReason::kNoMemory:
        FAIL("there is memory");
    }
  }

  void insert_one() {
    const int item = next_;
    const bool is_full = pending_.size() == kCapacity;
    // The model first: what the buffer drops for it, on_drop takes off the model's front.
    if (!is_full || overflow_ == Overflow::kDropOldest) pending_.push_back(item);
    const InsertStatus status = buffer_->insert(item, 0s);
    CHECK(status == (!is_full || overflow_ == Overflow::kDropOldest ? InsertStatus::kAccepted
                     : overflow_ == Overflow::kBlock                ? InsertStatus::kTimedOut
                     : overflow_ == Overflow::kReject               ? InsertStatus::kFull
                                                                    : InsertStatus::kDropped));
    if (status == InsertStatus::kAccepted || status == InsertStatus::kDropped) {
      ++next_;
    } else {
      count_refused(status, 1);
    }
  }

  void insert_batch(std::size_t count) {
    const std::vector<int> items = support::numbers(next_, count);
    const std::size_t room = kCapacity - pending_.size();
    const std::size_t fit = overflow_ == Overflow::kDropOldest ? count : std::min(count, room);
    pending_.insert(pending_.end(), items.begin(),
                    items.begin() + static_cast<std::ptrdiff_t>(fit));
    const InsertBatchResult result = buffer_->insert_batch(items, 0s);
    const bool is_all = fit == count;
    CHECK(result.accepted == (overflow_ == Overflow::kDropNewest ? count : fit));
    CHECK(result.status == (is_all                           ? InsertStatus::kAccepted
                            : overflow_ == Overflow::kBlock  ? InsertStatus::kTimedOut
                            : overflow_ == Overflow::kReject ? InsertStatus::kFull
                                                             : InsertStatus::kDropped));
    next_ += static_cast<int>(result.accepted);
    count_refused(result.status, count - result.accepted);
  }

  void count_refused(InsertStatus status, std::size_t items) {
    if (status == InsertStatus::kFull) refused_.refused_full += items;
    if (status == InsertStatus::kTimedOut) refused_.refused_timed_out += items;
    if (status == InsertStatus::kClosed) refused_.refused_closed += items;
  }

  void take() {
    CHECK(buffer_->take() == pending());
    taken_.insert(taken_.end(), pending_.begin(), pending_.end());
    pending_.clear();
  }

  [[nodiscard]] std::vector<int> pending() const { return {pending_.begin(), pending_.end()}; }

  void check() {
    const Ledger ledger = buffer_->ledger();
    Ledger expected = refused_;
    expected.flushed = flushed_.size();
    expected.failed = failed_.size();
    expected.dropped_newest = dropped_newest_.size();
    expected.dropped_oldest = dropped_oldest_.size();
    expected.dropped_closed = dropped_closed_.size();
    expected.taken = taken_.size();
    expected.pending = pending_.size();
    expected.in_flight = in_flight_;
    expected.accepted = static_cast<std::uint64_t>(next_);
    REQUIRE(ledger == expected);
    REQUIRE(ledger.balances());
    REQUIRE(buffer_->size() == pending_.size());
    const PartitionInfo info = buffer_->info()[0];
    REQUIRE(info.size == pending_.size());
    REQUIRE(info.in_flight == in_flight_);
    REQUIRE(info.ledger == expected);
  }

  std::mt19937 random_;
  const Overflow overflow_;
  std::deque<int> pending_;
  std::vector<int> flushed_, failed_, dropped_newest_, dropped_oldest_, dropped_closed_, taken_;
  std::size_t in_flight_ = 0;
  bool is_failing_ = false;
  bool is_giving_up_ = false;
  int next_ = 0;    // numbers accepted so far
  Ledger refused_;  // only these counts
  ManualBuffer<int> buffer_;
};

}  // namespace

TEST_SUITE("ledger") {
  TEST_CASE("random calls: the ledger is the model's after every step, under every policy") {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(to_string(overflow));
        CAPTURE(seed);
        Twin twin(overflow, seed);
        for (int step = 0; step < 400; ++step) twin.step();
        twin.close(seed % 2 == 0 ? Duration::zero() : kForever);
        twin.check_ends();
      }
    }
  }

  TEST_CASE("the buffer's ledger is the sum of its partitions'") {
    ManualBuffer<int> buffer({.partitions = 5, .max_size = 4, .capacity = 100},
                             [](Batch<int>& batch, const FlushContext&) {
                               return batch[0] % 3 == 0 ? FlushResult::failed("no")
                                                        : FlushResult::ok();
                             });
    for (int item = 0; item < 123; ++item) buffer->insert(item);
    buffer.work();
    Ledger sum;
    for (const PartitionInfo& info : buffer->info()) {
      CHECK(info.ledger.balances());
      sum += info.ledger;
    }
    CHECK(sum == buffer->ledger());
    CHECK(sum.accepted == 123);
    CHECK(sum.flushed + sum.failed == 20);
    CHECK(sum.pending == 103);
  }

  TEST_CASE("of a batch the items that were not taken are refused, of what has no length one") {
    ManualBuffer<int> buffer({.max_size = 4, .capacity = 4, .overflow = Overflow::kReject});
    CHECK(buffer->insert_batch(support::numbers(0, 10)).accepted == 4);
    CHECK(buffer->ledger().refused_full == 6);
    const auto value = [](int index) { return index; };
    CHECK(buffer->insert_batch(support::made_forward(3, value)).accepted == 0);
    CHECK(buffer->ledger().refused_full == 9);
    CHECK(buffer->insert_batch(support::made_one_by_one(3, value)).accepted == 0);
    CHECK(buffer->ledger().refused_full == 10);
    CHECK(buffer->insert_batch(std::vector<int>{}).status == InsertStatus::kAccepted);
    CHECK(buffer->ledger().refused() == 10);
    CHECK(buffer->ledger().accepted == 4);
  }

  TEST_CASE("what was given up for it, or has thrown, was not refused") {
    ManualBuffer<int> newest({.max_size = 4, .capacity = 4, .overflow = Overflow::kDropNewest});
    CHECK(newest->insert_batch(support::numbers(0, 10)).status == InsertStatus::kDropped);
    CHECK(newest->ledger().refused() == 0);
    ManualBuffer<int> oldest({.max_size = 4, .capacity = 4, .overflow = Overflow::kDropOldest});
    CHECK(oldest->insert_batch(support::numbers(0, 10)).status == InsertStatus::kAccepted);
    CHECK(oldest->ledger().refused() == 0);
    const auto throws = [](int) -> int { throw std::runtime_error("unreadable"); };
    ManualBuffer<int> buffer;
    CHECK_THROWS_AS(buffer->insert_batch(support::made_forward(3, throws)), std::runtime_error);
    CHECK(buffer->ledger().refused() == 0);
  }

  TEST_CASE("a refusal counts where the call was bound to, else in the first partition") {
    ManualBuffer<int> buffer(
        {.partitions = 3, .max_size = 4, .capacity = 4, .overflow = Overflow::kReject});
    const auto refused = [&](std::size_t index) { return buffer->info()[index].ledger.refused(); };
    std::size_t keyed = 0;  // fill the partition of one key
    while (buffer->insert_keyed(7, 0) == InsertStatus::kAccepted) ++keyed;
    CHECK(keyed == 4);
    std::size_t of_key = 0;
    while (refused(of_key) == 0) ++of_key;
    CHECK(buffer->insert_keyed(7, 0) == InsertStatus::kFull);
    CHECK(refused(of_key) == 2);
    // A batch stays where its first items went.
    const std::size_t next = buffer->insert_batch(support::numbers(0, 6)).accepted;
    CHECK(next == 4);
    CHECK(buffer->ledger().refused() == 4);
    CHECK(refused(of_key) == 2);
    // With every partition full a single insert is bound to none.
    CHECK(buffer->insert_batch(support::numbers(0, 4)).accepted == 4);
    const std::uint64_t before = refused(0);
    CHECK(buffer->try_insert(0) == InsertStatus::kFull);
    CHECK(refused(0) == before + 1);
    CHECK(buffer->ledger().refused() == 5);
  }

  TEST_CASE("a new buffer's ledger is all zero, and balances") {
    const ManualBuffer<int> buffer;
    CHECK(buffer->ledger() == Ledger{});
    CHECK(buffer->ledger().balances());
  }

  TEST_CASE("balances() is the contract's equation, each term in it") {
    Ledger ledger{.accepted = 36,
                  .flushed = 1,
                  .failed = 2,
                  .dropped_newest = 3,
                  .dropped_oldest = 4,
                  .dropped_closed = 5,
                  .dropped_no_memory = 6,
                  .taken = 7,
                  .pending = 8,
                  .in_flight = 0,
                  .refused_full = 9,
                  .refused_timed_out = 10,
                  .refused_closed = 11,
                  .refused_no_memory = 12};
    CHECK(ledger.dropped() == 18);
    CHECK(ledger.refused() == 42);
    CHECK(ledger.balances());
    ++ledger.in_flight;
    CHECK_FALSE(ledger.balances());
    ledger.accepted += 1;
    CHECK(ledger.balances());
  }
}
