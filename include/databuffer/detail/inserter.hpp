#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/detail/core.hpp"
#include "databuffer/detail/fence.hpp"
#include "databuffer/detail/lane.hpp"
#include "databuffer/detail/source.hpp"

namespace databuffer::detail {

/// Whether a range's items may be moved from: an rvalue container is the caller's gift; a view only
/// looks at somebody's items.
template <class R>
inline constexpr bool kGivesItems =
    !std::is_lvalue_reference_v<R> && !std::ranges::view<std::remove_cvref_t<R>> &&
    !std::ranges::borrowed_range<R>;

/// What an item of T is constructed from.
template <class R>
using OfferedItem = std::conditional_t<kGivesItems<R>, std::ranges::range_rvalue_reference_t<R>,
                                       std::ranges::range_reference_t<R>>;

/// A range whose elements are items of T, or convert to one as an argument of a call does.
template <class R, class T>
concept RangeOf = std::ranges::input_range<R> && std::convertible_to<OfferedItem<R>, T>;

template <class D>
concept ChronoDuration =
    std::same_as<D, std::chrono::duration<typename D::rep, typename D::period>>;

/// The hot path: what an insert does on its own thread, inlined. Everything rare is Core::insert.
///
/// Per item it reads the seat, its slot, `attention` and `watch`, and writes the slot and the
/// queue: nothing that another producer writes. (Core's calls write what is shared: next_slot
/// and settle once in up to 64 items, count_down while the consumer sleeps.)
template <class T>
class Inserter {
 public:
  explicit Inserter(Core& core) noexcept : core_(&core) {}

  /// `timeout`: a Duration, or none for the one in the options. (Given only to who needs it: each
  /// store of the hot path counts.)
  template <class... Limit>
  InsertStatus insert(T& item, bool may_wait, Limit... timeout) {
    if (Seat* const seat = core_->find_seat(); seat != nullptr) [[likely]] {
      Slot* slot = seat->cursor;
      std::uint64_t word = own_word(*slot);
      if (word >= slot->turn_until) [[unlikely]] {
        slot = core_->next_slot(*seat);
        if (slot == nullptr)
          return insert_slowly(*core_, kAnyPartition, item, may_wait, timeout...);
        word = own_word(*slot);
      }
      if (push(*slot, word, item)) [[likely]]
        return InsertStatus::kAccepted;
    }
    return insert_slowly(*core_, kAnyPartition, item, may_wait, timeout...);
  }

  template <class... Limit>
  InsertStatus insert_keyed(std::size_t hash, T& item, Limit... timeout) {
    const std::size_t partition_index = partition_of(hash, core_->options().partitions);
    if (Seat* const seat = core_->find_seat(); seat != nullptr) [[likely]] {
      Slot& slot = *seat->slots[partition_index];
      const std::uint64_t word = own_word(slot);
      const bool is_inside = (word & Slot::kInside) != 0;  // An item's own constructor inserts.
      if ((word < slot.room_until || (!is_inside && core_->settle(slot))) && push(slot, word, item))
          [[likely]]
        return InsertStatus::kAccepted;
    }
    return insert_slowly(*core_, partition_index, item, true, timeout...);
  }

  template <class R>
  InsertBatchResult insert_range(R&& items, Timeout timeout = {}) {
    // In this order, and begin() once: a range that is read only once may not say its size later.
    std::size_t count = size_of(items);
    auto first = std::ranges::begin(items);
    auto last = std::ranges::end(items);
    using Iterator = decltype(first);
    using Sentinel = decltype(last);
    if constexpr (!std::ranges::sized_range<R>) {
      if constexpr (std::sized_sentinel_for<Sentinel, Iterator>) {
        count = static_cast<std::size_t>(last - first);
      } else if constexpr (std::forward_iterator<Iterator>) {
        count = static_cast<std::size_t>(std::ranges::distance(first, last));
      }
    }
    if constexpr (!kGivesItems<R>) {
      return insert_iterators(std::move(first), std::move(last), count, timeout);
    } else if constexpr (std::same_as<Iterator, Sentinel>) {
      return insert_iterators(std::make_move_iterator(std::move(first)),
                              std::make_move_iterator(std::move(last)), count, timeout);
    } else {
      return insert_iterators(std::make_move_iterator(std::move(first)),
                              std::move_sentinel(std::move(last)), count, timeout);
    }
  }

  /// Fibonacci hashing of what may be an identity hash, then the high bits scaled to the range.
  [[nodiscard]] static std::size_t partition_of(std::size_t hash, std::size_t partitions) noexcept {
    const std::uint64_t mixed = hash * 0x9E3779B97F4A7C15U;
    return (mixed >> 32U) * partitions >> 32U;
  }

 private:
  static std::uint64_t own_word(const Slot& slot) noexcept {
    return slot.word.load(std::memory_order_relaxed);  // relaxed: only this thread writes it
  }

  bool push(Slot& slot, std::uint64_t word, T& item) noexcept {
    if (!enter(slot, word)) [[unlikely]]
      return false;
    auto& lane_slot = static_cast<LaneSlot<T>&>(slot);
    if (!lane_slot.push_in_place(std::move(item))) [[unlikely]]
      return push_into_next(*core_, lane_slot, word, item);
    publish(*core_, slot, word, 1);
    return true;
  }

  /// The slot's segment is full. Static, and apart from the loop, as insert_slowly.
  [[gnu::noinline]] static bool push_into_next(Core& core, LaneSlot<T>& slot, std::uint64_t word,
                                               T& item) noexcept {
    if (!slot.push_bulk_in_place(std::make_move_iterator(std::addressof(item)), 1)) {
      leave(slot, word);
      return false;
    }
    publish(core, slot, word, 1);
    return true;
  }

  /// Several items that appear at once: all or none.
  template <class Iterator>
  bool push_bulk(Seat& seat, Iterator first, std::size_t count) noexcept {
    Core::BatchTurn turn{seat.cursor, false};
    std::uint64_t word = own_word(*turn.slot);
    if (word + count > turn.slot->turn_until) {
      turn = core_->next_slot(seat, count);
      if (turn.slot == nullptr) return false;
      word = own_word(*turn.slot);
    }
    bool is_in = false;
    if (enter(*turn.slot, word)) {
      is_in = static_cast<LaneSlot<T>&>(*turn.slot).push_bulk_in_place(first, count);
      is_in ? publish(*core_, *turn.slot, word, count) : leave(*turn.slot, word);
    }
    if (turn.is_reserved) {
      if (is_in) {
        turn.slot->settled_word = word + count;
      } else {
        core_->unreserve(seat, count);
      }
    }
    return is_in;
  }

  /// The way into the queue. Steps, each with the other side that it is paired with in
  /// engine/README.md:
  ///   [P1] mark: the producer is inside     pairs with close's look at the marks
  ///   [P2] read `attention`                 … after close has set it
  ///   [P3] publish the items and unmark     the consumer counts from it
  ///   [P4] read `watch`                     … after the consumer has set it, before it counts
  ///   again
  /// [P1] → [P2] and [P3] → [P4] are write-then-read; the other sides run a heavy fence between
  /// theirs.
  /// Returns false, with the slot as it was, if the insert must take the slow path.
  bool enter(Slot& slot, std::uint64_t word) noexcept {
    // [P1] relaxed: ordered before [P2] by the fence pair, and nothing is published by it.
    slot.word.store(word | Slot::kInside, std::memory_order_relaxed);
    light_fence();
    // [P2] relaxed: ordered after [P1] by the fence pair; who finds no flag set relies on nothing
    // that another thread did before it took one away.
    if (core_->attention.load(std::memory_order_relaxed) == 0) [[likely]]
      return true;
    leave(slot, word);
    return false;
  }

  static void leave(Slot& slot, std::uint64_t word) noexcept {
    // release: takes the mark back; close, which sees it gone, finds the queue as it was left.
    slot.word.store(word, std::memory_order_release);
  }

  static void publish(Core& core, Slot& slot, std::uint64_t word, std::size_t count) noexcept {
    // [P3] release: whoever reads the new count finds the items in the queue.
    slot.word.store(word + count, std::memory_order_release);
    light_fence();
    // [P4] relaxed: ordered after [P3] by the fence pair.
    if (slot.watch->load(std::memory_order_relaxed) != 0) [[unlikely]]
      core.count_down(slot, count);
  }

  // Static: an Inserter that lives in a register need not be stored for a call that is not made.
  template <class... Limit>
  [[gnu::noinline]] static InsertStatus insert_slowly(Core& core, std::size_t partition_index,
                                                      T& item, bool may_wait, Limit... timeout) {
    ItemSource<T> source(item);
    return core.insert(partition_index, source, 1, Timeout(timeout...), may_wait).status;
  }

  template <class Iterator, class Sentinel>
  InsertBatchResult insert_iterators(Iterator first, Sentinel last, std::size_t count,
                                     Timeout timeout) {
    if constexpr (DirectRange<T, Iterator, Sentinel>) {
      // A block's worth at most: beyond that the few calls that are saved do not count. (And no
      // more than there is, whatever size() says.)
      Seat* const seat = core_->find_seat();
      if (seat != nullptr && count != 0 && count <= QueueTraits<T>::block_items() &&
          count <= static_cast<std::size_t>(last - first)) {
        if (push_bulk(*seat, first, count)) return {InsertStatus::kAccepted, count};
      }
    }
    RangeSource<T, Iterator, Sentinel> source(std::move(first), std::move(last));
    return core_->insert(kAnyPartition, source, count, timeout, true);
  }

  /// What the range says; else SIZE_MAX.
  template <class R>
  [[nodiscard]] static std::size_t size_of(R& items) {
    if constexpr (std::ranges::sized_range<R>) {
      return static_cast<std::size_t>(std::ranges::size(items));
    } else {
      return std::numeric_limits<std::size_t>::max();
    }
  }

  Core* core_;  // borrowed
};

template <class T>
std::vector<T> dump(Core& core) {
  static_assert(std::copy_constructible<T>,
                "databuffer: dump() copies the pending items, and this item type cannot be copied; "
                "use take(), which moves them out");
  std::vector<T> copies;
  for (std::size_t index = 0; index < core.options().partitions; ++index) {
    core.inspect(index, [&copies](Cargo& cargo) {
      const T* const items = static_cast<const T*>(cargo.data());
      // One by one: vector::insert would need an assignment, too.
      for (std::size_t at = 0; at < cargo.size(); ++at) copies.push_back(items[at]);
    });
  }
  return copies;
}

template <class T>
std::vector<T> take(Core& core) {
  std::vector<T> items;
  try {
    for (std::size_t index = 0; index < core.options().partitions; ++index) {
      core.take(index, [&items](Cargo& cargo) {
        T* const first = static_cast<T*>(cargo.data());
        const std::size_t needed = items.size() + cargo.size();
        if (needed > items.capacity()) items.reserve(std::max(needed, 2 * items.capacity()));
        for (std::size_t item = 0; item < cargo.size(); ++item) {
          items.push_back(std::move(first[item]));
        }
      });
    }
  } catch (...) {              // No memory, or this thread is moving items of the partition.
    if (items.empty()) throw;  // Else the caller has these, and the others stay pending.
  }
  return items;
}

}  // namespace databuffer::detail
