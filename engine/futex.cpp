#include "engine/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace databuffer::detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                TimePoint deadline) noexcept {
  timespec until{};
  const timespec* timeout = nullptr;
  if (deadline != TimePoint::max()) {
    const auto since_boot = deadline.time_since_epoch();
    if (since_boot <= Duration::zero()) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    until.tv_sec = static_cast<std::time_t>(seconds.count());
    until.tv_nsec = static_cast<long>((since_boot - seconds).count());
    timeout = &until;
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, timeout, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
}

}  // namespace databuffer::detail
