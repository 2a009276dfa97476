// Question: when the handler is the bottleneck, is it kept busy, are producers served fairly, and
//           does a slow partition hold up the others?
// Setup:    the handler sleeps for a time per item, as one that waits for a database does;
//           producers insert as fast as they can for a fixed time, every insert timed.
// Reading:  `busy`      share of the time that the handlers were running: 1 is all there is to get.
//           `fairness`  fewest over most items accepted from one producer.
//           `others`    items/s of the three partitions that are not slow, against the same run
//                       without a slow one.
//           p50 … max   of an insert, waiting included.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "bench/support.hpp"
#include "bench/tsc.hpp"

namespace databuffer::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxPartitions = 4;

/// A handler that waits for a time per item, for each partition its own.
class SlowHandler {
 public:
  struct alignas(detail::kDestructiveBytes) Share {
    Duration per_item{};                   // fixed
    std::atomic<std::uint64_t> items{0};   // its consumer writes, the benchmark reads
    std::atomic<std::int64_t> busy_ns{0};  // likewise
  };

  explicit SlowHandler(std::array<Share, kMaxPartitions>& shares) : shares_(&shares) {}

  void operator()(std::span<std::uint64_t> items, const FlushContext& context) const {
    Share& share = (*shares_)[context.partition_index];
    const auto began = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(share.per_item * static_cast<std::int64_t>(items.size()));
    const Duration took = std::chrono::steady_clock::now() - began;
    // relaxed, twice: statistics.
    share.items.fetch_add(items.size(), std::memory_order_relaxed);
    share.busy_ns.fetch_add(took.count(), std::memory_order_relaxed);
  }

 private:
  std::array<Share, kMaxPartitions>* shares_;
};

struct Outcome {
  double seconds = 0;
  std::array<std::uint64_t, kMaxPartitions> items{};  // handled while producers ran
  double busy = 0;
  double fairness = 0;
  std::uint64_t accepted = 0;
  std::uint64_t offered = 0;
  std::uint64_t batches = 0;
  bool balances = false;
};

/// Producers insert for `run_time`; `per_item` is each partition's handler time.
Outcome run_slow(std::size_t producers, const std::vector<Duration>& per_item, Duration run_time,
                 Latencies& latencies) {
  std::array<SlowHandler::Share, kMaxPartitions> shares;
  for (std::size_t index = 0; index < per_item.size(); ++index) {
    shares[index].per_item = per_item[index];
  }
  Buffer<std::uint64_t> buffer({.name = "bench",
                                .partitions = per_item.size(),
                                .max_size = 1000,
                                .insert_timeout = kForever},
                               SlowHandler(shares));
  std::atomic<bool> is_over{false};
  std::vector<std::uint64_t> accepted(producers, 0);
  std::vector<std::uint64_t> offered(producers, 0);
  std::vector<Latencies> recorded;
  for (std::size_t index = 0; index < producers; ++index) recorded.emplace_back(1'000'000);
  std::vector<std::thread> threads;
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t index = 0; index < producers; ++index) {
    threads.emplace_back([&, index] {
      std::uint64_t mine = 0;
      std::uint64_t calls = 0;
      // relaxed: only ends the loop.
      while (!is_over.load(std::memory_order_relaxed)) {
        const std::int64_t before = ticks();
        if (buffer.insert(calls) == InsertStatus::kAccepted) ++mine;
        recorded[index].record(ticks() - before);
        ++calls;
      }
      accepted[index] = mine;
      offered[index] = calls;
    });
  }
  std::this_thread::sleep_for(run_time);
  Outcome outcome;
  std::int64_t busy_ns = 0;
  // relaxed: statistics; a batch more or less does not matter.
  for (std::size_t index = 0; index < per_item.size(); ++index) {
    outcome.items[index] = shares[index].items.load(std::memory_order_relaxed);
    busy_ns += shares[index].busy_ns.load(std::memory_order_relaxed);
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  is_over.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
  buffer.close(kForever);
  outcome.busy =
      static_cast<double>(busy_ns) / 1e9 / outcome.seconds / static_cast<double>(per_item.size());
  const auto [fewest, most] = std::minmax_element(accepted.begin(), accepted.end());
  outcome.fairness =
      static_cast<double>(*fewest) / static_cast<double>(std::max(*most, std::uint64_t{1}));
  for (const Latencies& each : recorded) latencies.append(each);
  for (std::size_t index = 0; index < producers; ++index) {
    outcome.accepted += accepted[index];
    outcome.offered += offered[index];
  }
  for (const PartitionInfo& partition : buffer.info()) outcome.batches += partition.batches;
  const Ledger ledger = buffer.ledger();
  outcome.balances = ledger.balances() && ledger.flushed == outcome.accepted;
  return outcome;
}

constexpr Duration kRunTime = 400ms;

void BM_Buffer_Insert_SlowHandler(benchmark::State& state) {
  const auto producers = static_cast<std::size_t>(state.range(0));
  const auto partitions = static_cast<std::size_t>(state.range(1));
  warn_if_crowded(state, producers + partitions);
  Latencies latencies(0);
  double busy = 0;
  double fairness = 1;
  Outcome sum;
  for (auto _ : state) {
    const Outcome run =
        run_slow(producers, std::vector<Duration>(partitions, Duration(1us)), kRunTime, latencies);
    if (!run.balances) state.SkipWithError("the ledger does not balance: items were lost");
    state.SetIterationTime(run.seconds);
    for (const std::uint64_t items : run.items) sum.items[0] += items;
    sum.accepted += run.accepted;
    sum.offered += run.offered;
    sum.batches += run.batches;
    busy += run.busy;
    fairness = std::min(fairness, run.fairness);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sum.items[0]));
  state.counters["busy"] = busy / static_cast<double>(state.iterations());
  state.counters["fairness"] = fairness;
  report_batches(state, sum.accepted, sum.batches, sum.offered);
  latencies.report(state, "");
}
BENCHMARK(BM_Buffer_Insert_SlowHandler)
    ->ArgNames({"producers", "partitions"})
    ->Args({1, 1})
    ->Args({8, 1})
    ->Args({8, 4})
    ->UseManualTime();

void BM_Buffer_Insert_OneSlowPartition(benchmark::State& state) {
  const auto producers = static_cast<std::size_t>(state.range(0));
  const auto times_slower = state.range(1);
  warn_if_crowded(state, producers + kMaxPartitions);
  Latencies latencies(0);
  Latencies without(0);
  const std::vector<Duration> equal(kMaxPartitions, Duration(1us));
  std::vector<Duration> one_slow = equal;
  one_slow[0] *= times_slower;
  std::vector<double> others;
  double busy = 0;
  Outcome sum;
  const auto fast_rate = [](const Outcome& run) {
    return static_cast<double>(run.items[1] + run.items[2] + run.items[3]) / run.seconds;
  };
  for (auto _ : state) {
    const Outcome base = run_slow(producers, equal, kRunTime, without);
    const Outcome run = run_slow(producers, one_slow, kRunTime, latencies);
    if (!run.balances || !base.balances) state.SkipWithError("the ledger does not balance");
    state.SetIterationTime(run.seconds);
    others.push_back(fast_rate(run) / fast_rate(base));
    for (const std::uint64_t items : run.items) sum.items[0] += items;
    sum.accepted += run.accepted;
    sum.offered += run.offered;
    sum.batches += run.batches;
    busy += run.busy;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sum.items[0]));
  state.counters["others"] = median(others);
  state.counters["busy"] = busy / static_cast<double>(state.iterations());
  report_batches(state, sum.accepted, sum.batches, sum.offered);
  latencies.report(state, "");
  without.report(state, "equal_");
}
BENCHMARK(BM_Buffer_Insert_OneSlowPartition)
    ->ArgNames({"producers", "times_slower"})
    ->Args({1, 10})
    ->Args({8, 10})
    ->Args({8, 100})
    ->UseManualTime();

}  // namespace
}  // namespace databuffer::bench
