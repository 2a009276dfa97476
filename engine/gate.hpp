#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "databuffer/detail/assert.hpp"
#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

// A partition's capacity, by debt: a producer tells the shared count of its inserts only once every
// `settle_items`, and only then asks whether the partition is full.
//
//   settled_ = items settled + room taken - items released, + kBarred while somebody waits.
//   True pending = settled_ - room taken + the slots' debts.
//
// So no insert is refused while fewer than `capacity` items are pending or on their way in (debts
// are never negative, and release counts at most what is gone), and each producer thread but one
// passes the capacity by `settle_items` at most: after a look that leaves `room`, it may insert
// min(settle_items, room) items unasked, so that one producer alone never passes it at all.
//
// Where settle_items is 1, below a capacity of 128, a look takes the place: `settled_word` is one
// ahead of `word` until the item is in. So the capacity is exact however many producers there are.
// A place that no item used goes back before the call runs code of the user's or ends (take_back).
//
// The bar: while an insert waits for room of this partition, `settled_` is so high that everybody
// who asks is refused, and queues behind it; and whoever releases room sees in the same
// read-modify-write that somebody is to be served. All accesses here are seq_cst. The protocol is
// SpaceWaiters'.
class Gate {
 public:
  explicit Gate(std::size_t capacity) noexcept
      : capacity_(static_cast<std::int64_t>(capacity)),
        settle_items_(static_cast<std::int64_t>(std::clamp<std::size_t>(capacity / 64, 1, 64))) {}

  /// Settles the slot's debt. Returns whether there is room; then the slot may take some more items
  /// before it asks again. Threads: the slot's owner.
  bool settle(Slot& slot) noexcept {
    if (is_exact()) return settle_exactly(slot);
    const std::uint64_t word = own_word(slot);
    const std::int64_t settled = add_debt(slot, word);
    const std::int64_t room = capacity_ - settled;
    if (room <= 0) {
      end_allowance(slot);
      return false;
    }
    slot.room_until = word + allowance(room);
    note_pending(slot, settled);
    return true;
  }

  /// Whether the slot may take an item. It asks where it must. Threads: the slot's owner.
  bool admits(Slot& slot) noexcept { return own_word(slot) < slot.room_until || settle(slot); }

  /// Whether it may take `count` items that are to go in at once, with no code of the user's
  /// before. Sets whether their room had to be taken: then they are settled, or released.
  bool admits_batch(Slot& slot, std::size_t count, bool& is_reserved) noexcept {
    const std::uint64_t word = own_word(slot);
    is_reserved = word + count > slot.room_until;
    if (!is_reserved) return true;
    const Room room = take_room(slot, count, count);
    if (room.granted == 0) return false;
    slot.room_until = word + count + (is_exact() ? 0 : allowance(room.left));
    return true;
  }

  /// Settles the slot's debt and takes room for `least` to `most` items; returns for how many, or
  /// 0. A shared write, and before it one for the debt. Threads: the slot's owner, which calls
  /// finish_reserved() when it has used them.
  [[nodiscard]] std::size_t reserve(Slot& slot, std::size_t least, std::size_t most) noexcept {
    return take_room(slot, least, most).granted;
  }

  /// `used` of `granted` items went in. Returns for how many there is room left, to be released.
  [[nodiscard]] std::size_t finish_reserved(Slot& slot, std::size_t granted,
                                            std::size_t used) noexcept {
    slot.settled_word += used;
    end_allowance(slot);
    return granted - used;
  }

  /// The place that a look took for the slot and that no item used, to be released: 1, or 0.
  [[nodiscard]] std::size_t take_back(Slot& slot) noexcept {
    if (debt_of(slot, own_word(slot)) >= 0) return 0;
    --slot.settled_word;
    end_allowance(slot);
    return 1;
  }

  /// The next insert asks, and round robin moves on before it does.
  static void end_allowance(Slot& slot) noexcept {
    slot.turn_until = slot.room_until = own_word(slot);
  }

  /// Tells the slot's debt without asking for room: its thread ends.
  void settle_up(Slot& slot) noexcept {
    add_debt(slot, own_word(slot));
    end_allowance(slot);
  }

  /// `items` have left the partition, or did not come. Returns whether somebody waits for them.
  /// SpaceWaiters::release() only.
  [[nodiscard]] bool release(std::size_t items) noexcept {
    // seq_cst: see the top.
    return settled_.fetch_sub(static_cast<std::int64_t>(items), std::memory_order_seq_cst) >=
           kBarred / 2;
  }

  /// Items to give up so that there is room for one more.
  [[nodiscard]] std::size_t excess() const noexcept {
    // seq_cst: see the top.
    const std::int64_t over = settled_.load(std::memory_order_seq_cst) - capacity_ + 1;
    return over > 0 ? static_cast<std::size_t>(over) : 0;
  }

  // SpaceWaiters only.

  /// Somebody waits: nobody else gets room.
  void bar() noexcept {
    settled_.fetch_add(kBarred, std::memory_order_seq_cst);  // see the top
  }
  /// Nobody waits any more.
  void unbar() noexcept {
    settled_.fetch_sub(kBarred, std::memory_order_seq_cst);  // see the top
  }
  /// While it is barred: takes room for up to `most` items, for one who waits. Returns for how
  /// many.
  [[nodiscard]] std::size_t grant(std::size_t most) noexcept {
    return take(1, most, capacity_ + kBarred).granted;
  }

 private:
  struct Room {
    std::size_t granted = 0;
    std::int64_t left = 0;
  };

  [[nodiscard]] bool is_exact() const noexcept { return settle_items_ == 1; }

  bool settle_exactly(Slot& slot) noexcept {
    if (take_room(slot, 1, 1).granted == 0) return false;
    slot.room_until = ++slot.settled_word;
    return true;
  }

  Room take_room(Slot& slot, std::size_t least, std::size_t most) noexcept {
    add_debt(slot, own_word(slot));
    end_allowance(slot);  // What was free is taken, or it is full.
    const Room room = take(least, most, capacity_);
    if (room.granted > 0) note_pending(slot, capacity_ - room.left);
    return room;
  }

  Room take(std::size_t least, std::size_t most, std::int64_t limit) noexcept {
    std::int64_t settled = settled_.load(std::memory_order_seq_cst);  // see the top
    Room room;
    do {
      const std::int64_t free = limit - settled;
      room.granted = free > 0 ? std::min(most, static_cast<std::size_t>(free)) : 0;
      if (room.granted < least) return {};
      room.left = free - static_cast<std::int64_t>(room.granted);
      // seq_cst: see the top.
    } while (!settled_.compare_exchange_weak(
        settled, settled + static_cast<std::int64_t>(room.granted), std::memory_order_seq_cst));
    return room;
  }

  [[nodiscard]] std::uint64_t allowance(std::int64_t room) const noexcept {
    return static_cast<std::uint64_t>(std::min(settle_items_, room));
  }

  /// For the router, which need not know of more.
  static void note_pending(Slot& slot, std::int64_t pending) noexcept {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    slot.noted_pending = static_cast<std::uint32_t>(std::clamp<std::int64_t>(pending, 0, kMost));
  }

  static std::uint64_t own_word(const Slot& slot) noexcept {
    return slot.word.load(std::memory_order_relaxed);  // relaxed: its only writer reads it
  }

  static std::int64_t debt_of(const Slot& slot, std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word - slot.settled_word);
  }

  std::int64_t add_debt(Slot& slot, std::uint64_t word) noexcept {
    const std::int64_t debt = debt_of(slot, word);
    DATABUFFER_ASSERT(debt >= 0);
    slot.settled_word = word;
    if (debt == 0) return settled_.load(std::memory_order_seq_cst);  // seq_cst: see the top
    return settled_.fetch_add(debt, std::memory_order_seq_cst) + debt;
  }

  friend struct Layout;

  // Above every capacity (Options), and far from overflow.
  static constexpr std::int64_t kBarred = std::int64_t{1} << 60U;

  const std::int64_t capacity_;
  const std::int64_t settle_items_;

  // Written by every producer once in settle_items_, and by whoever removes items.
  alignas(kDestructiveBytes) std::atomic<std::int64_t> settled_{0};
};

/// Heavier than any limit (Options), and far from overflow: what weighs more counts as this.
inline constexpr std::size_t kHeaviestItem = std::size_t{1} << 61U;

/// A partition's limits by weight, where it has them. Exact, at the price of a shared write for
/// each insert: an item's weight is added before it goes in.
class WeightGate {
 public:
  /// `trip`: weight that makes a batch due. Both 0: no limits.
  WeightGate(std::size_t capacity, std::size_t trip) noexcept
      : capacity_(static_cast<std::int64_t>(capacity)), trip_(static_cast<std::int64_t>(trip)) {}

  /// Whether an item of this weight may go in: there is room, or nothing is there.
  [[nodiscard]] bool has_room(std::size_t weight) const noexcept {
    return admits(pending_.load(std::memory_order_seq_cst), weight);  // seq_cst: as Gate
  }

  /// Takes room for an item. Returns whether there was.
  [[nodiscard]] bool reserve(std::size_t weight) noexcept {
    if (capacity_ == 0) return true;
    std::int64_t pending = pending_.load(std::memory_order_seq_cst);  // seq_cst: as Gate
    const auto added = static_cast<std::int64_t>(weight);
    do {
      if (!admits(pending, weight)) return false;
      // seq_cst: as Gate
    } while (!pending_.compare_exchange_weak(pending, pending + added, std::memory_order_seq_cst));
    return true;
  }

  /// Weight that left, or did not go in after all. SpaceWaiters only.
  void release(std::size_t weight) noexcept {
    pending_.fetch_sub(static_cast<std::int64_t>(weight), std::memory_order_seq_cst);  // as Gate
  }

  /// An item found no room by weight: what is there makes a batch, however light.
  // seq_cst: as Gate; the consumer that is rung behind it sees it in is_due().
  void demand_flush() noexcept { is_demanded_.store(true, std::memory_order_seq_cst); }

  /// Whether a batch is due by weight. The consumer asks.
  [[nodiscard]] bool is_due() const noexcept {
    // seq_cst, as Gate: what is reserved is seen by the ring that follows.
    return trip_ > 0 && (pending_.load(std::memory_order_seq_cst) >= trip_ ||
                         is_demanded_.load(std::memory_order_seq_cst));
  }
  // seq_cst: as Gate; who demands after it is seen by the next is_due().
  void forget_demand() noexcept { is_demanded_.store(false, std::memory_order_seq_cst); }

  [[nodiscard]] std::size_t pending() const noexcept {
    const std::int64_t pending = pending_.load(std::memory_order_seq_cst);  // seq_cst: as Gate
    return pending > 0 ? static_cast<std::size_t>(pending) : 0;
  }

 private:
  [[nodiscard]] bool admits(std::int64_t pending, std::size_t weight) const noexcept {
    const auto added = static_cast<std::int64_t>(weight);
    return capacity_ == 0 || pending <= 0 || pending + added <= capacity_;
  }

  friend struct Layout;

  const std::int64_t capacity_;
  const std::int64_t trip_;
  alignas(kDestructiveBytes) std::atomic<std::int64_t> pending_{0};  // written by who moves items
  std::atomic<bool> is_demanded_{false};  // set by producers that wait, cleared by the consumer
};

}  // namespace databuffer::detail
