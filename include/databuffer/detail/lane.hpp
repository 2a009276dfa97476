#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/memory.hpp"
#include "databuffer/detail/queue.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// A partition's items, of a type the engine does not know.
///
/// What we rely on from moodycamel::ConcurrentQueue: items of one producer token come out in the
/// order they went in; an enqueue that returned is seen by whoever
/// synchronised with it since (we publish `Slot::word` after it). It promises no order between
/// tokens and its size is approximate, so we count ourselves.
class Lane {
 public:
  virtual ~Lane() = default;

  [[nodiscard]] virtual std::unique_ptr<Cargo> make_cargo() const = 0;

  /// A new place for a producer, which lives as long as the lane. Throws std::bad_alloc.
  /// Threads: one at a time (the buffer's seat mutex).
  [[nodiscard]] virtual Slot& make_slot() = 0;

  /// Moves up to `count` items of one producer behind those of `to`, which has room for them.
  /// Returns how many there were. Threads: the holder of the partition's turn.
  virtual std::size_t dequeue(Slot& slot, std::size_t count, Cargo& to) noexcept = 0;

  /// Exchanges the queue for a new one, which gives its memory back: a queue keeps every block it
  /// ever needed. Throws std::bad_alloc, having changed nothing. Requires    an empty queue, and no
  /// producer inside it, or about to make a slot.
  virtual void renew_queue() = 0;
};

/// Block size: 32 items or more, up to 512 as long as they fit into 4 KiB. Larger blocks are asked
/// for more rarely, and waste more where little is pending. Storage from detail::allocate.
template <class T>
struct QueueTraits : moodycamel::ConcurrentQueueDefaultTraits {
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t block_items() noexcept {
    std::size_t items = 32;
    while (items < 512 && items * 2 * sizeof(T) <= kBlockBytes) items *= 2;
    return items;
  }
  // The queue's names, not ours.
  static const std::size_t BLOCK_SIZE = block_items();               // NOLINT
  static const std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // NOLINT: tokens only
  static void* malloc(std::size_t bytes) {                           // NOLINT
    return allocate(bytes, alignof(std::max_align_t));
  }
  static void free(void* storage) {  // NOLINT
    release(storage, alignof(std::max_align_t));
  }
};

template <class T>
using Queue = moodycamel::ConcurrentQueue<T, QueueTraits<T>>;

/// A Slot with the queue's token: one producer's way into one partition's queue.
template <class T>
struct alignas(kDestructiveBytes) LaneSlot : Slot {
  explicit LaneSlot(Queue<T>& lane_queue) : token(lane_queue), queue(&lane_queue) {}

  /// Returns false, with the item untouched, if the queue needs another block. (With the allocation
  /// inlined the hot path spills its registers: bench/README.md.)
  [[nodiscard]] bool push_in_place(T&& item) noexcept {
    return queue->try_enqueue(valid_token(), std::move(item));
  }

  /// Returns false, with the item untouched, if the queue cannot allocate.
  [[nodiscard]] bool push(T&& item) noexcept {
    return queue->enqueue(valid_token(), std::move(item));
  }

  /// The same for `count` items, all or none. Requires    count <= QueueTraits<T>::block_items().
  template <class Iterator>
  [[nodiscard]] bool push_bulk_in_place(Iterator first, std::size_t count) noexcept {
    return queue->try_enqueue_bulk(valid_token(), first, count);
  }

  /// Returns how many went in, from the front, before the queue could not allocate; the others are
  /// untouched. A block at a time: when version 1.0.3 cannot allocate the second of several, it
  /// keeps the first, but forgets that its index needs a place for it, and sooner or later it
  /// overwrites one that is in use. (They are published together all the same: by Slot::word.)
  template <class Iterator>
  [[nodiscard]] std::size_t push_bulk(Iterator first, std::size_t count) noexcept {
    std::size_t pushed = 0;
    while (pushed < count) {
      const std::size_t part = std::min(count - pushed, QueueTraits<T>::block_items());
      if (!queue->enqueue_bulk(valid_token(), first, part)) break;
      first += static_cast<std::iter_difference_t<Iterator>>(part);
      pushed += part;
    }
    return pushed;
  }

  // Changed by renew_queue() only. The token first, on the slot's line (engine/layout.cpp).
  moodycamel::ProducerToken token;  // valid, or make_slot() has thrown
  Queue<T>* queue;

 private:
  // Spares the queue the look whether it is, and g++ 12 a warning about where it were not.
  [[nodiscard]] const moodycamel::ProducerToken& valid_token() const noexcept {
    if (!token.valid()) __builtin_unreachable();
    return token;
  }
};

/// Constructs at the address it stands on: lets the queue move items into raw storage.
template <class T>
class ConstructIterator {
 public:
  explicit ConstructIterator(T* at) noexcept : at_(at) {}
  ConstructIterator& operator*() noexcept { return *this; }
  ConstructIterator& operator++() noexcept {
    ++at_;
    return *this;
  }
  ConstructIterator operator++(int) noexcept { return ConstructIterator(at_++); }
  ConstructIterator& operator=(T&& item) noexcept {
    ::new (static_cast<void*>(at_)) T(std::move(item));
    return *this;
  }

 private:
  T* at_;
};

template <class T>
class LaneOf final : public Lane {
 public:
  [[nodiscard]] std::unique_ptr<Cargo> make_cargo() const override {
    return std::make_unique<CargoOf<T>>();
  }

  [[nodiscard]] Slot& make_slot() override {
    LaneSlot<T>& slot = slots_.emplace_back(*queue_);
    if (slot.token.valid()) return slot;
    slots_.pop_back();
    throw std::bad_alloc();
  }

  std::size_t dequeue(Slot& slot, std::size_t count, Cargo& to) noexcept override {
    auto& cargo = static_cast<CargoOf<T>&>(to);
    const std::size_t taken = queue_->try_dequeue_bulk_from_producer(
        static_cast<LaneSlot<T>&>(slot).token, ConstructIterator<T>(cargo.end_storage()), count);
    cargo.adopt(taken);
    return taken;
  }

  void renew_queue() override {
    auto fresh = std::make_unique<Queue<T>>(0);
    std::vector<moodycamel::ProducerToken> tokens;
    tokens.reserve(slots_.size());
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      if (!tokens.emplace_back(*fresh).valid()) throw std::bad_alloc();
    }
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      slots_[index].token.swap(tokens[index]);
      slots_[index].queue = fresh.get();
    }
    tokens.clear();  // the old ones, before their queue
    queue_.swap(fresh);
  }

 private:
  // Its blocks come on demand.
  std::unique_ptr<Queue<T>> queue_ = std::make_unique<Queue<T>>(0);
  std::deque<LaneSlot<T>> slots_;  // never shrinks; addresses are stable
};

}  // namespace databuffer::detail
