#include "support/watchdog.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "support/sanitizers.hpp"
#include "support/thread_stacks.hpp"

namespace databuffer::support {

namespace {

constexpr std::chrono::seconds kLimit{120};
constexpr int kSanitizerFactor = 3;
constexpr int kMaxLimitSeconds = 86400;

}  // namespace

std::chrono::seconds test_time_limit() {
  const char* const text = std::getenv("DATABUFFER_TEST_TIMEOUT");
  if (text == nullptr) return kHasSanitizer ? kLimit * kSanitizerFactor : kLimit;
  const std::string_view digits(text);
  int seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error != std::errc{} || end != digits.data() + digits.size() || seconds < 1 ||
      seconds > kMaxLimitSeconds) {
    throw std::invalid_argument("DATABUFFER_TEST_TIMEOUT = " + std::string(digits) +
                                ": whole seconds, 1 … " + std::to_string(kMaxLimitSeconds));
  }
  return std::chrono::seconds{seconds};
}

Watchdog::Watchdog(std::chrono::seconds limit) : limit_(limit) {
  prepare_thread_stacks();
  // Detached: the process may end at any time without it, and a forked child is without it anyway.
  std::thread([this] { watch(); }).detach();
}

void Watchdog::start(std::string name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
  is_running_ = true;
  ++started_;
  changed_.notify_one();
}

void Watchdog::stop() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  changed_.notify_one();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_running_; });
    const std::uint64_t watched = started_;
    const bool is_over = changed_.wait_for(
        lock, limit_, [this, watched] { return !is_running_ || started_ != watched; });
    if (is_over) continue;

    // The lock stays held: a test case that ends just now must not go on while we report it.
    static_cast<void>(std::fflush(nullptr));
    static_cast<void>(dprintf(STDERR_FILENO,
                              "\nwatchdog: the test case \"%s\" has run for more than %lld s "
                              "(DATABUFFER_TEST_TIMEOUT). Every thread's stack:\n",
                              name_.c_str(), static_cast<long long>(limit_.count())));
    print_thread_stacks(STDERR_FILENO);
    static_cast<void>(dprintf(STDERR_FILENO, "watchdog: giving up on \"%s\"\n", name_.c_str()));
    _exit(kHangExitCode);
  }
}

}  // namespace databuffer::support
