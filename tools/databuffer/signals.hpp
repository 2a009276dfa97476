#pragma once

#include <functional>
#include <string>
#include <thread>

#include "tools/databuffer/file_descriptor.hpp"

namespace databuffer::tools {

/// Turns SIGINT, SIGTERM, SIGHUP and SIGQUIT into calls on a thread of its own, so that the
/// reaction may lock, allocate and print, which a signal handler may not.
///
/// Also makes writes to a closed pipe (SIGPIPE) and beyond the file size limit (SIGXFSZ) fail with
/// an error instead of ending the process.
///
/// Requires    made before any other thread is started: threads inherit the blocked signals.
class SignalWatcher {
 public:
  /// `react` is called for each signal that arrives, one at a time. A signal that was ignored when
  /// the command was started stays ignored: SIGHUP by nohup, SIGINT by a script that starts the
  /// command in the background. Throws      std::system_error.
  explicit SignalWatcher(std::function<void(int signal)> react);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch();

  std::function<void(int)> react_;
  FileDescriptor signals_;
  EventFlag quit_;
  std::thread thread_;
};

/// "SIGTERM".
[[nodiscard]] std::string signal_name(int signal);

}  // namespace databuffer::tools
