#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "databuffer/clock.hpp"
#include "engine/futex.hpp"

namespace databuffer::detail {

/// How many forks lie between this process and the first that used the library.
[[nodiscard]] std::uint32_t fork_generation() noexcept;
/// In a forked child, before fork returns there.
void begin_fork_generation() noexcept;

/// A mutex that is open in a forked child: there it may be held for ever, by a thread that the
/// child does not have. What it guards belongs to an inert copy, which one thread touches at most.
/// For std::lock_guard and std::unique_lock.
class Mutex {
 public:
  void lock() {
    if (is_of_this_process()) mutex_.lock();
  }
  void unlock() {
    if (is_of_this_process()) mutex_.unlock();
  }

  /// For what lives on in a forked child: it is a mutex there, too, as it was at the fork.
  void keep_in_child() noexcept { generation_ = fork_generation(); }

 private:
  [[nodiscard]] bool is_of_this_process() const noexcept {
    return generation_ == fork_generation();
  }

  std::mutex mutex_;
  std::uint32_t generation_ = fork_generation();  // fixed, but in a child that has one thread
};

/// A condition variable for a Mutex. It has no state that a lost thread could leave half changed,
/// and nobody waits in a forked child: there is nobody to change anything.
class Condition {
 public:
  void notify_all() noexcept {
    // relaxed: the mutex orders it. Who waits has read the number under the mutex, before the
    // change that is told here.
    epoch_.fetch_add(1, std::memory_order_relaxed);
    futex_wake(epoch_, std::numeric_limits<int>::max());
  }

  template <class IsDone>
  void wait(std::unique_lock<Mutex>& lock, IsDone is_done) {
    wait_until(lock, TimePoint::max(), is_done);
  }
  /// `deadline`: steady clock; TimePoint::max(): none. Returns whether it is done.
  template <class IsDone>
  bool wait_until(std::unique_lock<Mutex>& lock, TimePoint deadline, IsDone is_done) {
    while (!is_done()) {
      if (generation_ != fork_generation()) return false;
      if (deadline != TimePoint::max() && steady_clock().now() >= deadline) return false;
      // relaxed: see notify_all().
      const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
      lock.unlock();
      futex_wait(epoch_, epoch, deadline);
      lock.lock();
    }
    return true;
  }

 private:
  std::atomic<std::uint32_t> epoch_{0};  // a futex
  const std::uint32_t generation_ = fork_generation();
};

}  // namespace databuffer::detail
