// Goal: handlers may throw anything, hang for a while and be overdue; the consumer lives on, and
// whatever the handler did not do goes to on_drop.
// Method: handlers that fail at random, or block until told, on real threads with short timeouts.

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <latch>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/throw_anything.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::DropReason;
using databuffer::Event;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::OnOverdue;
using databuffer::Options;
using databuffer::PartitionInfo;
using databuffer::TelemetryEvent;
using databuffer::stress::Crew;
using databuffer::stress::DropCounts;
using databuffer::stress::eventually;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

std::size_t lines_of(const char* path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

}  // namespace

TEST_SUITE("handler failure") {
  TEST_CASE("a handler that throws anything at random loses nothing, and keeps being called") {
    Random random = databuffer::stress::printed_random();
    constexpr std::size_t kProducers = 4;
    constexpr std::size_t kPartitions = 2;
    const std::uint32_t items = scaled(40'000);
    Witness witness(kProducers, kPartitions, items);
    DropCounts drops;
    std::vector<Random> handler_random;
    for (std::size_t index = 0; index < kPartitions; ++index)
      handler_random.emplace_back(random.seed());
    Options options{.name = "throws", .partitions = kPartitions, .max_size = 13};
    options.on_drop = [&](std::span<Item> dropped, const databuffer::DropInfo& info) {
      drops.add(info.reason, dropped.size());
      witness.ended(dropped);
    };
    Buffer<Item> buffer(std::move(options),
                        [&](std::span<Item> batch, const FlushContext& context) {
                          witness.saw(context.partition_index, batch);
                          Random& own = handler_random[context.partition_index];
                          if (!own.one_in(5)) databuffer::stress::throw_anything(own);
                          witness.ended(batch);
                        });
    Crew producers;
    producers.add(kProducers, [&](std::size_t producer) {
      for (std::uint32_t sequence = 0; sequence < items; ++sequence) {
        const Item item{static_cast<std::uint32_t>(producer), sequence};
        if (buffer.insert(item, databuffer::kForever) != InsertStatus::kAccepted) {
          witness.findings().add("refused");
        }
        witness.took(item);
      }
    });
    producers.join();
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(witness.verdict() == "");
    const databuffer::Ledger ledger = buffer.ledger();
    CHECK(ledger.balances());
    CHECK(ledger.failed > 0);
    CHECK(ledger.flushed > 0);
    CHECK(ledger.failed == drops.of(DropReason::kFailed));
    CHECK(ledger.failed + ledger.flushed == kProducers * items);
  }

  // The token is set before the hook is called, so only at the end is it known who was told
  // rightly: on a slow machine a call may be overdue before its first line, and reported a little
  // later.
  TEST_CASE("each overdue call is reported once, and only its own stop token is set") {
    std::mutex mutex;  // guards the next four
    std::uint64_t reports = 0;
    std::set<std::uint64_t> reported;       // batch ids, as in the next two
    std::set<std::uint64_t> hung;           // those that returned only when they were told to
    std::set<std::uint64_t> told_at_first;  // those whose token was set when they began
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> wrong_reports{0};
    Buffer<Item> buffer({.name = "overdue", .max_size = 1, .flush_timeout = 5ms},
                        [&](std::span<Item> batch, const FlushContext& context) {
                          const bool is_told = context.stop_token.stop_requested();
                          const bool hangs = batch[0].sequence % 2 != 0;
                          ++calls;
                          {
                            const std::lock_guard lock(mutex);
                            if (is_told) told_at_first.insert(context.batch_id);
                            if (hangs) hung.insert(context.batch_id);
                          }
                          if (!hangs) return;
                          // Until the watch says so: without it the watchdog ends this test.
                          while (!context.stop_token.stop_requested()) sched_yield();
                          // Long enough for a second report, were there one.
                          std::this_thread::sleep_for(15ms);
                        });
    buffer.telemetry().attach("count", Event::kOverdue, [&](const TelemetryEvent& event) {
      if (event.size != 1 || event.duration < 5ms) ++wrong_reports;
      const std::lock_guard lock(mutex);
      ++reports;
      reported.insert(event.batch_id);
    });
    constexpr std::uint32_t kItems = 40;
    for (std::uint32_t sequence = 0; sequence < kItems; ++sequence) {
      REQUIRE(buffer.insert(Item{0, sequence}, databuffer::kForever) == InsertStatus::kAccepted);
    }
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    // close() does not wait for hooks.
    CHECK(eventually([&] {
      const std::lock_guard lock(mutex);
      return reports == buffer.info()[0].overdue_batches;
    }));
    const std::lock_guard lock(mutex);
    CHECK(calls == kItems);
    CHECK(hung.size() == kItems / 2);
    CHECK(reported.size() == reports);
    CHECK(wrong_reports == 0);
    CHECK(std::includes(reported.begin(), reported.end(), hung.begin(), hung.end()));
    CHECK(std::includes(reported.begin(), reported.end(), told_at_first.begin(),
                        told_at_first.end()));
  }

  TEST_CASE("info() shows an overdue call while it lasts") {
    std::latch may_return{1};
    Buffer<Item> buffer({.name = "shown", .max_size = 1, .flush_timeout = 5ms},
                        [&](std::span<Item>) { may_return.wait(); });
    REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    CHECK(eventually([&] { return buffer.info()[0].is_overdue; }));
    const PartitionInfo info = buffer.info()[0];
    CHECK(info.is_flushing);
    CHECK(info.flushing_for >= 5ms);
    CHECK(info.overdue_batches == 1);
    CHECK(info.in_flight == 1);
    may_return.count_down();
    CHECK(buffer.sync_flush()[0].status == CallStatus::kDone);
    CHECK_FALSE(buffer.info()[0].is_flushing);
    CHECK_FALSE(buffer.info()[0].is_overdue);
  }

  TEST_CASE("consumers that are replaced again and again leave no threads and no stacks behind") {
    const std::uint32_t replacements = 60;
    Options options{.name = "again", .max_size = 1, .flush_timeout = 1ms};
    options.on_overdue = OnOverdue::kReplace;
    options.max_abandoned = 2;
    Buffer<Item> buffer(std::move(options), [&](std::span<Item>, const FlushContext& context) {
      while (!context.stop_token.stop_requested()) sched_yield();
      std::this_thread::sleep_for(3ms);
    });
    const auto insert_some = [&](std::uint32_t count) {
      for (std::uint32_t item = 0; item < count; ++item) {
        REQUIRE(buffer.insert(Item{}, databuffer::kForever) == InsertStatus::kAccepted);
      }
      REQUIRE(buffer.sync_flush()[0].status == CallStatus::kDone);
      // One consumer and the watch.
      REQUIRE(eventually([] { return databuffer::stress::tasks_named("again.").size() == 2; }));
    };
    insert_some(replacements);
    // Each stack is a mapping of its own, and stays one until its thread is joined or detached.
    const std::size_t mappings = lines_of("/proc/self/maps");
    const std::size_t memory = mallinfo2().uordblks;  // 0 where a sanitizer has the allocator
    insert_some(replacements);
    // What was replaced is freed: it was 6.7 KiB each.
    CHECK(mallinfo2().uordblks < memory + std::size_t{replacements} * 1024);
    CHECK(lines_of("/proc/self/maps") < mappings + replacements / 2);
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(buffer.ledger().flushed == 2 * replacements);
  }
}
