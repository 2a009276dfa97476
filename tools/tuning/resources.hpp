#pragma once

#include <cstdint>

#include "databuffer/clock.hpp"

namespace databuffer::tuning {

/// CPU time of the process so far, user and system, all threads.
[[nodiscard]] Duration cpu_time() noexcept;

/// Resident memory of the process, in bytes; 0 where the system does not tell.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;

/// Asks the allocators to give back what is free, so that a run does not live on the memory of the
/// one before: the C library, and mimalloc where it is linked.
void give_memory_back() noexcept;

/// The most resident memory since start(): what the kernel has noted (VmHWM), after resetting it
/// through /proc/self/clear_refs. Where the kernel does not let us, what sample() has seen.
///
/// The kernel counts pages in lots of up to 64 for each thread, so a few hundred KiB are blurred.
class PeakMemory {
 public:
  void start() noexcept;
  /// Looks now. Needed only where is_sampled().
  void sample() noexcept;
  [[nodiscard]] bool is_sampled() const noexcept { return is_sampled_; }
  [[nodiscard]] std::uint64_t peak_bytes() noexcept;

 private:
  bool is_sampled_ = true;
  std::uint64_t highest_ = 0;
};

}  // namespace databuffer::tuning
