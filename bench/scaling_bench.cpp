// Question: what happens to the cost of an insert as producers and partitions grow far beyond the
//           cores?
// Setup:    8-byte items, default limits; the handler touches every item.
// Reading:  `ns_per_item` is wall time over items for the whole machine, so it stays level when
//           growth costs nothing; compare with the line of 4. `batch` is items a handler call;
//           nothing is refused, since all calls wait.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/alternatives/ceiling.hpp"
#include "bench/alternatives/databuffer_contender.hpp"
#include "bench/support.hpp"

namespace databuffer::bench {
namespace {

// In less than this the start of 64 threads is a good part of the time.
constexpr std::uint64_t kItems = 32'000'000;

template <class T, class Handler>
using CeilingOfLibrary = Ceiling<T, Handler>;  // with the library's block size

template <template <class, class> class Contender>
void insert_scaling(benchmark::State& state) {
  const Setup setup{.producers = static_cast<std::size_t>(state.range(0)),
                    .limits = {.partitions = static_cast<std::size_t>(state.range(1))}};
  run_iterations<Contender<std::uint64_t, TallyHandler<std::uint64_t>>, std::uint64_t>(state, setup,
                                                                                       kItems);
}

void BM_Buffer_Insert_Scaling(benchmark::State& state) {
  insert_scaling<DatabufferContender>(state);
}
BENCHMARK(BM_Buffer_Insert_Scaling)
    ->ArgNames({"producers", "partitions"})
    ->ArgsProduct({{1, 2, 4, 8, 16, 32, 64}, {4}})
    ->ArgsProduct({{4}, {1, 2, 8, 16, 32, 64}})
    ->UseManualTime();

void BM_Ceiling_Insert_Scaling(benchmark::State& state) { insert_scaling<CeilingOfLibrary>(state); }
BENCHMARK(BM_Ceiling_Insert_Scaling)
    ->ArgNames({"producers", "partitions"})
    ->ArgsProduct({{4, 64}, {4}})
    ->ArgsProduct({{4}, {16, 64}})
    ->UseManualTime();

}  // namespace
}  // namespace databuffer::bench
