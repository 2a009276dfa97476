#pragma once

#include <csignal>
#include <functional>
#include <thread>
#include <utility>

namespace databuffer::detail {

/// While it lives, the calling thread blocks every signal but those that a fault of its own raises.
/// A thread inherits the mask of the thread that creates it.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// Keeps the calling thread from being cancelled, for the rest of its life.
void forbid_cancellation() noexcept;

/// Starts a thread of the library's own: `call(arguments...)`, as std::thread. It takes no signal
/// that is meant for the process: those belong to the threads of the user. And nobody cancels it.
/// Throws      std::system_error; std::bad_alloc.
template <class Call, class... Arguments>
[[nodiscard]] std::thread start_thread(Call call, Arguments... arguments) {
  const SignalsBlocked signals;  // Before the thread is there: so there is no moment without.
  return std::thread(
      [call](Arguments... own) {
        forbid_cancellation();
        std::invoke(call, std::move(own)...);
      },
      std::move(arguments)...);
}

}  // namespace databuffer::detail
