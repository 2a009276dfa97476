#pragma once

#include <vector>

#include "bench/contest.hpp"

namespace databuffer::bench {

// Every contender's entries, one for each kind of item it can carry. Each is compiled in a file of
// its own, so that the compiler spends the same care on all.
[[nodiscard]] std::vector<Entry> databuffer_entries();
[[nodiscard]] std::vector<Entry> ceiling_entries();
[[nodiscard]] std::vector<Entry> mutex_vector_entries();
[[nodiscard]] std::vector<Entry> naive_entries();
[[nodiscard]] std::vector<Entry> tbb_bounded_entries();
[[nodiscard]] std::vector<Entry> boost_lockfree_entries();
[[nodiscard]] std::vector<Entry> spsc_ring_entries();
[[nodiscard]] std::vector<Entry> spdlog_async_entries();

}  // namespace databuffer::bench
