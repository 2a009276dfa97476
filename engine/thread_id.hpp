#pragma once

#include <sys/types.h>

namespace databuffer::detail {

/// The calling thread's id in the kernel, never 0. A system call once for each thread.
[[nodiscard]] pid_t this_thread_id() noexcept;

/// Whether that thread of this process still lives. (An id is not used again before the kernel has
/// gone through all others.)
[[nodiscard]] bool is_alive(pid_t thread_id) noexcept;

/// The forked child's one thread has another id than the thread it is a copy of.
void forget_thread_id() noexcept;

}  // namespace databuffer::detail
