#pragma once

#include <vector>

#include "engine/lock.hpp"

namespace databuffer::detail {

class BufferCore;

/// Every running buffer of the process: for hooks on all of them, and for fork.
///
/// fork(2): the child has no consumer threads, and locks may be held by threads it does not have.
/// So the child's copies are made inert (Core::kForked) before fork returns there: every call
/// answers at once, nothing is locked, joined or delivered; a handler that forks and returns in the
/// child as well ends the child's thread there. A queue may be in the middle of another thread's
/// insert, too: so an inert copy is never destroyed, and stays in this list. This list's mutex and
/// the process hooks' are held across the fork, so that both lists are whole in the child, and
/// buffers made there work.
class LiveBuffers {
 public:
  static LiveBuffers& instance();  // never destroyed

  void add(BufferCore& buffer);
  void remove(BufferCore& buffer) noexcept;

  /// Some hooks have changed: has every buffer look who listens.
  static void refresh_all();

  /// Has every insert that begins from now on take the way with full fences (fence.hpp).
  void require_full_fences() noexcept;
  /// Whether any thread is inside an insert into any of them.
  [[nodiscard]] bool has_producer_inside() noexcept;

 private:
  LiveBuffers();

  // No analysis: both mutexes are held from the first to one of the others.
  static void before_fork() noexcept DATABUFFER_NO_THREAD_SAFETY_ANALYSIS;
  static void after_fork_in_parent() noexcept DATABUFFER_NO_THREAD_SAFETY_ANALYSIS;
  static void after_fork_in_child() noexcept DATABUFFER_NO_THREAD_SAFETY_ANALYSIS;

  Mutex mutex_;
  std::vector<BufferCore*> buffers_ DATABUFFER_GUARDED_BY(mutex_);  // borrowed
};

}  // namespace databuffer::detail
