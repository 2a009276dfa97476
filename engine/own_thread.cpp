#include "engine/own_thread.hpp"

#include <pthread.h>

namespace databuffer::detail {

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t blocked;
  sigfillset(&blocked);
  // A fault raises its signal on the thread that is at fault. Where that is blocked, the kernel
  // kills the process without asking the process's handler (crash reporters, sanitizers).
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&blocked, fault);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void forbid_cancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr); }

}  // namespace databuffer::detail
