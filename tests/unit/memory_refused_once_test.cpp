// Goal: one request for memory that is refused, at whatever point, ends nothing and loses nothing.
// Method: a scenario of calls is run with its first, second, … request refused, and none that
// follows, until it asks no more (support/counted_memory.hpp). No call may end the process; a call
// that cannot do without memory throws std::bad_alloc or answers kNoMemory.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/by_hand.hpp"
#include "support/counted_memory.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::by_hand;
using databuffer::support::grant_memory;
using databuffer::support::numbers;
using databuffer::support::Outcome;
using databuffer::support::refuse_from;
using databuffer::support::refuse_memory_from;
using databuffer::support::refuse_memory_once;
using databuffer::support::work_all;

namespace {

/// Where the items of a scenario ended, by the user's own count.
struct Ends {
  std::uint64_t flushed = 0;
  std::uint64_t given_up = 0;
  std::uint64_t taken = 0;
  bool is_calm = false;  // from now on the handler takes every batch
};

/// What a scenario runs on.
struct Setting {
  Overflow overflow = Overflow::kReject;
  bool is_weighed = false;
  bool is_heard = false;
};

/// Runs one call; one that has no memory for its answer says so.
template <class Call>
void attempt(Call call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
    // That is its answer.
  }
}

/// Handles batches: one fails, one asks for another attempt, one is overdue, and so on.
class Moody {
 public:
  Moody(ManualClock& clock, Ends& ends) : clock_(&clock), ends_(&ends) {}

  FlushResult operator()(std::span<int> items, const FlushContext& context) {
    calls_ = ends_->is_calm ? 0 : calls_ + 1;
    if (calls_ % 5 == 1) clock_->advance(1min);  // overdue
    if (calls_ % 5 == 2) return FlushResult::failed(text_);
    if (calls_ % 5 == 3 && context.attempt == 1) return FlushResult::retry(text_);
    if (calls_ % 5 == 4 && items.size() > 1) {
      FlushResult result = FlushResult::failed(text_).only_items({0});
      ends_->flushed += items.size() - 1;  // the others
      return result;
    }
    FlushResult result = FlushResult::ok(text_);
    ends_->flushed += items.size();
    return result;
  }

 private:
  ManualClock* clock_;
  Ends* ends_;
  int calls_ = 0;
  std::string text_ = std::string(100, 'x');
};

Options options_of(const Setting& setting, const ManualClock& clock, Ends& ends) {
  Options options = by_hand({.partitions = 2, .max_size = 10, .capacity = 40, .clock = &clock});
  options.overflow = setting.overflow;
  options.flush_timeout = 1s;
  options.retry.attempts = 3;
  options.on_drop = [&ends](std::span<int> items, const DropInfo&) {
    ends.given_up += items.size();
  };
  if (setting.is_weighed) {
    options.weigh = [](const int&) { return std::size_t{1}; };
    options.capacity_bytes = 30;
    options.max_bytes = 8;
  }
  return options;
}

/// Calls of every kind.
void use(Buffer<int>& buffer, ManualClock& clock, Ends& ends, const std::vector<int>& vector) {
  const auto step = [&] {
    attempt([&] { buffer.do_work(clock.now()); });
    clock.advance(1s);
  };
  for (int item = 0; item < 25; ++item) attempt([&] { buffer.insert(item, 0s); });
  step();
  attempt([&] { buffer.insert_keyed(std::string(40, 'k'), 1, 0s); });
  attempt([&] { buffer.insert_batch(vector, 0s); });
  step();
  attempt([&] { static_cast<void>(buffer.dump()); });
  attempt([&] { static_cast<void>(buffer.info()); });
  attempt([&] { buffer.insert_batch(std::list<int>(3, 7), 0s); });
  buffer.flush();
  step();
  attempt([&] { static_cast<void>(buffer.sync_flush(0s)); });
  step();
  attempt([&] { ends.taken += buffer.take().size(); });
  attempt([&] { buffer.insert_batch(vector, 0s); });
  for (int times = 0; times < 4; ++times) step();
}

/// Runs the scenario with that request refused. Returns whether there was such a request.
bool run(const Setting& setting, std::size_t request) {
  ManualClock clock(TimePoint{1h});
  Ends ends;
  Buffer<int> buffer(options_of(setting, clock, ends), Moody(clock, ends));
  if (setting.is_heard) {
    buffer.telemetry().attach("listens", EventSet::all(), [](const TelemetryEvent&) {});
  }
  const std::vector<int> vector = numbers(0, 33);
  refuse_memory_once(request);
  use(buffer, clock, ends, vector);
  attempt([&] { buffer.telemetry().attach("late", EventSet::all(), [](const auto&) {}); });
  attempt([&] { buffer.telemetry().detach("late"); });
  const bool was_refused = grant_memory();

  CHECK(buffer.ledger().balances());
  ends.is_calm = true;
  clock.advance(1h);  // past every pause before a retry
  work_all(buffer, clock.now());
  const bool goes_in = buffer.insert(1) == InsertStatus::kAccepted;
  CHECK(goes_in);
  CHECK(buffer.sync_flush()[1].status == CallStatus::kDone);
  CHECK(buffer.close().status == CallStatus::kDone);
  const Ledger ledger = buffer.ledger();
  CHECK(ledger.balances());
  CHECK(ledger.pending == 0);
  CHECK(ledger.taken == ends.taken);
  // on_drop is told of the items that failed, too. Of all items of a batch, if there is no memory
  // to tell the named ones from the others, which the handler has flushed.
  CHECK(ledger.accepted <= ends.flushed + ends.given_up + ends.taken);
  return was_refused;
}

}  // namespace

TEST_SUITE("without memory once") {
  TEST_CASE("one refused request ends nothing and loses nothing, in any call") {
    for (const Overflow overflow :
         {Overflow::kReject, Overflow::kBlock, Overflow::kDropOldest, Overflow::kDropNewest}) {
      for (const bool is_weighed : {false, true}) {
        for (const bool is_heard : {false, true}) {
          CAPTURE(to_string(overflow));
          CAPTURE(is_weighed);
          CAPTURE(is_heard);
          std::size_t request = 1;
          while (run({overflow, is_weighed, is_heard}, request)) {
            ++request;
            CAPTURE(request);
          }
          CHECK(request > 20);
        }
      }
    }
  }

  TEST_CASE("a call after an overdue one runs without a stop source, and the next has one again") {
    ManualClock clock(TimePoint{1h});
    std::vector<bool> can_stop;
    can_stop.reserve(10);
    bool is_refused = false;
    Options options = by_hand({.max_size = 1, .clock = &clock});
    options.flush_timeout = 1s;
    Buffer<int> buffer(options, [&](std::span<int>, const FlushContext& context) {
      if (is_refused) grant_memory();
      can_stop.push_back(context.stop_token.stop_possible());
      clock.advance(1min);
    });
    const auto flush_one = [&] {
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
      if (is_refused) refuse_memory_from(1);
      buffer.do_work(clock.now());
    };
    flush_one();
    is_refused = true;
    flush_one();
    is_refused = false;
    flush_one();
    CHECK(can_stop == std::vector<bool>{true, false, true});
    CHECK(buffer.info()[0].overdue_batches == 3);
    CHECK(buffer.ledger() == Ledger{.accepted = 3, .flushed = 3});
  }

  TEST_CASE("a group that has no memory for its reports stops none; its end needs none") {
    Options options = by_hand();
    auto group = std::make_unique<Supervisor>("group", 0s);
    Buffer<int>& buffer = group->start<int>(options, [](std::span<int>) {});
    const Outcome outcome = refuse_from(1, [&] { static_cast<void>(group->stop(0s)); });
    CHECK(outcome.has_thrown);
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.take() == numbers(1, 1));
    CHECK_FALSE(refuse_from(1, [&] { group.reset(); }).has_thrown);
  }
}
