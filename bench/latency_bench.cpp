// Question: how long does one insert keep its caller, at the median and in the tail?
// Setup:    every insert is timed with the time-stamp counter; 8-byte items, null handler.
//           RoomLeft: producers pause, untimed, whenever the buffer is half full. NearFull, Full:
//           one thread, no consumer; the last twentieth before full, and after.
// Reading:  percentiles in ns, less the median cost of the timer (`timer_ns`). Where there are more
//           threads than cores the tail is the scheduler's.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "bench/support.hpp"
#include "bench/tsc.hpp"

namespace databuffer::bench {
namespace {

constexpr auto kNullHandler = [](std::span<std::uint64_t>) {};

void report_timer(benchmark::State& state) {
  state.counters["timer_ns"] = static_cast<double>(timer_ticks()) * ns_per_tick();
}

/// Inserts `count` items; pauses while the buffer is more than half full.
void insert_timed(Buffer<std::uint64_t>& buffer, std::size_t count, Latencies& latencies) {
  constexpr std::size_t kStretch = 500;  // items between two looks at the buffer
  const std::size_t half = buffer.options().partitions * buffer.options().effective_capacity() / 2;
  for (std::size_t inserted = 0; inserted < count; inserted += kStretch) {
    while (buffer.size() > half) std::this_thread::yield();
    std::int64_t before = ticks();
    for (std::size_t index = 0; index < kStretch; ++index) {
      static_cast<void>(buffer.insert(index));  // require_balance() finds a refusal.
      const std::int64_t after = ticks();
      latencies.record(after - before);
      before = after;
    }
  }
}

void BM_Buffer_Insert_RoomLeft(benchmark::State& state) {
  const auto producers = static_cast<std::size_t>(state.range(0));
  const auto partitions = static_cast<std::size_t>(state.range(1));
  constexpr std::size_t kItems = 100'000;  // by each producer, an iteration
  warn_if_crowded(state, producers + partitions);
  Buffer<std::uint64_t> buffer({.name = "bench", .partitions = partitions}, kNullHandler);
  Latencies all;
  std::vector<Latencies> latencies;
  for (std::size_t index = 0; index < producers; ++index) {
    latencies.emplace_back(Latencies::kMaxSamples / producers);
  }
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (Latencies& mine : latencies) {
      threads.emplace_back([&] { insert_timed(buffer, kItems, mine); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const Latencies& each : latencies) all.append(each);
  const auto offered = static_cast<std::uint64_t>(state.iterations()) * producers * kItems;
  buffer.close();
  require_balance(state, buffer);
  report_batches(state, buffer, offered);
  all.report(state, "", timer_ticks());
  report_timer(state);
}
BENCHMARK(BM_Buffer_Insert_RoomLeft)
    ->ArgNames({"producers", "partitions"})
    ->Args({1, 1})
    ->Args({8, 4})
    ->UseRealTime();

/// A buffer without threads, for the two below.
Buffer<std::uint64_t> make_manual(std::size_t capacity) {
  return Buffer<std::uint64_t>({.name = "bench",
                                .max_size = capacity,
                                .capacity = capacity,
                                .overflow = Overflow::kReject,
                                .threading = Threading::kManual},
                               kNullHandler);
}

void BM_Buffer_TryInsert_NearFull(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(0));
  Buffer<std::uint64_t> buffer = make_manual(capacity);
  Latencies latencies;
  std::uint64_t offered = 0;
  for (auto _ : state) {
    const std::size_t early = capacity - capacity / 20;
    for (std::size_t index = 0; index < early; ++index, ++offered) {
      benchmark::DoNotOptimize(buffer.try_insert(index));
    }
    std::int64_t before = ticks();
    while (buffer.try_insert(offered) == InsertStatus::kAccepted) {
      const std::int64_t after = ticks();
      latencies.record(after - before);
      before = after;
      ++offered;
    }
    ++offered;
    buffer.flush();
    while (buffer.size() > 0) buffer.do_work(steady_clock().now());
  }
  report_batches(state, buffer, offered);
  latencies.report(state, "", timer_ticks());
  report_timer(state);
}
BENCHMARK(BM_Buffer_TryInsert_NearFull)->ArgName("capacity")->Arg(100)->Arg(20'000);

void BM_Buffer_TryInsert_Full(benchmark::State& state) {
  const auto capacity = static_cast<std::size_t>(state.range(0));
  Buffer<std::uint64_t> buffer = make_manual(capacity);
  std::uint64_t offered = 1;
  while (buffer.try_insert(offered) == InsertStatus::kAccepted) ++offered;
  Latencies latencies;
  for (auto _ : state) {
    std::int64_t before = ticks();
    for (std::size_t index = 0; index < 1000; ++index, ++offered) {
      benchmark::DoNotOptimize(buffer.try_insert(index));
      const std::int64_t after = ticks();
      latencies.record(after - before);
      before = after;
    }
  }
  report_batches(state, buffer, offered);
  latencies.report(state, "", timer_ticks());
  report_timer(state);
}
BENCHMARK(BM_Buffer_TryInsert_Full)->ArgName("capacity")->Arg(100)->Arg(20'000);

}  // namespace
}  // namespace databuffer::bench
