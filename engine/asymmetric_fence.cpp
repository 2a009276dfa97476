#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "databuffer/clock.hpp"
#include "databuffer/detail/fence.hpp"
#include "engine/live_buffers.hpp"

namespace databuffer::detail {
namespace {

enum class Way : std::uint8_t {
  kMembarrier,  // the kernel's barrier on every thread
  kWait,        // it was refused a moment ago: inserts without a full fence may be under way
  kFullFence,   // every insert has full fences of its own
};

// Much longer than a processor keeps a store to itself.
constexpr std::chrono::milliseconds kMoment{10};

constinit std::atomic<std::uint64_t> fences{0};

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0U, 0); }

bool register_process() noexcept {
  return std::getenv("DATABUFFER_NO_MEMBARRIER") == nullptr &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

std::atomic<Way>& way() noexcept {
  static std::atomic<Way> way{register_process() ? Way::kMembarrier : Way::kFullFence};
  return way;
}

// By the clock: a sandbox may refuse the sleep, too.
void wait_a_moment() noexcept {
  const TimePoint until = steady_clock().now() + kMoment;
  while (steady_clock().now() < until) std::this_thread::sleep_for(kMoment / 10);
}

bool has_passed_membarrier() noexcept {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
  // A forked child starts unregistered on some kernels.
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
         membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

// For as long as an insert may be under way that began before kFullFence was set: it has only light
// fences. The wait is the heavy one (fence.hpp). When nobody is inside an insert after the wait,
// the last of those inserts has published its items; after a second wait it has also read what it
// reads then.
void wait_for_light_fences() noexcept {
  LiveBuffers::instance().require_full_fences();
  wait_a_moment();
  if (LiveBuffers::instance().has_producer_inside()) return;
  wait_a_moment();
  // release: pairs with heavy_fence(): who skips the wait comes after it.
  way().store(Way::kFullFence, std::memory_order_release);
}

}  // namespace

bool has_heavy_fence() noexcept {
  // acquire: as in heavy_fence().
  return way().load(std::memory_order_acquire) == Way::kMembarrier;
}

std::uint64_t heavy_fence_count() noexcept {
  return fences.load(std::memory_order_relaxed);  // relaxed: a statistic
}

void heavy_fence() noexcept {
  fences.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  // acquire: pairs with the release in wait_for_light_fences().
  Way now = way().load(std::memory_order_acquire);
  if (now == Way::kMembarrier) {
    if (has_passed_membarrier()) return;
    // A sandbox that came after us refuses it.
    // acq_rel: a buffer that is made now reads the new way, or is in the list already.
    way().compare_exchange_strong(now, Way::kWait, std::memory_order_acq_rel);
    now = Way::kWait;
  }
  if (now == Way::kWait) wait_for_light_fences();
  // seq_cst: the rare side's half where every access of both sides is seq_cst anyway; it orders
  // nothing that they do not.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace databuffer::detail
