#pragma once

#include <atomic>
#include <stop_token>

#include "tools/databuffer/file_descriptor.hpp"

namespace databuffer::tools {

/// Tells every thread of a run when to stop.
///
///   running → stopping   read no more, but store what has been read
///           → aborting   do not even that: return as soon as you can
///
/// Each step can be seen as a stop token (for condition variables and loops) and as a descriptor
/// that becomes readable (for poll). There is no way back.
///
/// Threads     any number at once. Not for signal handlers: SignalWatcher calls from a thread.
class RunControl {
 public:
  RunControl() = default;
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  /// The user asked to stop: the first time stops, the second time aborts.
  /// Returns     how many times it has been asked now.
  int stop_for_signal(int signal);

  /// Going on makes no sense: the sink has failed.
  void stop();

  [[nodiscard]] bool is_stopping() const noexcept { return stop_.stop_requested(); }
  [[nodiscard]] bool is_aborting() const noexcept { return abort_.stop_requested(); }
  [[nodiscard]] std::stop_token stopping() const noexcept { return stop_.get_token(); }
  [[nodiscard]] std::stop_token aborting() const noexcept { return abort_.get_token(); }
  [[nodiscard]] int stopping_fd() const noexcept { return stop_flag_.fd(); }
  [[nodiscard]] int aborting_fd() const noexcept { return abort_flag_.fd(); }

  /// The last signal that asked to stop, or 0.
  // relaxed: read once the run has ended, by whoever has seen its end.
  [[nodiscard]] int signal() const noexcept { return signal_.load(std::memory_order_relaxed); }

 private:
  std::stop_source stop_;
  std::stop_source abort_;
  EventFlag stop_flag_;
  EventFlag abort_flag_;
  std::atomic<int> signal_{0};    // written by the signal thread; read when the run ends
  std::atomic<int> requests_{0};  // written by the signal thread
};

}  // namespace databuffer::tools
