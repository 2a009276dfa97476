#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace databuffer::support {

/// The exit code of a test program that its watchdog ended.
inline constexpr int kHangExitCode = 124;

/// How long one test case may run: DATABUFFER_TEST_TIMEOUT in whole seconds, else two minutes, and
/// more under a sanitizer.
/// Throws      std::invalid_argument naming the variable, its value and the limits.
[[nodiscard]] std::chrono::seconds test_time_limit();

/// Ends the process when a test case runs too long: prints the case's name and the stack of every
/// thread to stderr and exits with kHangExitCode, so that a hang fails with a reason.
///
/// Threads     start() and stop(): the thread that runs the test cases.
/// Requires    never destroyed: its thread watches until the process ends.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit);
  ~Watchdog() = delete;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The test case `name` begins; it has the whole limit.
  void start(std::string name);

  /// It ended.
  void stop();

 private:
  [[noreturn]] void watch();

  const std::chrono::seconds limit_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_running_ = false;    // guarded by mutex_; between start() and stop()
  std::string name_;           // guarded by mutex_; of the test case started last
  std::uint64_t started_ = 0;  // guarded by mutex_; test cases started so far
};

}  // namespace databuffer::support
