#pragma once

#include <pthread.h>

namespace databuffer::detail {

/// Holds a cancellation of the calling thread (pthread_cancel) back while it lives: neither our
/// code nor the user's code that we call is cut off half way.
class CancellationHeld {
 public:
  CancellationHeld() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHeld() { restore(); }
  CancellationHeld(const CancellationHeld&) = delete;
  CancellationHeld& operator=(const CancellationHeld&) = delete;

  /// The call is through: a cancellation that came meanwhile happens here. It unwinds the stack, so
  /// nothing from here up to the user's code is noexcept.
  void act_on_pending() {
    restore();
    pthread_testcancel();
  }

 private:
  void restore() noexcept { pthread_setcancelstate(before_, nullptr); }

  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace databuffer::detail
