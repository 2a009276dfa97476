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

void BM_Buffer_Insert_Scaling(benchmark::State& state) {
  const Setup setup{.producers = static_cast<std::size_t>(state.range(0)),
                    .limits = {.partitions = static_cast<std::size_t>(state.range(1))}};
  run_iterations<DatabufferContender<std::uint64_t, TallyHandler<std::uint64_t>>, std::uint64_t>(
      state, setup, 32'000'000);
}
BENCHMARK(BM_Buffer_Insert_Scaling)
    ->ArgNames({"producers", "partitions"})
    ->ArgsProduct({{1, 2, 4, 8, 16, 32, 64}, {4}})
    ->ArgsProduct({{4}, {1, 2, 8, 16, 32, 64}})
    ->UseManualTime();

void BM_Ceiling_Insert_Scaling(benchmark::State& state) {
  const Setup setup{.producers = static_cast<std::size_t>(state.range(0)),
                    .limits = {.partitions = static_cast<std::size_t>(state.range(1))}};
  run_iterations<Ceiling<std::uint64_t, TallyHandler<std::uint64_t>>, std::uint64_t>(state, setup,
                                                                                     32'000'000);
}
BENCHMARK(BM_Ceiling_Insert_Scaling)
    ->ArgNames({"producers", "partitions"})
    ->ArgsProduct({{4, 64}, {4}})
    ->ArgsProduct({{4}, {16, 64}})
    ->UseManualTime();

}  // namespace
}  // namespace databuffer::bench
