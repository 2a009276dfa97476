#pragma once

// The only place that includes the queue.
//
// The thread sanitizer does not model stand-alone fences, and the queue orders the reuse of a block
// by one: a relaxed load, then an acquire fence. For the sanitizer alone its relaxed accesses are
// made seq_cst, which is what load and fence are together; our own code stays as it is. The headers
// that the queue includes come first, so that the macro does not reach them.
#if defined(__has_feature)
#define DATABUFFER_HAS_FEATURE(feature) __has_feature(feature)
#else
#define DATABUFFER_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || DATABUFFER_HAS_FEATURE(thread_sanitizer)
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#define memory_order_relaxed memory_order_seq_cst  // for the queue alone: see above
#endif
#undef DATABUFFER_HAS_FEATURE

// Debian puts it below <concurrentqueue/>, its own install below <concurrentqueue/moodycamel/>, a
// copied header nowhere in particular.
#if __has_include(<concurrentqueue/concurrentqueue.h>)
#include <concurrentqueue/concurrentqueue.h>
#elif __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#else
#include <concurrentqueue.h>
#endif

#undef memory_order_relaxed  // from here on it is itself again
