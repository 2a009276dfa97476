#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/memory.hpp"
#include "databuffer/detail/queue.hpp"
#include "databuffer/detail/queue_item.hpp"

namespace databuffer::detail {

/// A block holds as many items as fit into 8 KiB, a power of two, and at least two: the queue's
/// least. Storage from detail::allocate.
template <class T>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr std::size_t kBlockBytes = 8192;
  static constexpr std::size_t block_items() noexcept {
    return std::max<std::size_t>(2, std::bit_floor(kBlockBytes / sizeof(T)));
  }
  // The queue's names, not ours.
  static const std::size_t BLOCK_SIZE = block_items();               // NOLINT
  static const std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // NOLINT: tokens only
  static const std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 2;          // NOLINT: the least
  // What is larger than a line and smaller than a block is where a producer counts what it inserts.
  // It gets two lines, so that no two producers write the same line.
  static void* malloc(std::size_t bytes) {  // NOLINT
    if (bytes > kDestructiveBytes) bytes = std::max(bytes, 2 * kDestructiveBytes);
    return allocate(bytes, alignof(std::max_align_t));
  }
  static void free(void* storage) {  // NOLINT
    release(storage, alignof(std::max_align_t));
  }
};

template <class T>
using Queue = moodycamel::ConcurrentQueue<QueueItem<T>, QueueTraits<T>>;

/// A piece of one producer's sub-queue: a queue of one block, which never grows (only the calls
/// that cannot allocate are used), and its only token.
///
/// What we rely on from moodycamel::ConcurrentQueue: items of one producer token come out in the
/// order they went in; an enqueue that returned is seen by whoever synchronised with it since (we
/// publish `Slot::word` after it). A block whose items have all left is used again; one that was
/// filled to its end and has items left takes no more.
template <class T>
struct Segment {
  explicit Segment(std::size_t items) : queue(items), token(queue) {}

  /// Returns false, with the item untouched, if the block is full.
  [[nodiscard]] bool push(T&& item) noexcept {
    if constexpr (PlacedAsIs<T>) {
      return queue.try_enqueue(valid_token(), std::move(item));
    } else {  // A bulk of one boxes it in its place, so that it is untouched where there is none.
      return push_bulk(std::make_move_iterator(std::addressof(item)), 1);
    }
  }

  /// The same for `count` items, all or none.
  template <class Iterator>
  [[nodiscard]] bool push_bulk(Iterator first, std::size_t count) noexcept {
    return queue.try_enqueue_bulk(valid_token(), first, count);
  }

  /// Moves up to `count` items to where `to` stands. Returns how many there were.
  template <class Iterator>
  std::size_t pull(Iterator to, std::size_t count) noexcept {
    return queue.try_dequeue_bulk_from_producer(valid_token(), to, count);
  }

  // Spares the queue the look whether it is, and g++ 12 a warning about where it were not.
  [[nodiscard]] const moodycamel::ProducerToken& valid_token() const noexcept {
    if (!token.valid()) __builtin_unreachable();
    return token;
  }

  Queue<T> queue;
  moodycamel::ProducerToken token;  // valid, or nobody has seen the segment
  Segment* next = nullptr;          // in its slot's chain: LaneSlot; or in the pool
};

/// The segments of one partition that no producer needs now. A segment goes from producer to
/// producer, so that all of them together hold what was pending at most, and a little each.
///
/// Threads: any number; the lock is held for some instructions. It hands a segment's plain fields
/// over, too.
template <class T>
class alignas(kDestructiveBytes) SegmentPool {
 public:
  /// What one segment takes: its items, and what the queue needs beside them, rounded up.
  static constexpr std::size_t kSegmentBytes = QueueTraits<T>::block_items() * sizeof(T) + 512;

  /// Throws std::bad_alloc.
  SegmentPool() : make_(&make) {
    if (!none_.token.valid()) throw std::bad_alloc();
  }
  ~SegmentPool() {
    while (free_ != nullptr) destroy(std::exchange(free_, free_->next));
  }
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// An empty segment that nobody uses, at the beginning of its block; null: there is none.
  [[nodiscard]] Segment<T>* take() noexcept {
    const std::lock_guard lock(mutex_);
    Segment<T>* const segment = free_;
    if (segment != nullptr) free_ = std::exchange(segment->next, nullptr);
    return segment;
  }

  /// The same, or a new one; null: no memory. (A new one has no block, and takes no item, if there
  /// was memory for the rest only.)
  [[nodiscard]] Segment<T>* take_or_make() noexcept {
    if (Segment<T>* const segment = take(); segment != nullptr) return segment;
    Segment<T>* const made = make_();
    if (made != nullptr) segments_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    return made;
  }

  /// Takes back a chain of segments, from `first` to `last`. Requires    they are empty, filled to
  /// the end of their block, and nobody uses them.
  void put(Segment<T>& first, Segment<T>& last) noexcept {
    const std::lock_guard lock(mutex_);
    last.next = std::exchange(free_, &first);
  }

  /// Frees a segment, and the items in it.
  void destroy(Segment<T>* segment) noexcept {
    segments_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a statistic
    segment->~Segment();
    release(segment, alignof(Segment<T>));
  }

  /// In a forked child, which has one thread: one that it has not may have held the lock.
  void make_inert() noexcept { ::new (&mutex_) std::mutex; }

  /// What all segments take, those in use included.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return segments_.load(std::memory_order_relaxed) * kSegmentBytes;  // relaxed: a statistic
  }

  /// Stands for the segment that a producer does not have yet. It has no block: a push of one item
  /// reads that and fails; no other call is allowed, for producers share it.
  [[nodiscard]] Segment<T>* none() noexcept { return &none_; }

 private:
  static Segment<T>* make() noexcept {
    void* const storage = allocate(sizeof(Segment<T>), alignof(Segment<T>));
    if (storage == nullptr) return nullptr;
    auto* const segment = ::new (storage) Segment<T>(QueueTraits<T>::block_items());
    if (segment->token.valid()) return segment;
    segment->~Segment();
    release(segment, alignof(Segment<T>));
    return nullptr;
  }

  // make(), as it is in the copy of the library that made the buffer. A segment points to code of
  // the queue, and the producer that makes it may be in a plugin that is unloaded before it ends.
  Segment<T>* (*const make_)() noexcept;
  std::mutex mutex_;
  Segment<T>* free_ = nullptr;            // guarded by the mutex
  std::atomic<std::size_t> segments_{0};  // written by whoever makes or frees one; read by info
  alignas(kDestructiveBytes) Segment<T> none_{0};  // read by producers that have no segment
};

}  // namespace databuffer::detail
