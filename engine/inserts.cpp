// The slow path of an insert: no seat yet, no room, several items, somebody listens, or no
// membarrier.
#include <sched.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "engine/buffer_core.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {
namespace {

// Items of a range given up at a time.
constexpr std::size_t kDropItems = 4096;
// Tries to get the turn for dropping the oldest, before the newest goes instead.
constexpr int kTurnTries = 64;

bool is_marked(const Slot& slot) noexcept {
  // relaxed: this thread is the only writer.
  return (slot.word.load(std::memory_order_relaxed) & Slot::kInside) != 0;
}

std::string describe(const std::exception_ptr& exception) noexcept {
  try {
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "an exception that is not a std::exception";
    }
  } catch (...) {
    return {};  // what() is null, or there is no memory for the text.
  }
}

/// A seat for this one call: of a thread that has none, or whose own is in use further up its
/// stack.
class BorrowedSeat {
 public:
  explicit BorrowedSeat(Seats& seats) : seats_(seats), seat_(seats.borrow()) {}
  ~BorrowedSeat() { seats_.give_back(seat_); }
  BorrowedSeat(const BorrowedSeat&) = delete;
  BorrowedSeat& operator=(const BorrowedSeat&) = delete;
  [[nodiscard]] Seat& seat() noexcept { return seat_; }

 private:
  Seats& seats_;
  Seat& seat_;
};

}  // namespace

/// The oldest items, removed to make room; they go to on_drop when this ends, come what may.
class BufferCore::GivenUp {
 public:
  GivenUp(BufferCore& buffer, Partition& partition)
      : buffer_(buffer), partition_(partition), cargo_(partition.lane->make_cargo()) {}
  ~GivenUp() {
    DropInfo info;
    info.reason = DropReason::kOldest;
    buffer_.drop(partition_, cargo_->data(), cargo_->size(), info);
  }
  GivenUp(const GivenUp&) = delete;
  GivenUp& operator=(const GivenUp&) = delete;
  [[nodiscard]] Cargo& cargo() noexcept { return *cargo_; }

 private:
  BufferCore& buffer_;
  Partition& partition_;
  std::unique_ptr<Cargo> cargo_;
};

/// One call of the insert family, and how far it has come.
struct BufferCore::InsertCall {
  Source& source;
  std::size_t count;            // lowered when a range of unknown length ends
  std::size_t partition_index;  // kAnyPartition, until the first of several items is in
  Duration timeout;
  bool may_wait;

  std::size_t accepted = 0;
  InsertStatus status = InsertStatus::kAccepted;
  std::exception_ptr exception{};
  std::size_t weight = 0;               // of the next item, where there are limits by weight
  bool is_nested = false;               // met a slot that this very thread is inside of
  std::optional<TimePoint> deadline{};  // of the wait, once it has begun; steady clock

  bool end(InsertStatus how) noexcept {
    status = how;
    return false;
  }
};

InsertBatchResult BufferCore::insert(std::size_t partition_index, Source& source, std::size_t count,
                                     Timeout timeout, bool may_wait) {
  if (is_closed()) return {InsertStatus::kClosed, 0};
  if (count == 0) return {};
  InsertCall call{source, count, partition_index, timeout.value_or(options_.insert_timeout),
                  may_wait};
  const bool is_heard = listens({Event::kInsertStart, Event::kInsertStop, Event::kInsertException});
  TelemetryEvent event;
  TimePoint began{};
  if (is_heard) {
    began = now();
    event.size = count;
    emit(event);
  }
  try {
    Seat* const own = seat_of_this_thread(*this);
    if (own != nullptr) insert_items(call, *own);
    if (own == nullptr || call.is_nested) {
      call.is_nested = false;
      BorrowedSeat borrowed(seats_);
      insert_items(call, borrowed.seat());
    }
  } catch (const std::bad_alloc&) {
    call.status = InsertStatus::kNoMemory;
  }
  drop_stranded(call, *partitions_.front());
  if (is_heard) {
    const std::string error = call.exception ? describe(call.exception) : std::string();
    event.event = call.exception ? Event::kInsertException : Event::kInsertStop;
    event.duration = now() - began;
    event.size = call.accepted;
    event.insert_status = call.status;
    event.error = error;
    emit(event);
  }
  if (call.exception) std::rethrow_exception(call.exception);
  return {call.status, call.accepted};
}

void BufferCore::insert_items(InsertCall& call, Seat& seat) {
  while (call.accepted < call.count) {
    if (is_closed()) {
      call.status = InsertStatus::kClosed;
      return;
    }
    if (options_.weigh && !weigh_next(call)) return;
    Slot* const slot = find_room(call, seat);
    if (call.is_nested) return;
    const bool goes_on = slot != nullptr ? insert_some(call, seat, *slot) : overflow(call, seat);
    if (!goes_on) return;
  }
}

// Returns whether there is a next item. Runs the user's range.
bool BufferCore::read_next(InsertCall& call) {
  const Source::Prepared prepared = call.source.prepare(1);
  if (prepared.count > 0) return true;
  call.exception = prepared.exception;
  if (prepared.is_exhausted) call.count = call.accepted;
  if (prepared.has_no_memory) call.status = InsertStatus::kNoMemory;
  return false;
}

// As read_next. Runs the user's weigher, too: before anything is taken.
bool BufferCore::weigh_next(InsertCall& call) {
  if (!read_next(call)) return false;
  try {
    call.weight = std::min(call.source.weight(options_.weigh, 0), kHeaviestItem);
  } catch (...) {
    call.exception = std::current_exception();
    return false;
  }
  return true;
}

// Round robin passes on to the next partition with room before anything waits.
Slot* BufferCore::find_room(InsertCall& call, Seat& seat) noexcept {
  const bool is_pinned = call.partition_index != kAnyPartition;
  const std::size_t tries = is_pinned ? 1 : partitions_.size();
  for (std::size_t tried = 0; tried < tries; ++tried) {
    Slot& slot = is_pinned ? *seat.slots[call.partition_index] : *seat.cursor;
    if (is_marked(slot)) {
      call.is_nested = true;
      return nullptr;
    }
    // relaxed: this thread is the only writer.
    if ((slot.word.load(std::memory_order_relaxed) != slot.check_at || settle(slot)) &&
        partitions_[slot.partition_index]->weight_gate.has_room(call.weight)) {
      return &slot;
    }
    if (!is_pinned) seat.cursor = slot.next;
  }
  return nullptr;
}

// Moves into the slot what there is room for. Returns whether the call goes on.
bool BufferCore::insert_some(InsertCall& call, Seat& seat, Slot& slot) {
  Partition& partition = *partitions_[slot.partition_index];
  const bool is_single = call.count == 1;
  const std::size_t granted =
      is_single ? 1 : partition.gate.reserve(slot, call.count - call.accepted);
  if (granted == 0) return true;  // Somebody was faster; look for room again.

  std::size_t weight = 0;
  const Source::Prepared prepared = options_.weigh
                                        ? prepare_weighed(call, partition, granted, weight)
                                        : call.source.prepare(granted);
  std::size_t inserted = prepared.count;
  const PushResult result = inserted == 0 ? PushResult::kIn : push(slot, call.source, inserted);
  bool has_made_room = false;
  if (is_single) {
    partition.gate.finish_single(slot);
  } else {
    has_made_room = partition.gate.finish_reserved(slot, granted, inserted);
  }
  if (options_.weigh && (inserted == 0 || inserted < prepared.count)) {
    partition.weight_gate.release(
        inserted == 0 ? weight : weight_of_prepared(call, prepared.count - inserted));
    has_made_room = true;
  }
  if (has_made_room) room_bell_.ring();
  if (inserted > 0 && options_.weigh && partition.weight_gate.is_due()) partition.doorbell.ring();
  call.accepted += inserted;
  if (call.partition_index == kAnyPartition && inserted > 0) {
    seat.cursor = slot.next;
    if (--seat.tickets_left == 0) router_.draw(seat);
    if (!is_single) call.partition_index = slot.partition_index;  // The others follow.
  }
  if (prepared.is_exhausted) call.count = call.accepted + call.source.ahead();

  switch (result) {
    case PushResult::kIn:
      call.exception = prepared.exception;
      if (prepared.has_no_memory && inserted == 0) return call.end(InsertStatus::kNoMemory);
      return call.exception == nullptr;
    case PushResult::kPaused:
      // An item's own constructor inserts while shrink() moves it: it would wait for itself.
      if (RoleFrame::holds_a_turn_of(*this)) return call.end(InsertStatus::kFull);
      sched_yield();  // For some microseconds: shrink().
      return true;
    case PushResult::kClosed:
      call.status = InsertStatus::kClosed;
      break;
    case PushResult::kNoMemory:
      call.status = InsertStatus::kNoMemory;
      break;
  }
  drop_stranded(call, partition);
  return false;
}

// Makes ready as many items as fit by weight, and takes the room for them. Item by item: a range
// that cannot take an item back is read one item ahead at most.
Source::Prepared BufferCore::prepare_weighed(InsertCall& call, Partition& partition,
                                             std::size_t count, std::size_t& weight) {
  Source::Prepared ready;
  try {
    while (ready.count < count) {
      const Source::Prepared next = call.source.prepare(ready.count + 1);
      ready.is_exhausted = next.is_exhausted;
      ready.exception = next.exception;
      if (next.count == ready.count) break;
      const std::size_t added =
          std::min(call.source.weight(options_.weigh, ready.count), kHeaviestItem);
      if (!partition.weight_gate.reserve(added)) {
        ready.exception = nullptr;
        break;
      }
      weight += added;
      ++ready.count;
    }
  } catch (...) {
    ready.exception = std::current_exception();
  }
  return ready;
}

// What the first `count` prepared items weigh. They have been weighed before, without a throw.
std::size_t BufferCore::weight_of_prepared(const InsertCall& call,
                                           std::size_t count) const noexcept {
  std::size_t weight = 0;
  try {
    for (std::size_t index = 0; index < count; ++index) {
      weight += std::min(call.source.weight(options_.weigh, index), kHeaviestItem);
    }
  } catch (...) {
    return weight;  // The contract of `weigh` is broken.
  }
  return weight;
}

// Lowers `count` to the items that went in.
// As Inserter::try_push, step by step, but all seq_cst: this is also the path of machines without
// membarrier, where [P1] → [P2] and [P3] → [P4] must be in one total order with the other sides.
BufferCore::PushResult BufferCore::push(Slot& slot, Source& source, std::size_t& count) noexcept {
  const std::size_t wanted = std::exchange(count, 0);
  // relaxed: this thread is the only writer.
  const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
  slot.word.store(word | Slot::kInside, std::memory_order_seq_cst);      // [P1]
  const std::uint32_t seen = attention.load(std::memory_order_seq_cst);  // [P2]
  if ((seen & (kClosed | kForked)) != 0) {
    slot.word.store(word, std::memory_order_release);  // release: close waits for the mark to go
    return PushResult::kClosed;
  }
  if ((seen & kShrinking) != 0) {
    slot.word.store(word, std::memory_order_release);  // release: shrink() waits for the mark to go
    return PushResult::kPaused;
  }
  count = source.push(slot, wanted);
  slot.word.store(word + Slot::kOneItem * count, std::memory_order_seq_cst);  // [P3]
  if (count > 0 && slot.watch->load(std::memory_order_seq_cst) != 0)
    count_down(slot, count);  // [P4]
  return count == wanted ? PushResult::kIn : PushResult::kNoMemory;
}

// There is no room. Returns whether to look again.
bool BufferCore::overflow(InsertCall& call, Seat& seat) {
  const std::size_t partition_index =
      call.partition_index != kAnyPartition ? call.partition_index : seat.cursor->partition_index;
  Partition& partition = *partitions_[partition_index];
  // In on_drop, or in a hook on it: giving up an item would call it again, and so for ever.
  if (RoleFrame::has(*this, RoleFrame::Role::kDrop)) return call.end(InsertStatus::kFull);
  switch (options_.overflow) {
    case Overflow::kReject:
      return call.end(InsertStatus::kFull);
    case Overflow::kDropOldest: {
      if (!read_next(call)) return false;  // Nothing is given up for an item that does not come.
      GivenUp oldest(*this, partition);
      if (remove_oldest(partition, call.weight, oldest.cargo())) {
        // The new goes in before on_drop hears of the old: what that inserts must not take its
        // room.
        Slot& slot = *seat.slots[partition_index];
        return !settle(slot) || insert_some(call, seat, slot);
      }
      [[fallthrough]];
    }
    case Overflow::kDropNewest:
      if (!read_next(call)) return false;
      call.status = InsertStatus::kDropped;
      while (call.accepted < call.count && call.exception == nullptr) {
        const std::size_t wanted = std::min(kDropItems, call.count - call.accepted);
        if (drop_from_source(call, partition, wanted, DropReason::kNewest) < wanted) break;
      }
      return false;
    case Overflow::kBlock:
      break;
  }
  if (!call.may_wait || RoleFrame::works_for(*this)) return call.end(InsertStatus::kFull);
  return wait_for_room(call);
}

bool BufferCore::wait_for_room(InsertCall& call) {
  if (!call.deadline) {
    call.deadline = wait_deadline(call.timeout);
    if (listens(Event::kBlocked)) {
      TelemetryEvent event;
      event.event = Event::kBlocked;
      event.size = call.count - call.accepted;
      if (call.partition_index != kAnyPartition) event.partition_index = call.partition_index;
      emit(event);
    }
    // A full partition has a batch due: no need to sleep out a nap.
    for (const auto& partition : partitions_) partition->doorbell.ring();
  }
  const auto has_room = [&] {
    if (call.partition_index != kAnyPartition) {
      return partitions_[call.partition_index]->has_room(call.weight);
    }
    return std::any_of(partitions_.begin(), partitions_.end(),
                       [&](const auto& partition) { return partition->has_room(call.weight); });
  };
  RoomBell::Waiter waiter(room_bell_);
  while (!has_room() && !is_closed()) {
    if (steady_clock().now() >= *call.deadline) {
      return call.end(InsertStatus::kTimedOut);
    }
    if (options_.weigh) demand_flush(call);
    waiter.wait_until(*call.deadline);
  }
  return true;
}

// By weight a partition can be too full for one item and yet have no batch due. Each time anew:
// what a batch removes may not be enough.
void BufferCore::demand_flush(const InsertCall& call) noexcept {
  for (const auto& partition : partitions_) {
    if (call.partition_index != kAnyPartition && call.partition_index != partition->index) continue;
    partition->weight_gate.demand_flush();
    partition->doorbell.ring();
  }
}

// Makes room for one item of this weight. Returns false where it cannot: somebody else has the turn
// and keeps it, or there is nothing to give up yet.
bool BufferCore::remove_oldest(Partition& partition, std::size_t weight, Cargo& cargo) {
  bool has_room = false;
  int tries = 0;
  while (!partition.turn.try_acquire()) {
    if (++tries == kTurnTries || RoleFrame::holds(partition.turn)) return false;
    sched_yield();
  }
  {
    const Turn::Holder holder(partition.turn, *this);
    while (has_room = partition.has_room(weight), !has_room) {
      const std::size_t excess = std::max<std::size_t>(1, partition.gate.excess());
      cargo.reserve(excess);
      const Drain::Taken taken = partition.drain.take(excess, 0, cargo);
      if (taken.items == 0) break;  // All are in flight, or on their way in.
      partition.remove(taken);
    }
  }
  if (cargo.size() > 0) ring_room();
  return has_room;
}

// Whether this thread is just moving an item into the buffer: then the item's own code runs, and
// close would wait for it.
bool BufferCore::is_inserting() const noexcept {
  const Seat* const seat = find_seat();
  return seat != nullptr && std::any_of(seat->slots, seat->slots + partitions_.size(),
                                        [](const Slot* slot) { return is_marked(*slot); });
}

// What was read from the range ahead of a refusal, and cannot go back, goes to on_drop.
void BufferCore::drop_stranded(InsertCall& call, Partition& partition) noexcept {
  Cargo* const items = call.source.stranded();
  if (items == nullptr) return;
  DropInfo info;
  info.reason = DropReason::kNewest;
  if (call.status == InsertStatus::kClosed) info.reason = DropReason::kClosed;
  if (call.status == InsertStatus::kNoMemory) info.reason = DropReason::kNoMemory;
  // relaxed: see ItemCounts.
  partition.counts.never_queued.fetch_add(items->size(), std::memory_order_relaxed);
  call.accepted += items->size();
  drop(partition, items->data(), items->size(), info);
  items->clear();
}

// Takes up to `count` items of the call and gives them up. Returns how many there were.
std::size_t BufferCore::drop_from_source(InsertCall& call, Partition& partition, std::size_t count,
                                         DropReason reason) {
  const std::unique_ptr<Cargo> cargo = partition.lane->make_cargo();
  cargo->reserve(count);  // Before anything is taken: without memory all stays with the caller.
  try {
    call.source.give(count, *cargo);
  } catch (...) {
    call.exception = std::current_exception();  // What was given before it is dropped all the same.
  }
  const std::size_t given = cargo->size();
  // relaxed: see ItemCounts.
  partition.counts.never_queued.fetch_add(given, std::memory_order_relaxed);
  DropInfo info;
  info.reason = reason;
  drop(partition, cargo->data(), given, info);
  call.accepted += given;
  return given;
}

}  // namespace databuffer::detail
