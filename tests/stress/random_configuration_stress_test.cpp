// Goal: whatever the options, the callers and the handler do, every item taken has exactly one end,
// in order, and the ledger says which.
// Method: buffers with random options; producers that use every form of insert; others that flush,
// look, take, shrink and listen meanwhile; handlers that dawdle, fail in part or as a whole, ask
// for a retry and throw. Items know their producer and number, so each can be followed.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::DropReason;
using databuffer::FlushContext;
using databuffer::FlushResult;
using databuffer::InsertBatchResult;
using databuffer::InsertStatus;
using databuffer::Ledger;
using databuffer::OnOverdue;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::WaitStrategy;
using databuffer::stress::Crew;
using databuffer::stress::DropCounts;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::Witness;

constexpr std::size_t kMostItems = 20'000;  // of one producer in a round

std::size_t weight_of(const Item& item) { return item.sequence % 12; }

struct Setting {
  Options options;
  std::size_t producers = 1;
  std::size_t one_batch_fails_in = 0;  // 0: none does
  std::size_t one_batch_dawdles_in = 0;
  std::chrono::milliseconds lasts{};
  bool has_meddlers = false;  // others call what is not an insert meanwhile
  bool is_flushed_first = false;
};

Options random_options(Random& random) {
  Options options;
  options.name = "random";
  options.wait_strategy =
      random.pick({WaitStrategy::kAdaptive, WaitStrategy::kAdaptive, WaitStrategy::kPark,
                   WaitStrategy::kYield, WaitStrategy::kSpin});
  const bool is_busy = options.wait_strategy == WaitStrategy::kSpin;
  options.partitions = random.number(1, is_busy ? 2 : 8);
  options.max_size = random.pick({1U, 2U, 3U, 7U, 64U, 500U, 5000U});
  options.max_size_jitter = random.one_in(2) ? 0 : random.number(0, 2 * options.max_size);
  const std::size_t largest_batch = options.max_size + options.max_size_jitter;
  if (!random.one_in(4)) {
    options.capacity = largest_batch + random.pick<std::size_t>({0, 0, 1, 17, 300, 9000});
  }
  options.overflow = random.pick({Overflow::kBlock, Overflow::kBlock, Overflow::kReject,
                                  Overflow::kDropNewest, Overflow::kDropOldest});
  options.flush_interval = random.pick<databuffer::Duration>({0ns, 50us, 1ms, 10ms, 1h});
  options.flush_jitter = random.pick<databuffer::Duration>({0ns, 1ns, 1ms});
  options.insert_timeout =
      random.pick<databuffer::Duration>({0ns, 100us, 20ms, databuffer::kForever});
  options.flush_timeout = random.pick<databuffer::Duration>({1ms, 60s, databuffer::kForever});
  options.on_overdue = random.pick({OnOverdue::kReport, OnOverdue::kReplace});
  options.auto_shrink = random.one_in(3);
  options.retry.attempts = random.pick<std::uint32_t>({1, 2, 5});
  options.retry.initial_backoff = random.pick<databuffer::Duration>({0ns, 10us, 1ms});
  options.retry.max_backoff = 2ms;
  options.retry.on_exception = random.one_in(2);
  options.retry.isolate = random.one_in(3);
  options.seed = random.seed();
  if (random.one_in(3)) {
    options.max_bytes = random.pick<std::size_t>({1, 10, 1000});
    options.capacity_bytes = options.max_bytes + random.pick<std::size_t>({0, 9, 5000});
    options.weigh = [](const Item& item) { return weight_of(item); };
  }
  return options;
}

Setting random_setting(Random& random) {
  Setting setting;
  setting.options = random_options(random);
  setting.producers = random.number(1, 16);
  setting.one_batch_fails_in = random.pick<std::size_t>({0, 0, 2, 10});
  setting.one_batch_dawdles_in = random.pick<std::size_t>({0, 1, 5, 50});
  setting.lasts = std::chrono::milliseconds{random.number(1, 40)};
  setting.has_meddlers = random.one_in(2);
  setting.is_flushed_first = random.one_in(2);
  return setting;
}

std::string describe(const Setting& setting) {
  const Options& options = setting.options;
  std::ostringstream out;
  out << "partitions " << options.partitions << ", producers " << setting.producers << ", max_size "
      << options.max_size << "+" << options.max_size_jitter << ", capacity "
      << options.effective_capacity() << ", " << to_string(options.overflow) << ", "
      << to_string(options.wait_strategy) << ", interval " << options.flush_interval.count() << "+"
      << options.flush_jitter.count() << " ns, insert_timeout " << options.insert_timeout.count()
      << " ns, fails 1/" << setting.one_batch_fails_in << ", dawdles 1/"
      << setting.one_batch_dawdles_in << ", lasts " << setting.lasts.count() << " ms, meddlers "
      << setting.has_meddlers << ", flushed first " << setting.is_flushed_first << ", max_bytes "
      << options.max_bytes << ", capacity_bytes " << options.effective_capacity_bytes()
      << ", attempts " << options.retry.attempts << ", isolate " << options.retry.isolate
      << ", flush_timeout " << options.flush_timeout.count() << " ns, "
      << to_string(options.on_overdue) << ", auto_shrink " << options.auto_shrink;
  return out.str();
}

/// One buffer, from its start to its end.
class Round {
 public:
  Round(Setting setting, Random& random)
      : setting_(std::move(setting)),
        handler_seed_(random.seed()),
        witness_(setting_.producers, setting_.options.partitions, kMostItems) {
    setting_.options.on_drop = [this](std::span<Item> items, const databuffer::DropInfo& info) {
      drops_.add(info.reason, items.size());
      witness_.ended(items);
    };
  }

  void run(Random& random) {
    Buffer<Item> buffer(setting_.options,
                        [this](std::span<Item> items, const FlushContext& context) {
                          return handle(items, context);
                        });
    Crew producers;
    for (std::uint32_t index = 0; index < setting_.producers; ++index) {
      producers.add([this, &buffer, index, seed = random.seed()] { produce(buffer, index, seed); });
    }
    Crew meddlers;
    if (setting_.has_meddlers) {
      meddlers.add([this, &buffer, seed = random.seed()] { meddle(buffer, seed); });
      meddlers.add([this, &buffer] { look_and_take(buffer); });
    }
    std::this_thread::sleep_for(setting_.lasts);
    is_over_ = true;
    producers.join();
    meddlers.join();
    finish(buffer);
  }

 private:
  // Several threads may be in here for one partition, when a consumer has been replaced.
  FlushResult handle(std::span<Item> items, const FlushContext& context) {
    Random random(handler_seed_ ^ (context.batch_id << 24U) ^ (context.partition_index << 16U) ^
                  context.attempt);
    check_batch(items, context);
    // Later attempts see what earlier ones saw, or a part of it; and a call whose consumer is
    // replaced before it gets this far is overtaken.
    if (context.attempt == 1 && setting_.options.on_overdue == OnOverdue::kReport) {
      witness_.saw(context.partition_index, items);
    }
    if (setting_.one_batch_dawdles_in != 0 && random.one_in(setting_.one_batch_dawdles_in)) {
      std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 2000)});
    }
    if (setting_.one_batch_fails_in != 0 && random.one_in(setting_.one_batch_fails_in)) {
      return fail(items, random);
    }
    flush(items);
    return FlushResult::ok();
  }

  FlushResult fail(std::span<Item> items, Random& random) {
    switch (random.number(0, 4)) {
      case 0:
        throw std::runtime_error("no");
      case 1:
        throw 7;
      case 2:
        return FlushResult::failed("no");
      case 3:
        return FlushResult::retry("not yet", std::chrono::microseconds{random.number(0, 100)});
      default:
        // Only the last item is to blame.
        flush(items.first(items.size() - 1));
        return FlushResult::retry("one").only_items({items.size() - 1});
    }
  }

  void flush(std::span<const Item> items) {
    witness_.ended(items);
    flushed_items_ += items.size();
  }

  void check_batch(std::span<const Item> items, const FlushContext& context) {
    const Options& options = setting_.options;
    if (items.empty() || items.size() != context.size ||
        items.size() > options.max_size + options.max_size_jitter) {
      witness_.findings().add("a batch of " + std::to_string(items.size()) + " items, announced " +
                              std::to_string(context.size));
    }
    std::size_t weight = 0;
    for (const Item& item : items) weight += weight_of(item);
    if (options.max_bytes != 0 && weight > options.max_bytes && items.size() > 1) {
      witness_.findings().add("a batch that weighs " + std::to_string(weight));
    }
  }

  void produce(Buffer<Item>& buffer, std::uint32_t index, std::uint64_t seed) {
    Random random(seed);
    std::uint32_t sequence = 0;
    while (!is_over_ && sequence + 2000 < kMostItems) {
      if (random.one_in(20)) {
        sequence = insert_many(buffer, index, sequence, random);
      } else {
        insert_one(buffer, {index, sequence++}, random);
      }
    }
  }

  void insert_one(Buffer<Item>& buffer, const Item item, Random& random) {
    InsertStatus status = InsertStatus::kClosed;
    switch (random.number(0, 4)) {
      case 0:
        status = buffer.try_insert(item);
        break;
      case 1:
        status = buffer.insert(item, std::chrono::microseconds{random.number(0, 500)});
        break;
      case 2:
        // One key for each producer: the items of a key keep their order anyhow.
        status = buffer.insert_keyed(item.producer, item);
        break;
      default:
        status = buffer.insert(item);
    }
    if (status == InsertStatus::kAccepted || status == InsertStatus::kDropped) witness_.took(item);
    if (status == InsertStatus::kClosed) witness_.findings().add("an open buffer answers closed");
  }

  std::uint32_t insert_many(Buffer<Item>& buffer, std::uint32_t index, std::uint32_t first,
                            Random& random) {
    std::vector<Item> items(random.pick<std::size_t>({1, 2, 30, 2000}));
    for (std::uint32_t offset = 0; offset < items.size(); ++offset) {
      items[offset] = {index, first + offset};
    }
    InsertBatchResult result;
    if (random.one_in(2)) {
      result = buffer.insert_batch(items, std::chrono::microseconds{random.number(0, 5000)});
    } else {
      result = buffer.insert_batch(std::list<Item>(items.begin(), items.end()), 1ms);
    }
    for (std::size_t offset = 0; offset < result.accepted; ++offset) witness_.took(items[offset]);
    return first + static_cast<std::uint32_t>(items.size());
  }

  void meddle(Buffer<Item>& buffer, std::uint64_t seed) {
    Random random(seed);
    while (!is_over_) {
      if (random.one_in(2)) buffer.flush();
      if (random.one_in(4)) static_cast<void>(buffer.sync_flush(1ms));
      if (random.one_in(4)) {
        buffer.telemetry().attach("m", databuffer::EventSet::all(),
                                  [this](const databuffer::TelemetryEvent&) { ++events_; });
      } else {
        buffer.telemetry().detach("m");
      }
      std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 1000)});
    }
  }

  void look_and_take(Buffer<Item>& buffer) {
    while (!is_over_) {
      static_cast<void>(buffer.dump());
      static_cast<void>(buffer.info());
      buffer.shrink();
      const std::vector<Item> items = buffer.take();
      witness_.ended(items);
      taken_items_ += items.size();
      std::this_thread::sleep_for(1ms);
    }
  }

  void finish(Buffer<Item>& buffer) {
    if (setting_.is_flushed_first) {
      for (const auto& report : buffer.sync_flush()) REQUIRE(report.status == CallStatus::kDone);
      REQUIRE(buffer.size() == 0);
      check_ledger(buffer.ledger());
    }
    const databuffer::CloseReport report = buffer.close(databuffer::kForever);
    REQUIRE(report.status == CallStatus::kDone);
    REQUIRE(report.dropped == 0);
    REQUIRE(report.in_flight == 0);
    check_ledger(report.ledger);
    REQUIRE(witness_.verdict() == "");
  }

  void check_ledger(const Ledger& ledger) const {
    REQUIRE(ledger.balances());
    CHECK(ledger.accepted == witness_.taken_items());
    CHECK(ledger.flushed == flushed_items_);
    CHECK(ledger.failed == drops_.of(DropReason::kFailed));
    CHECK(ledger.dropped_newest == drops_.of(DropReason::kNewest));
    CHECK(ledger.dropped_oldest == drops_.of(DropReason::kOldest));
    CHECK(ledger.dropped_closed == 0);
    CHECK(ledger.dropped_no_memory == 0);
    CHECK(ledger.taken == taken_items_);
    CHECK(ledger.pending == 0);
    CHECK(ledger.in_flight == 0);
  }

  Setting setting_;
  const std::uint64_t handler_seed_;
  Witness witness_;
  DropCounts drops_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> flushed_items_{0};
  std::atomic<std::uint64_t> taken_items_{0};
  std::atomic<std::uint64_t> events_{0};
};

}  // namespace

TEST_SUITE("random configuration") {
  TEST_CASE("every item has exactly one end, in order, and the ledger is exact") {
    Random random = databuffer::stress::printed_random();
    const databuffer::stress::Budget budget(3s);
    std::size_t rounds = 0;
    do {
      Setting setting = random_setting(random);
      CAPTURE(describe(setting));
      Round round(std::move(setting), random);
      round.run(random);
      ++rounds;
    } while (budget.is_left());
    MESSAGE(rounds << " rounds");
  }
}
