#pragma once

#include <atomic>
#include <cstdint>

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
//
// A sandbox (seccomp) may refuse membarrier at any time. Then every live buffer gets kFullFence. An
// insert that is under way at that moment has only light fences left, so heavy_fence() waits some
// milliseconds in the place of the system call, until there is no such insert any more. A wait is
// as good as a barrier: a processor keeps a store to itself, and makes a load early, for well under
// a microsecond, and what interrupts a thread is a full barrier. So an access that came before the
// wait is visible after it, and a load that comes after the wait finds what was written before.

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Registers the process on first use. Honours DATABUFFER_NO_MEMBARRIER in the environment. False
/// for good after a refusal.
[[nodiscard]] bool has_heavy_fence() noexcept;

/// How often heavy_fence() was called: for tests, which cannot see a barrier.
[[nodiscard]] std::uint64_t heavy_fence_count() noexcept;

/// A full barrier on every thread of the process, or on this thread only where that is missing.
/// Cost: one system call, some microseconds. Takes the lock of the list of buffers if membarrier
/// has been refused.
void heavy_fence() noexcept;

}  // namespace databuffer::detail
