#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "databuffer/clock.hpp"
#include "engine/futex.hpp"

// What a mutex guards, and which functions require it. clang checks it (-Wthread-safety); for other
// compilers these are empty. In a lambda the attribute stands after the parameters.
#if defined(__clang__)
#define DATABUFFER_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define DATABUFFER_THREAD_ATTRIBUTE(attribute)
#endif
#define DATABUFFER_CAPABILITY(name) DATABUFFER_THREAD_ATTRIBUTE(capability(name))
#define DATABUFFER_SCOPED_CAPABILITY DATABUFFER_THREAD_ATTRIBUTE(scoped_lockable)
#define DATABUFFER_GUARDED_BY(mutex) DATABUFFER_THREAD_ATTRIBUTE(guarded_by(mutex))
#define DATABUFFER_REQUIRES(mutex) DATABUFFER_THREAD_ATTRIBUTE(requires_capability(mutex))
#define DATABUFFER_ACQUIRE(...) DATABUFFER_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define DATABUFFER_RELEASE(...) DATABUFFER_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define DATABUFFER_RETURN_CAPABILITY(mutex) DATABUFFER_THREAD_ATTRIBUTE(lock_returned(mutex))
/// With the reason beside it.
#define DATABUFFER_NO_THREAD_SAFETY_ANALYSIS DATABUFFER_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace databuffer::detail {

/// How many forks lie between this process and the first that used the library.
[[nodiscard]] std::uint32_t fork_generation() noexcept;
/// In a forked child, before fork returns there.
void begin_fork_generation() noexcept;

/// A mutex that is open in a forked child: there it may be held for ever, by a thread that the
/// child does not have. What it guards belongs to an inert copy, which one thread touches at most.
/// It is locked by a MutexLock.
class DATABUFFER_CAPABILITY("mutex") Mutex {
 public:
  void lock() DATABUFFER_ACQUIRE() {
    if (is_of_this_process()) mutex_.lock();
  }
  void unlock() DATABUFFER_RELEASE() {
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

/// Holds a Mutex for a scope. (clang's analysis cannot follow std::lock_guard.)
class DATABUFFER_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) DATABUFFER_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() DATABUFFER_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
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

  /// `is_done` is called with the mutex held.
  template <class IsDone>
  void wait(Mutex& mutex, IsDone is_done) DATABUFFER_REQUIRES(mutex) {
    wait_until(mutex, TimePoint::max(), is_done);
  }
  /// `deadline`: steady clock; TimePoint::max(): none. Returns whether it is done.
  // No analysis: `is_done` may require the mutex, under a name that it does not have here.
  template <class IsDone>
  bool wait_until(Mutex& mutex, TimePoint deadline, IsDone is_done)
      DATABUFFER_REQUIRES(mutex) DATABUFFER_NO_THREAD_SAFETY_ANALYSIS {
    while (!is_done()) {
      if (generation_ != fork_generation()) return false;
      if (deadline != TimePoint::max() && steady_clock().now() >= deadline) return false;
      // relaxed: see notify_all().
      const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
      mutex.unlock();
      futex_wait(epoch_, epoch, deadline);
      mutex.lock();
    }
    return true;
  }

 private:
  std::atomic<std::uint32_t> epoch_{0};  // a futex
  const std::uint32_t generation_ = fork_generation();
};

}  // namespace databuffer::detail
