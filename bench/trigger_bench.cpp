// Question: how long after its trigger does a flush begin, and how long do sync_flush and close
//           take?
// Setup:    items carry the time-stamp counter of their insert; the handler compares. Cold: the
//           consumer has slept for 2 ms when the completing item comes. Hot: one producer at the
//           given rate (0: as fast as it can).
// Reading:  percentiles in ns. Size triggers run from the insert that completes the batch to the
//           handler's first instruction; the deadline's error is measured from when it was due;
//           `early`  the share of deadlines that fired before that.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "bench/support.hpp"
#include "bench/tsc.hpp"

namespace databuffer::bench {
namespace {

using namespace std::chrono_literals;

// Who waits for an item that was refused would wait for ever.
void must_go_in(InsertStatus status) {
  if (status == InsertStatus::kAccepted) [[likely]]
    return;
  std::fprintf(stderr, "refused: %s\n", std::string(to_string(status)).c_str());
  std::exit(1);
}

void BM_Buffer_SizeTrigger_Cold(benchmark::State& state) {
  const auto wait_strategy = static_cast<WaitStrategy>(state.range(0));
  constexpr std::size_t kMaxSize = 100;
  warn_if_crowded(state, 2);
  state.SetLabel(std::string(to_string(wait_strategy)));
  Latencies latencies(100'000);
  std::atomic<std::uint64_t> handled{0};
  Buffer<std::int64_t> buffer(
      {.name = "bench", .max_size = kMaxSize, .wait_strategy = wait_strategy},
      [&](std::span<std::int64_t> items) {
        latencies.record(ticks() - items.back());
        // release: pairs with the wait below; the record is complete when it ends.
        handled.fetch_add(items.size(), std::memory_order_release);
      });
  std::uint64_t offered = 0;
  for (auto _ : state) {
    for (std::size_t index = 1; index < kMaxSize; ++index) must_go_in(buffer.insert(0));
    std::this_thread::sleep_for(2ms);
    must_go_in(buffer.insert(ticks()));
    offered += kMaxSize;
    while (handled.load(std::memory_order_acquire) < offered) std::this_thread::yield();
  }
  buffer.close();
  require_balance(state, buffer);
  report_batches(state, buffer, offered);
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_SizeTrigger_Cold)
    ->ArgName("wait_strategy")
    ->Arg(static_cast<int>(WaitStrategy::kAdaptive))
    ->Arg(static_cast<int>(WaitStrategy::kSpin))
    ->Arg(static_cast<int>(WaitStrategy::kPark))
    ->UseRealTime();

// What the system takes to wake a thread that has slept for 2 ms, with nothing of ours in between:
// what a cold trigger can at best be.
void BM_Futex_Cold(benchmark::State& state) {
  warn_if_crowded(state, 2);
  Latencies latencies(100'000);
  std::atomic<int> bell{0};  // of this type std::atomic waits on a futex
  std::atomic<int> heard{0};
  std::int64_t rung_at = 0;  // handed over by `bell`
  std::atomic<bool> is_over{false};
  std::thread sleeper([&] {
    for (int number = 0;; ++number) {
      // acquire: pairs with the ring. release, below: pairs with the wait for it.
      bell.wait(number, std::memory_order_acquire);
      if (is_over.load(std::memory_order_relaxed)) return;  // relaxed: the bell has ordered it
      latencies.record(ticks() - rung_at);
      heard.store(number + 1, std::memory_order_release);
    }
  });
  const auto ring = [&] {
    bell.fetch_add(1, std::memory_order_release);
    bell.notify_one();
  };
  int rings = 0;
  for (auto _ : state) {
    std::this_thread::sleep_for(2ms);
    rung_at = ticks();
    ring();
    ++rings;
    while (heard.load(std::memory_order_acquire) < rings) std::this_thread::yield();
  }
  is_over.store(true, std::memory_order_relaxed);
  ring();
  sleeper.join();
  latencies.report(state, "");
}
BENCHMARK(BM_Futex_Cold)->UseRealTime();

void BM_Buffer_SizeTrigger_Hot(benchmark::State& state) {
  const auto items_per_us = state.range(0);
  constexpr std::size_t kItems = 200'000;  // an iteration
  Latencies latencies(1'000'000);
  Buffer<std::int64_t> buffer({.name = "bench"},
                              [&](std::span<std::int64_t> items, const FlushContext& context) {
                                const std::int64_t now = ticks();
                                if (context.reason == FlushReason::kSize) {
                                  latencies.record(now - items.back());
                                }
                              });
  std::uint64_t offered = 0;
  const double ticks_per_item =
      items_per_us == 0 ? 0 : 1e3 / static_cast<double>(items_per_us) / ns_per_tick();
  for (auto _ : state) {
    const std::int64_t began = ticks();
    for (std::size_t index = 0; index < kItems; ++index) {
      std::int64_t now = ticks();
      const auto due =
          began + static_cast<std::int64_t>(static_cast<double>(index) * ticks_per_item);
      while (now < due) now = ticks();
      must_go_in(buffer.insert(now));
    }
    offered += kItems;
  }
  buffer.close();
  require_balance(state, buffer);
  state.SetItemsProcessed(static_cast<std::int64_t>(offered));
  report_batches(state, buffer, offered);
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_SizeTrigger_Hot)
    ->ArgName("items_per_us")
    ->Arg(0)
    ->Arg(10)
    ->Arg(20)
    ->UseRealTime();

void BM_Buffer_Deadline(benchmark::State& state) {
  const auto interval = std::chrono::milliseconds(state.range(0));
  const auto interval_ticks =
      static_cast<std::int64_t>(static_cast<double>(state.range(0)) * 1e6 / ns_per_tick());
  Latencies latencies(100'000);
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> early{0};
  Buffer<std::int64_t> buffer({.name = "bench", .flush_interval = interval, .flush_jitter = 0ns},
                              [&](std::span<std::int64_t> items) {
                                const std::int64_t error = ticks() - items.front() - interval_ticks;
                                latencies.record(error);
                                // relaxed: read after the buffer is closed. A thousandth is the
                                // counter's own error.
                                if (error < -interval_ticks / 1000)
                                  early.fetch_add(1, std::memory_order_relaxed);
                                // release: pairs with the wait below.
                                handled.fetch_add(items.size(), std::memory_order_release);
                              });
  std::uint64_t offered = 0;
  for (auto _ : state) {
    must_go_in(buffer.insert(ticks()));
    ++offered;
    while (handled.load(std::memory_order_acquire) < offered) std::this_thread::sleep_for(100us);
  }
  buffer.close();
  require_balance(state, buffer);
  // An item that comes while its consumer goes to sleep has the time of the last look at the empty
  // partition (engine/README.md). That is seldom: it takes a consumer that loses its core there.
  // relaxed: the buffer is closed.
  const std::uint64_t early_items = early.load(std::memory_order_relaxed);
  if (early_items > 1 + offered / 20) state.SkipWithError("one deadline in twenty fires early");
  state.counters["early"] =
      static_cast<double>(early_items) / static_cast<double>(std::max<std::uint64_t>(1, offered));
  report_batches(state, buffer, offered);
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_Deadline)->ArgName("interval_ms")->Arg(1)->Arg(10)->UseRealTime();

void BM_Buffer_SyncFlush_Idle(benchmark::State& state) {
  const auto partitions = static_cast<std::size_t>(state.range(0));
  Latencies latencies(1'000'000);
  Buffer<std::int64_t> buffer({.name = "bench", .partitions = partitions},
                              [](std::span<std::int64_t>) {});
  for (auto _ : state) {
    const std::int64_t before = ticks();
    const auto reports = buffer.sync_flush(1s);
    latencies.record(ticks() - before);
    if (reports.size() != partitions || reports.front().status != CallStatus::kDone) {
      state.SkipWithError("sync_flush of an idle buffer is not done within a second");
    }
  }
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_SyncFlush_Idle)->ArgName("partitions")->Arg(1)->Arg(4)->Arg(16)->UseRealTime();

void BM_Buffer_Close(benchmark::State& state) {
  const auto partitions = static_cast<std::size_t>(state.range(0));
  const auto pending = static_cast<std::int64_t>(state.range(1));
  Latencies latencies(100'000);
  std::uint64_t batches = 0;
  std::uint64_t flushed = 0;
  for (auto _ : state) {
    std::optional<Buffer<std::int64_t>> buffer;
    buffer.emplace(Options{.name = "bench", .partitions = partitions},
                   [](std::span<std::int64_t>) {});
    for (std::int64_t item = 0; item < pending; ++item) must_go_in(buffer->insert(item));
    const std::int64_t before = ticks();
    const CloseReport report = buffer->close();
    const std::int64_t took = ticks() - before;
    latencies.record(took);
    state.SetIterationTime(static_cast<double>(took) * ns_per_tick() / 1e9);
    flushed += report.ledger.flushed;
    for (const PartitionInfo& partition : buffer->info()) batches += partition.batches;
  }
  report_batches(
      state, flushed, batches,
      static_cast<std::uint64_t>(pending * static_cast<std::int64_t>(state.iterations())));
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_Close)
    ->ArgNames({"partitions", "pending"})
    ->Args({1, 0})
    ->Args({1, 1000})
    ->Args({4, 1000})
    ->Args({16, 1000})
    ->Iterations(200)
    ->UseManualTime();

}  // namespace
}  // namespace databuffer::bench
