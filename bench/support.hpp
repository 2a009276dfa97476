#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "bench/contest.hpp"
#include "databuffer/buffer.hpp"

// What the Google Benchmark files share: the counters that stand beside every figure.
namespace databuffer::bench {

/// Says so, on stderr once a process and in the benchmark's label, when threads must take turns.
inline void warn_if_crowded(benchmark::State& state, std::size_t threads) {
  const std::size_t cores = std::thread::hardware_concurrency();
  if (threads <= cores) return;
  state.SetLabel("more threads (" + std::to_string(threads) + ") than cores");
  static const bool is_told = [cores] {
    std::fprintf(stderr,
                 "***WARNING*** benchmarks labelled so have more threads than this machine's %zu "
                 "cores: they measure the scheduler too\n",
                 cores);
    return true;
  }();
  benchmark::DoNotOptimize(is_told);
}

/// Adds the mean batch and the share of offered items that was refused.
inline void report_batches(benchmark::State& state, std::uint64_t items, std::uint64_t batches,
                           std::uint64_t offered) {
  state.counters["batch"] =
      batches == 0 ? 0.0 : static_cast<double>(items) / static_cast<double>(batches);
  state.counters["rejected"] =
      offered == 0 ? 0.0 : static_cast<double>(offered - items) / static_cast<double>(offered);
}

/// The same, read from a buffer of which everything has been flushed.
template <class T>
void report_batches(benchmark::State& state, const Buffer<T>& buffer, std::uint64_t offered) {
  std::uint64_t batches = 0;
  for (const PartitionInfo& partition : buffer.info()) batches += partition.batches;
  report_batches(state, buffer.ledger().accepted, batches, offered);
}

/// Throws nothing and returns quietly unless items are unaccounted for, or an insert was refused;
/// then the benchmark fails.
template <class T>
void require_balance(benchmark::State& state, const Buffer<T>& buffer) {
  const Ledger ledger = buffer.ledger();
  if (!ledger.balances() || ledger.flushed != ledger.accepted) {
    state.SkipWithError("the ledger does not balance: items were lost");
  }
  if (ledger.refused() != 0) state.SkipWithError("inserts were refused");
}

/// Runs the contest once for each iteration, timed from the producers' start until all is handled.
template <class Contender, class T>
void run_iterations(benchmark::State& state, const Setup& setup, std::uint64_t items) {
  warn_if_crowded(state, setup.producers + setup.limits.partitions);
  std::uint64_t handler_calls = 0;
  for (auto _ : state) {
    const Run run = run_contest<Contender, T>(setup, items);
    state.SetIterationTime(run.seconds);
    handler_calls += run.handler_calls;
  }
  const auto sent = static_cast<std::uint64_t>(state.iterations()) * items;
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  state.counters["ns_per_item"] = benchmark::Counter(
      static_cast<double>(sent) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  report_batches(state, sent, handler_calls, sent);
}

}  // namespace databuffer::bench
