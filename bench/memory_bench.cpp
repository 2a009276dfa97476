// Question: how much memory does a pending item take, and what stays after a burst?
// Setup:    resident memory, read from /proc in a child process for each measurement, so that
//           memory kept by an earlier one cannot hide growth. No consumer threads; the buffer is
//           filled, flushed and filled again, so that batch storage is in place.
// Reading:  `beyond`  bytes beyond the item itself, as a share of it, at capacity.
//           `peak_mib`, `after_mib`, `again_mib`  above the empty process: with the burst pending,
//           after it was flushed, and at the peak of a second one. `queue_mib`  what info() says.

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>

#include "bench/items.hpp"
#include "bench/support.hpp"

namespace databuffer::bench {
namespace {

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total_pages = 0;
  double resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) throw std::runtime_error("no /proc/self/statm");
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct Memory {
  double first_bytes = 0;  // filled for the first time
  double full_bytes = 0;   // filled again
  double empty_bytes = 0;  // flushed in between
  double queue_bytes = 0;  // of the queues, as info() says
  double batches = 0;
};

/// Fills the buffer, flushes it, and fills it again. In the child.
template <class T>
Memory fill_twice(const Limits& limits) {
  const double before = resident_bytes();
  Buffer<T> buffer({.name = "bench",
                    .partitions = limits.partitions,
                    .max_size = limits.max_size,
                    .capacity = limits.capacity,
                    .overflow = Overflow::kReject,
                    .threading = Threading::kManual},
                   [](std::span<T>) {});
  const std::size_t count = limits.partitions * limits.capacity;
  const auto fill = [&] {
    for (std::size_t id = 0; id < count; ++id) {
      if (buffer.try_insert(ItemTraits<T>::make(id)) != InsertStatus::kAccepted) {
        throw std::runtime_error("refused below capacity");
      }
    }
  };
  Memory memory;
  fill();
  memory.first_bytes = resident_bytes() - before;
  buffer.flush();
  while (buffer.size() > 0) buffer.do_work(steady_clock().now());
  memory.empty_bytes = resident_bytes() - before;
  fill();
  memory.full_bytes = resident_bytes() - before;
  buffer.flush();
  while (buffer.size() > 0) buffer.do_work(steady_clock().now());
  for (const PartitionInfo& partition : buffer.info()) {
    memory.batches += static_cast<double>(partition.batches);
    memory.queue_bytes += static_cast<double>(partition.queue_bytes);
  }
  return memory;
}

/// Runs `measure` in a child process.
Memory in_child(Memory (*measure)(const Limits&), const Limits& limits) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = ::fork();
  if (child == -1) throw std::runtime_error("fork failed");
  if (child == 0) {
    Memory memory;
    try {
      memory = measure(limits);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "memory_bench: %s\n", error.what());
      ::_exit(1);
    }
    ::_exit(::write(ends[1], &memory, sizeof(memory)) == sizeof(memory) ? 0 : 1);
  }
  ::close(ends[1]);
  Memory memory;
  const bool is_read = ::read(ends[0], &memory, sizeof(memory)) == sizeof(memory);
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0 || !is_read) {
    throw std::runtime_error("the measuring child failed");
  }
  return memory;
}

template <class T>
void BM_Buffer_Memory_PerItem(benchmark::State& state) {
  const Limits limits{.partitions = static_cast<std::size_t>(state.range(0)),
                      .max_size = static_cast<std::size_t>(state.range(1)),
                      .capacity = static_cast<std::size_t>(state.range(2))};
  const auto items = static_cast<double>(limits.partitions * limits.capacity);
  Memory memory;
  for (auto _ : state) memory = in_child(fill_twice<T>, limits);
  state.counters["beyond_first"] = memory.first_bytes / items / sizeof(T) - 1;
  state.counters["beyond"] = memory.full_bytes / items / sizeof(T) - 1;
  report_batches(state, static_cast<std::uint64_t>(2 * items),
                 static_cast<std::uint64_t>(memory.batches), static_cast<std::uint64_t>(2 * items));
}
// The defaults, so often that pages do not matter; and one large partition.
void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"partitions", "max_size", "capacity"})
      ->Args({64, 5000, 20'000})
      ->Args({1, 5000, 1'000'000})
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_Buffer_Memory_PerItem<std::uint64_t>)->Apply(sizes);
BENCHMARK(BM_Buffer_Memory_PerItem<Item64>)->Apply(sizes);

void BM_Buffer_Memory_AfterBurst(benchmark::State& state) {
  const auto items = static_cast<std::size_t>(state.range(0));
  Memory memory;
  for (auto _ : state) {
    memory =
        in_child(fill_twice<std::uint64_t>, {.partitions = 1, .max_size = 5000, .capacity = items});
  }
  constexpr double kMib = 1 << 20;
  state.counters["peak_mib"] = memory.first_bytes / kMib;
  state.counters["after_mib"] = memory.empty_bytes / kMib;
  state.counters["again_mib"] = memory.full_bytes / kMib;
  state.counters["queue_mib"] = memory.queue_bytes / kMib;
  report_batches(state, 2 * items, static_cast<std::uint64_t>(memory.batches), 2 * items);
}
BENCHMARK(BM_Buffer_Memory_AfterBurst)
    ->ArgName("items")
    ->Arg(10'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace databuffer::bench
