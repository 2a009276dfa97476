#pragma once

#if defined(__SANITIZE_THREAD__)
#define DATABUFFER_HAS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DATABUFFER_HAS_THREAD_SANITIZER 1
#endif
#endif

#if defined(DATABUFFER_HAS_THREAD_SANITIZER)
extern "C" {
void __tsan_acquire(void* address);  // NOLINT: the sanitizer's own names
void __tsan_release(void* address);  // NOLINT
}
#endif

namespace databuffer::detail {

// What the thread sanitizer cannot see for itself: it does not model stand-alone fences, and with
// one the queue orders the reuse of a block (its counter of dequeued items goes up by a release;
// the producer reads it relaxed, then passes an acquire fence). These say the same of one token:
// what the consumer has moved out lies before what its producer puts in afterwards. Nothing in
// other builds.

/// The consumer has moved items out of the blocks of this producer token.
inline void announce_moved_out([[maybe_unused]] void* token) noexcept {
#if defined(DATABUFFER_HAS_THREAD_SANITIZER)
  __tsan_release(token);
#endif
}

/// The producer may use its blocks again.
inline void expect_moved_out([[maybe_unused]] void* token) noexcept {
#if defined(DATABUFFER_HAS_THREAD_SANITIZER)
  __tsan_acquire(token);
#endif
}

}  // namespace databuffer::detail
