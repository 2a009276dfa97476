#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "databuffer/detail/assert.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/segment.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

/// A partition's items, of a type the engine does not know.
class Lane {
 public:
  virtual ~Lane() = default;

  [[nodiscard]] virtual std::unique_ptr<Cargo> make_cargo() const = 0;

  /// A new place for a producer. Throws std::bad_alloc. Threads: one at a time makes or frees slots
  /// (the lock of Drain's list).
  [[nodiscard]] virtual Slot& make_slot() = 0;
  /// Requires    that its producer has ended.
  virtual void free_slot(Slot& slot) noexcept = 0;

  /// Moves `count` items of one producer, which its slot counts, behind those of `to`, which has
  /// room for them.
  /// Returns how many there were. Threads: the holder of the partition's turn.
  virtual std::size_t dequeue(Slot& slot, std::size_t count, Cargo& to) noexcept = 0;

  /// In a forked child, which has one thread: nobody holds a lock.
  virtual void make_inert() noexcept = 0;

  /// Memory that the partition's queue takes, kept for reuse included. Any thread.
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
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
  ConstructIterator& operator=(QueueItem<T>&& item) noexcept {
    ::new (static_cast<void*>(at_)) T(unbox<T>(std::move(item)));
    return *this;
  }

 private:
  T* at_;
};

/// A Slot with the producer's sub-queue: a chain of segments, from the one that items are taken
/// from to the one that they are put into.
///
/// The producer goes on to another segment when its own is full to the end of the block. It links
/// the new one before it publishes the items in it by Slot::word, and never comes back to the old
/// one. So once a segment is found empty although further items are counted, the producer has left
/// it, and it goes to the partition's pool. Segments begin and end with a block: where the producer
/// stands in its block, Slot::word says.
template <class T>
struct alignas(kDestructiveBytes) LaneSlot : Slot {
  static constexpr std::size_t kBlockItems = QueueTraits<T>::block_items();

  explicit LaneSlot(SegmentPool<T>& segment_pool) noexcept
      : tail(segment_pool.none()), pool(&segment_pool) {}
  ~LaneSlot() {
    while (head != nullptr) pool->destroy(std::exchange(head, head->next));
  }
  LaneSlot(const LaneSlot&) = delete;
  LaneSlot& operator=(const LaneSlot&) = delete;

  /// Returns false, with the item untouched, if the segment is full. (The only place that pushes a
  /// single item: or g++ does not inline it into the loop of the caller's inserts.)
  [[nodiscard]] bool push_in_place(T&& item) noexcept {
    if constexpr (!PlacedAsIs<T>) {
      if (tail == pool->none()) return false;  // See Segment::push().
    }
    return tail->push(std::move(item));
  }

  /// Puts `count` items into the segment and the next, all or none. Returns false, with the items
  /// untouched, if there is no segment to be had without allocating. Requires    count <=
  /// kBlockItems.
  template <class Iterator>
  [[nodiscard]] bool push_bulk_in_place(Iterator first, std::size_t count) noexcept {
    std::size_t before = std::min(count, room_in_block());
    if (before == count) {
      if (has_segment() && tail->push_bulk(first, count)) return true;
      before = 0;
    }
    Segment<T>* const fresh = pool->take();
    if (fresh == nullptr) return false;
    if (before > 0) first = push_all(*tail, first, before);
    push_all(*fresh, first, count - before);
    append(*fresh);
    return true;
  }

  /// Returns how many went in, from the front, before there was no memory; the others are
  /// untouched.
  template <class Iterator>
  [[nodiscard]] std::size_t push_bulk(Iterator first, std::size_t count) noexcept {
    std::size_t pushed = 0;
    std::size_t room = room_in_block();
    while (pushed < count) {
      const std::size_t part = std::min(count - pushed, room);
      if (!(has_segment() && tail->push_bulk(first, part))) {
        Segment<T>* const fresh = pool->take_or_make();
        if (fresh == nullptr) break;
        if (!fresh->push_bulk(first, part)) {
          pool->destroy(fresh);
          break;
        }
        append(*fresh);
      }
      first += static_cast<std::iter_difference_t<Iterator>>(part);
      pushed += part;
      room = kBlockItems;
    }
    return pushed;
  }

  /// The same for one item.
  [[nodiscard]] bool push(T&& item) noexcept {
    return push_bulk(std::make_move_iterator(std::addressof(item)), 1) == 1;
  }

  /// Moves `count` items, which Slot::word counts, behind those of `cargo`. Returns how many there
  /// were. Threads: the holder of the partition's turn.
  std::size_t pull(std::size_t count, CargoOf<T>& cargo) noexcept {
    std::size_t pulled = 0;
    Segment<T>* at = head;
    Segment<T>* last_left = nullptr;
    for (;;) {
      const std::size_t got = at->pull(ConstructIterator<T>(cargo.end_storage()), count - pulled);
      cargo.adopt(got);
      pulled += got;
      if (pulled == count || at->next == nullptr) break;
      last_left = std::exchange(at, at->next);
    }
    if (last_left != nullptr) pool->put(*std::exchange(head, at), *last_left);
    return pulled;
  }

  // Producer only; on the slot's line (engine/layout.cpp).
  Segment<T>* tail;

  // Written by the holder of the turn, once for each segment; the first time by the producer,
  // before it publishes an item.
  alignas(kLineBytes) Segment<T>* head = nullptr;
  SegmentPool<T>* const pool;  // borrowed

 private:
  [[nodiscard]] bool has_segment() const noexcept { return tail != pool->none(); }

  [[nodiscard]] std::size_t room_in_block() const noexcept {
    // relaxed: the producer itself writes it. (The mark is beyond the bits that count.)
    return kBlockItems - word.load(std::memory_order_relaxed) % kBlockItems;
  }

  template <class Iterator>
  static Iterator push_all(Segment<T>& segment, Iterator first, std::size_t count) noexcept {
    [[maybe_unused]] const bool has_room = segment.push_bulk(first, count);
    DATABUFFER_ASSERT(has_room);
    return first + static_cast<std::iter_difference_t<Iterator>>(count);
  }

  void append(Segment<T>& fresh) noexcept {
    (has_segment() ? tail->next : head) = &fresh;
    tail = &fresh;
  }
};

template <class T>
class LaneOf final : public Lane {
 public:
  [[nodiscard]] std::unique_ptr<Cargo> make_cargo() const override {
    return std::make_unique<CargoOf<T>>();
  }

  [[nodiscard]] Slot& make_slot() override {
    return *slots_.emplace_back(std::make_unique<LaneSlot<T>>(pool_));
  }

  void free_slot(Slot& slot) noexcept override {
    std::erase_if(slots_, [&slot](const auto& owned) { return owned.get() == &slot; });
  }

  std::size_t dequeue(Slot& slot, std::size_t count, Cargo& to) noexcept override {
    return static_cast<LaneSlot<T>&>(slot).pull(count, static_cast<CargoOf<T>&>(to));
  }

  void make_inert() noexcept override { pool_.make_inert(); }

  [[nodiscard]] std::size_t bytes() const noexcept override { return pool_.bytes(); }

 private:
  SegmentPool<T> pool_;
  std::vector<std::unique_ptr<LaneSlot<T>>> slots_;
};

}  // namespace databuffer::detail
