#include "engine/thread_id.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace databuffer::detail {
namespace {

constinit thread_local pid_t own_id = 0;

}  // namespace

pid_t this_thread_id() noexcept {
  if (own_id == 0) own_id = static_cast<pid_t>(syscall(SYS_gettid));
  return own_id;
}

bool is_alive(pid_t thread_id) noexcept {
  // Signal 0 only asks. (tgkill(2))
  return thread_id != 0 && syscall(SYS_tgkill, getpid(), thread_id, 0) == 0;
}

void forget_thread_id() noexcept { own_id = 0; }

}  // namespace databuffer::detail
