#include "stress/random_round.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "stress/threads.hpp"
#include "stress/throw_anything.hpp"

namespace databuffer::stress {
namespace {

using namespace std::chrono_literals;

// Within a round: it does not last for a long flush_timeout.
bool can_be_replaced(const Options& options) {
  return options.on_overdue == OnOverdue::kReplace && options.flush_timeout < kLongTimeout;
}

}  // namespace

Round::Round(Setting setting, Random& random, Outside outside)
    : setting_(std::move(setting)),
      refuse_memory_(outside.refuse_memory),
      copies_(std::move(outside.copies)),
      handler_seed_(random.seed()),
      witness_(setting_.producers, setting_.options.partitions, setting_.most_items) {
  copies_.push_back(databuffer_test_copy());
  setting_.options.on_drop = [this](std::span<Item> items, const DropInfo& info) {
    dropped(items, info);
  };
}

std::string Round::run(Random& random) {
  const std::unique_ptr<Buffer<Item>> started = copy(random).start(
      setting_.options, [this](std::span<Item> items, const FlushContext& context) {
        return handle(items, context);
      });
  Buffer<Item>& buffer = *started;
  Crew crew;
  if (setting_.has_throwing_hooks) listen(buffer);
  if (setting_.has_meddlers) {
    crew.add([this, &buffer, seed = random.seed()] { meddle(buffer, seed); });
    crew.add([this, &buffer] { look_and_take(buffer); });
  }
  if (setting_.short_life != 0) {
    for (std::size_t worker = 0; worker < setting_.lives_at_once; ++worker) {
      crew.add([this, &buffer, worker, seed = random.seed()] {
        for (std::size_t index = worker; index < setting_.producers && !is_over_;
             index += setting_.lives_at_once) {
          std::thread([&] {
            produce(buffer, static_cast<std::uint32_t>(index), seed ^ index);
          }).join();
        }
      });
    }
  } else {
    for (std::uint32_t index = 0; index < setting_.producers; ++index) {
      crew.add([this, &buffer, index, seed = random.seed()] { produce(buffer, index, seed); });
    }
  }
  std::this_thread::sleep_for(setting_.lasts);
  if (setting_.is_closed_early) {
    is_closed_ = true;
    check_close(buffer.close(setting_.close_timeout));
  }
  is_over_ = true;
  crew.join();
  finish(buffer);
  return witness_.verdict();
}

// Several threads may be in here for one partition, when a consumer has been replaced.
FlushResult Round::handle(std::span<Item> items, const FlushContext& context) {
  Random random(handler_seed_ ^ (context.batch_id << 24U) ^ (context.partition_index << 16U) ^
                context.attempt);
  check_batch(items, context);
  // Later attempts see what earlier ones saw, or a part of it; and a call whose consumer is
  // replaced before it gets this far is overtaken.
  if (context.attempt == 1 && !can_be_replaced(setting_.options)) {
    witness_.saw(context.partition_index, items);
  }
  if (setting_.one_batch_dawdles_in != 0 && random.one_in(setting_.one_batch_dawdles_in)) {
    std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 2000)});
  }
  if (setting_.one_batch_is_stuck_in != 0 && random.one_in(setting_.one_batch_is_stuck_in)) {
    std::this_thread::sleep_for(std::chrono::milliseconds{random.number(5, 50)});
  }
  if (setting_.one_batch_fails_in != 0 && random.one_in(setting_.one_batch_fails_in)) {
    return fail(items, random);
  }
  flush(items);
  return FlushResult::ok();
}

const Copy& Round::copy(Random& random) const {
  return copies_[random.number(0, copies_.size() - 1)];
}

FlushResult Round::fail(std::span<Item> items, Random& random) {
  switch (random.number(0, 4)) {
    case 0:
    case 1:
      throw_anything(random);
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

void Round::flush(std::span<const Item> items) {
  witness_.ended(items);
  flushed_items_ += items.size();
}

void Round::check_batch(std::span<const Item> items, const FlushContext& context) {
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

void Round::dropped(std::span<const Item> items, const DropInfo& info) {
  drops_.add(info.reason, items.size());
  witness_.ended(items);
  if (setting_.has_throwing_hooks && drop_calls_++ % 5 == 0) throw std::runtime_error("on_drop");
}

void Round::produce(Buffer<Item>& buffer, std::uint32_t index, std::uint64_t seed) {
  Random random(seed);
  std::uint32_t sequence = 0;
  const std::size_t most_inserts =
      setting_.short_life != 0 ? setting_.short_life : setting_.most_items;
  for (std::size_t inserts = 0; inserts < most_inserts; ++inserts) {
    if (is_over_ || sequence + kLongestBatch >= setting_.most_items) return;
    if (random.one_in(setting_.one_insert_is_many_in)) {
      sequence = insert_many(buffer, index, sequence, random);
    } else {
      insert_one(buffer, {index, sequence++}, random);
    }
  }
}

template <class Call>
void Round::maybe_without_memory(Random& random, Call call) {
  if (refuse_memory_ != nullptr && setting_.lacks_memory && random.one_in(10)) {
    refuse_memory_(random.number(1, 6), call);
  } else {
    call();
  }
}

void Round::insert_one(Buffer<Item>& buffer, const Item item, Random& random) {
  InsertStatus status = InsertStatus::kClosed;
  maybe_without_memory(random, [&] { status = copy(random).insert(buffer, item, random); });
  if (status == InsertStatus::kAccepted || status == InsertStatus::kDropped) witness_.took(item);
  if (status == InsertStatus::kClosed && !is_closed_) {
    witness_.findings().add("an open buffer answers closed");
  }
  if (status == InsertStatus::kNoMemory && !setting_.lacks_memory) {
    witness_.findings().add("there was memory, and an insert says no");
  }
}

std::uint32_t Round::insert_many(Buffer<Item>& buffer, std::uint32_t index, std::uint32_t first,
                                 Random& random) {
  std::vector<Item> items(random.pick<std::size_t>({1, 2, 30, kLongestBatch}));
  for (std::uint32_t offset = 0; offset < items.size(); ++offset) {
    items[offset] = {index, first + offset};
  }
  InsertBatchResult result;
  if (random.one_in(2)) {
    const std::chrono::microseconds timeout{random.number(0, 5000)};
    maybe_without_memory(random,
                         [&] { result = copy(random).insert_vector(buffer, items, timeout); });
  } else {
    std::list<Item> listed(items.begin(), items.end());
    maybe_without_memory(random,
                         [&] { result = copy(random).insert_list(buffer, std::move(listed)); });
  }
  for (std::size_t offset = 0; offset < result.accepted; ++offset) witness_.took(items[offset]);
  return first + static_cast<std::uint32_t>(items.size());
}

void Round::listen(Buffer<Item>& buffer) {
  buffer.telemetry().attach("throws", EventSet::all(), [this](const TelemetryEvent&) {
    if (++events_ % 100 == 0) throw std::runtime_error("a hook");  // That detaches it.
  });
}

void Round::meddle(Buffer<Item>& buffer, std::uint64_t seed) {
  Random random(seed);
  while (!is_over_) {
    if (random.one_in(2)) buffer.flush();
    if (random.one_in(4)) static_cast<void>(buffer.sync_flush(1ms));
    if (random.one_in(4)) {
      buffer.telemetry().attach("m", EventSet::all(), [this](const TelemetryEvent&) { ++events_; });
    } else {
      buffer.telemetry().detach("m");
    }
    if (setting_.has_throwing_hooks && random.one_in(4)) listen(buffer);
    std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 1000)});
  }
}

void Round::look_and_take(Buffer<Item>& buffer) {
  while (!is_over_) {
    static_cast<void>(buffer.dump());
    static_cast<void>(buffer.info());
    const std::vector<Item> items = buffer.take();
    witness_.ended(items);
    taken_items_ += items.size();
    std::this_thread::sleep_for(1ms);
  }
}

void Round::finish(Buffer<Item>& buffer) {
  if (setting_.is_flushed_first) {
    for (const FlushReport& report : buffer.sync_flush()) {
      if (report.status != CallStatus::kDone) witness_.findings().add("sync_flush is not done");
    }
    expect_equal("items behind sync_flush", buffer.size(), 0);
    check_ledger(buffer.ledger());
  }
  if (!setting_.is_closed_early) check_close(buffer.close(kForever));
  // Beyond a close that has timed out a handler that is stuck keeps its batch, and an insert that
  // had begun before it may end.
  const auto is_over = [&] {
    const Ledger ledger = buffer.ledger();
    return ledger.in_flight == 0 && ledger.pending == 0;
  };
  if (!eventually(is_over)) witness_.findings().add("items have no end");
  check_ledger(buffer.ledger());
}

void Round::check_close(const CloseReport& report) {
  if (setting_.close_timeout != kForever && report.status == CallStatus::kTimedOut) return;
  // What a range has read and cannot take back when it is refused is given up, too.
  const bool is_stranded = setting_.is_closed_early && report.dropped > 0;
  if (report.status != CallStatus::kDone && !is_stranded) {
    witness_.findings().add("close is not done");
  }
  if (!setting_.is_closed_early) expect_equal("close's drops", report.dropped, 0);
  expect_equal("close's items in flight", report.in_flight, 0);
  expect_equal("close's pending items", report.ledger.pending, 0);
}

void Round::check_ledger(const Ledger& ledger) {
  if (!ledger.balances()) witness_.findings().add("the ledger does not balance");
  expect_equal("accepted", ledger.accepted, witness_.taken_items());
  expect_equal("flushed", ledger.flushed, flushed_items_);
  expect_equal("failed", ledger.failed, drops_.of(DropReason::kFailed));
  expect_equal("dropped_newest", ledger.dropped_newest, drops_.of(DropReason::kNewest));
  expect_equal("dropped_oldest", ledger.dropped_oldest, drops_.of(DropReason::kOldest));
  expect_equal("dropped_closed", ledger.dropped_closed, drops_.of(DropReason::kClosed));
  expect_equal("dropped_no_memory", ledger.dropped_no_memory, drops_.of(DropReason::kNoMemory));
  expect_equal("taken", ledger.taken, taken_items_);
  expect_equal("pending", ledger.pending, 0);
  expect_equal("in_flight", ledger.in_flight, 0);
}

void Round::expect_equal(const char* what, std::uint64_t actual, std::uint64_t expected) {
  if (actual == expected) return;
  witness_.findings().add(std::string(what) + ": " + std::to_string(actual) + ", expected " +
                          std::to_string(expected));
}

}  // namespace databuffer::stress
