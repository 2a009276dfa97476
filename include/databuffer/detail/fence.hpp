#pragma once

#include <atomic>

namespace databuffer::detail {

// An asymmetric fence: two sides each write their own word, then read the other's, and at least one
// must see the other's write. The frequent side (a producer, per insert) pays nothing, the rare
// side (a consumer about to sleep, close) pays for both.
//
//   light_fence()  frequent side, between its write and its read. Only the compiler is held back.
//   heavy_fence()  rare side, between its write and its read. membarrier(2) makes every running
//                  thread of the process pass a full barrier, wherever it is: a light fence that
//                  was passed before it has its write visible after it; one that is passed later
//                  reads after it. (Linux: membarrier(2), MEMBARRIER_CMD_PRIVATE_EXPEDITED.)
//
// Where the kernel lacks membarrier, has_heavy_fence() is false, the buffer sets kFullFence in its
// attention word, and every insert takes the slow path, whose accesses are all seq_cst.

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Registers the process on first use. Honours DATABUFFER_NO_MEMBARRIER in the environment.
[[nodiscard]] bool has_heavy_fence() noexcept;

/// A full barrier on every thread of the process, or on this thread only where that is missing.
/// Cost: one system call, some microseconds.
void heavy_fence() noexcept;

}  // namespace databuffer::detail
