// Question: what does one insert cost, as producers and partitions are added?
// Setup:    default limits (batches of 5000, capacity 20,000); the handler touches every item.
// Reading:  items/s is everything handled, from the producers' start to the last handler call, or
//           for TryInsert what was accepted; `batch` is items a handler call; `rejected` the share
//           refused.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/alternatives/databuffer_contender.hpp"
#include "bench/support.hpp"

namespace databuffer::bench {
namespace {

template <class T>
void BM_Buffer_Insert(benchmark::State& state) {
  const Setup setup{.producers = static_cast<std::size_t>(state.range(0)),
                    .limits = {.partitions = static_cast<std::size_t>(state.range(1))}};
  run_iterations<DatabufferContender<T, TallyHandler<T>>, T>(state, setup, 1'000'000);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"producers", "partitions"});
  for (const auto& [producers, partitions] :
       {std::pair{1, 1}, {2, 1}, {2, 2}, {4, 4}, {8, 4}, {16, 4}, {64, 4}}) {
    bench->Args({producers, partitions});
  }
  bench->UseManualTime();
}
BENCHMARK(BM_Buffer_Insert<std::uint64_t>)->Apply(shapes);
BENCHMARK(BM_Buffer_Insert<Item64>)->Apply(shapes);
BENCHMARK(BM_Buffer_Insert<std::string>)->Apply(shapes);

// Never waits: the cost of the call itself, accepted or refused. Each thread is a producer.
struct TryInsertFixture {
  Tally tally;
  std::unique_ptr<Buffer<std::uint64_t>> buffer;
};
TryInsertFixture& fixture() {
  static TryInsertFixture shared;
  return shared;
}

void start_buffer(const benchmark::State& state) {
  fixture().buffer = std::make_unique<Buffer<std::uint64_t>>(
      Options{.name = "bench",
              .partitions = static_cast<std::size_t>(state.range(0)),
              .overflow = Overflow::kReject},
      TallyHandler<std::uint64_t>(fixture().tally));
}

void stop_buffer(const benchmark::State&) { fixture().buffer.reset(); }

void BM_Buffer_TryInsert(benchmark::State& state) {
  Buffer<std::uint64_t>& buffer = *fixture().buffer;
  std::uint64_t rejected = 0;
  std::uint64_t value = 0;
  for (auto _ : state) {
    if (buffer.try_insert(++value) != InsertStatus::kAccepted) ++rejected;
  }
  const auto offered = static_cast<std::uint64_t>(state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(offered - rejected));
  state.counters["rejected"] =
      benchmark::Counter(static_cast<double>(rejected) / static_cast<double>(offered),
                         benchmark::Counter::kAvgThreads);
  if (state.thread_index() != 0) return;
  warn_if_crowded(state, static_cast<std::size_t>(state.threads() + state.range(0)));
  std::uint64_t batches = 0;
  std::uint64_t flushed = 0;
  for (const PartitionInfo& partition : buffer.info()) {
    batches += partition.batches;
    flushed += partition.ledger.flushed;
  }
  if (batches > 0)
    state.counters["batch"] = static_cast<double>(flushed) / static_cast<double>(batches);
}
BENCHMARK(BM_Buffer_TryInsert)
    ->ArgName("partitions")
    ->Arg(1)
    ->Arg(4)
    ->ThreadRange(1, 8)
    ->UseRealTime()
    ->Setup(start_buffer)
    ->Teardown(stop_buffer);

// One thread inserts into many buffers in turn: what it costs to find its seat in each, and to
// have the lines of all in its cache. Nobody consumes meanwhile.
void BM_Buffers_InsertInTurn(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::size_t rounds = std::max<std::size_t>(1, 100'000 / count);
  const Options options{.name = "bench",
                        .max_size = rounds + 1,
                        .capacity = rounds + 1,
                        .threading = Threading::kManual};
  std::vector<std::unique_ptr<Buffer<std::uint64_t>>> buffers;
  for (std::size_t made = 0; made < count; ++made) {
    buffers.push_back(
        std::make_unique<Buffer<std::uint64_t>>(options, [](std::span<std::uint64_t>) {}));
  }
  std::uint64_t refused = 0;
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(rounds * count))) {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (const auto& buffer : buffers) {
        if (buffer->insert(round) != InsertStatus::kAccepted) ++refused;
      }
    }
    state.PauseTiming();
    for (const auto& buffer : buffers) benchmark::DoNotOptimize(buffer->take());
    state.ResumeTiming();
  }
  if (refused != 0) state.SkipWithError("inserts were refused");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Buffers_InsertInTurn)->ArgName("buffers")->Arg(1)->Arg(2)->Arg(64)->Arg(1024);

}  // namespace
}  // namespace databuffer::bench
