// Question: what does an item cost when it comes in a batch, and from what batch size on does it
//           pay?
// Setup:    default limits (batches of 5000, capacity 20,000); items are moved from the caller's
//           memory; the handler touches every item.
// Reading:  items/s is everything handled, from the producers' start to the last handler call;
//           `batch` is items a handler call; `rejected` the share refused, 0 since all calls wait.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bench/alternatives/databuffer_contender.hpp"
#include "bench/support.hpp"

namespace databuffer::bench {
namespace {

template <class T>
void BM_Buffer_InsertBatch(benchmark::State& state) {
  const Setup setup{.producers = static_cast<std::size_t>(state.range(0)),
                    .batch = static_cast<std::size_t>(state.range(2)),
                    .limits = {.partitions = static_cast<std::size_t>(state.range(1))}};
  run_iterations<DatabufferContender<T, TallyHandler<T>>, T>(state, setup, 1'000'000);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"producers", "partitions", "items"});
  for (const auto& [producers, partitions] : {std::pair{1, 1}, {4, 4}}) {
    for (const int items : {2, 4, 16, 64, 256, 1000}) bench->Args({producers, partitions, items});
  }
  bench->UseManualTime();
}
BENCHMARK(BM_Buffer_InsertBatch<std::uint64_t>)->Apply(shapes);
BENCHMARK(BM_Buffer_InsertBatch<Item64>)->Apply(shapes);
BENCHMARK(BM_Buffer_InsertBatch<std::string>)->Apply(shapes);

}  // namespace
}  // namespace databuffer::bench
