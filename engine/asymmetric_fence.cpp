#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "databuffer/detail/fence.hpp"

namespace databuffer::detail {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0U, 0); }

bool register_process() noexcept {
  return std::getenv("DATABUFFER_NO_MEMBARRIER") == nullptr &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

bool has_heavy_fence() noexcept {
  static const bool is_registered = register_process();
  return is_registered;
}

void heavy_fence() noexcept {
  if (has_heavy_fence()) {
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
    // A forked child starts unregistered on some kernels.
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
      return;
    }
    std::abort();  // The producers' side was built on it: going on would lose wake-ups.
  }
  // seq_cst: the rare side's half where every access of both sides is seq_cst anyway; it orders
  // nothing that they do not.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace databuffer::detail
