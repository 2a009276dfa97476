// The slow path of an insert: no seat yet, no block in the queue, several items, somebody listens,
// or no membarrier. What happens where there is no room is in overflow.cpp.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "databuffer/detail/forced_unwind.hpp"
#include "engine/buffer_core.hpp"
#include "engine/cancellation.hpp"
#include "engine/insert_call.hpp"
#include "engine/thread_seats.hpp"

namespace databuffer::detail {
namespace {

std::uint64_t own_word(const Slot& slot) noexcept {
  return slot.word.load(std::memory_order_relaxed);  // relaxed: this thread is the only writer
}

bool is_marked(const Slot& slot) noexcept { return (own_word(slot) & Slot::kInside) != 0; }

// Room for so many items is taken before a range is read; for more while it is. So a range that is
// read slowly keeps nobody out of room that it may never use.
constexpr std::size_t kFirstPiece = 64;

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

}  // namespace

InsertBatchResult BufferCore::insert(std::size_t partition_index, Source& source, std::size_t count,
                                     Timeout timeout, bool may_wait) {
  if (Seat* const seat = find_seat(); seat != nullptr) take_back(*seat, partition_index);
  InsertCall call{source, count, partition_index, timeout.value_or(options_.insert_timeout),
                  may_wait};
  if (is_closed()) {
    call.status = InsertStatus::kClosed;
    count_refused(call);
    return {call.status, 0};
  }
  if (count == 0) return {};
  CancellationHeld cancellation;
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
  if (call.given_up) call.given_up->hand_over();
  drop_stranded(call);
  count_refused(call);
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
  cancellation.act_on_pending();
  return {call.status, call.accepted};
}

// The items that stay with the caller. (A forked child's ledger stands still.)
void BufferCore::count_refused(const InsertCall& call) noexcept {
  if (call.status == InsertStatus::kAccepted || call.status == InsertStatus::kDropped ||
      call.exception || is_forked()) {
    return;
  }
  const std::size_t index = call.partition_index != kAnyPartition ? call.partition_index : 0;
  const std::size_t items = call.count == SIZE_MAX ? 1 : call.count - call.accepted;
  // relaxed: see ItemCounts.
  partitions_[index]->counts.refused[static_cast<std::size_t>(call.status)].fetch_add(
      items, std::memory_order_relaxed);
}

void BufferCore::insert_items(InsertCall& call, Seat& seat) {
  while (call.accepted < call.count) {
    if (is_closed()) {
      call.status = InsertStatus::kClosed;
      return;
    }
    if (options_.weigh && !weigh_next(call)) return;
    Slot* slot = find_room(call, seat);
    if (slot == nullptr) slot = overflow(call, seat);
    if (slot == nullptr || call.is_nested || !insert_some(call, seat, *slot)) return;
  }
}

// Has up to `count` items ready. Runs the user's range, which may insert here itself: not to wait
// for room that this call has taken.
Source::Prepared BufferCore::read(InsertCall& call, std::size_t count) {
  const RoleFrame role(*this, RoleFrame::Role::kRead);
  return call.source.prepare(count);
}

// The same for as many as `room` has been taken for. While they are all there, and more are to
// come, takes more room.
Source::Prepared BufferCore::read_on(InsertCall& call, Partition& partition, Slot& slot,
                                     std::size_t& room) {
  for (;;) {
    Source::Prepared prepared = read(call, room);
    const std::size_t left = call.count - call.accepted - prepared.count;
    const bool is_over = prepared.is_exhausted || prepared.exception || left == 0;
    if (is_over || prepared.count < room) return prepared;
    const std::size_t more = partition.gate.reserve(slot, 1, std::min(left, room));
    if (more == 0) return prepared;
    room += more;
  }
}

// Returns whether there is a next item. Runs the user's range.
bool BufferCore::read_next(InsertCall& call) {
  const Source::Prepared prepared = read(call, 1);
  if (prepared.is_exhausted) call.count = call.accepted + call.source.ahead();
  if (prepared.count > 0) return true;
  call.exception = prepared.exception;
  if (prepared.has_no_memory) call.status = InsertStatus::kNoMemory;
  return false;
}

// As read_next. Runs the user's weigher, too: before anything is taken.
bool BufferCore::weigh_next(InsertCall& call) {
  if (!read_next(call)) return false;
  try {
    call.weight = std::min(call.source.weight(options_.weigh, 0), kHeaviestItem);
  } catch (const ForcedUnwind&) {
    throw;
  } catch (...) {
    call.exception = std::current_exception();
    return false;
  }
  return true;
}

// The slot for the call's next item, with room taken: of the partition it is bound to, or of that
// whose turn it is. Null if there is none. A slot that this thread is inside of makes the call
// nested.
Slot* BufferCore::find_room(InsertCall& call, Seat& seat) noexcept {
  Slot* slot = nullptr;
  if (call.partition_index == kAnyPartition) {
    slot = seat.cursor;
    if (own_word(*slot) >= slot->turn_until || !take_room(call, *slot)) {
      slot = find_turn(seat, [&](Slot& next) { return take_room(call, next); });
    }
  } else {
    slot = seat.slots[call.partition_index];
    if (!is_marked(*slot) && !take_room(call, *slot)) return nullptr;
  }
  call.is_nested = slot != nullptr && is_marked(*slot);
  return slot;
}

std::size_t BufferCore::first_piece(const InsertCall& call) noexcept {
  return std::min(call.count - call.accepted, kFirstPiece);
}

// Takes room in the slot's partition for the call's next items: as many as there is room for, up to
// a first piece. By weight, for the first. Returns whether there was.
bool BufferCore::take_room(InsertCall& call, Slot& slot) noexcept {
  Partition& partition = *partitions_[slot.partition_index];
  // Where code of the user's runs before the push, what that inserts could take the room.
  if (!options_.weigh && call.source.is_ready()) return partition.gate.admits(slot);
  if (options_.weigh && !partition.weight_gate.has_room(call.weight)) return false;
  call.room = partition.gate.reserve(slot, 1, first_piece(call));
  if (call.room == 0) return false;
  if (!options_.weigh || partition.weight_gate.reserve(call.weight)) return true;
  space_waiters_.release(partition, std::exchange(call.room, 0), 0);  // Somebody was faster.
  return false;
}

// Gives back the place, and the turn, that the fast path has taken and could not use. The call
// begins anew, and anybody's code may run before it takes one.
void BufferCore::take_back(Seat& seat, std::size_t partition_index) noexcept {
  Slot& slot = partition_index == kAnyPartition ? *seat.cursor : *seat.slots[partition_index];
  if (is_marked(slot)) return;  // The place is in use, further up this stack.
  Partition& partition = *partitions_[slot.partition_index];
  const std::size_t unused = partition.gate.take_back(slot);
  if (unused == 0) return;
  if (partition_index == kAnyPartition) router_.give_turn_back(seat, slot);
  space_waiters_.release(partition, unused, 0);
}

// Round robin passes on to the next partition with room before anything waits. Null if none has it;
// a slot that this thread is inside of, if it comes to that first.
template <class TakeRoom>
Slot* BufferCore::find_turn(Seat& seat, TakeRoom take_room) noexcept {
  Slot* slot = &router_.following(seat);
  for (std::size_t tried = 0; tried < partitions_.size(); ++tried, slot = slot->next) {
    if (is_marked(*slot)) return slot;
    if (take_room(*slot)) {
      router_.take_turn(seat, *slot);
      return slot;
    }
  }
  return nullptr;
}

Slot* BufferCore::next_slot(Seat& seat) noexcept {
  // relaxed: saves a turn that the slow path would take again; Inserter::enter looks for itself.
  if (attention.load(std::memory_order_relaxed) != 0) return nullptr;
  Slot* const slot = find_turn(seat, [this](Slot& next) { return gate_of(next).admits(next); });
  return slot != nullptr && !is_marked(*slot) ? slot : nullptr;
}

Core::BatchTurn BufferCore::next_slot(Seat& seat, std::size_t count) noexcept {
  // relaxed: as above, and saves taking room.
  if (attention.load(std::memory_order_relaxed) != 0) return {};
  Slot& slot = router_.following(seat);
  BatchTurn turn{&slot, false};
  if (is_marked(slot) || !gate_of(slot).admits_batch(slot, count, turn.is_reserved)) return {};
  router_.take_turn(seat, slot, count);
  return turn;
}

void BufferCore::unreserve(Seat& seat, std::size_t count) noexcept {
  Slot& slot = *seat.cursor;
  Gate::end_allowance(slot);
  router_.give_turn_back(seat, slot);
  space_waiters_.release(*partitions_[slot.partition_index], count, 0);
}

bool BufferCore::settle(Slot& slot) noexcept { return gate_of(slot).settle(slot); }

// Moves into the slot what there is room for: call.room items, or one. Returns whether the call
// goes on.
bool BufferCore::insert_some(InsertCall& call, Seat& seat, Slot& slot) {
  Partition& partition = *partitions_[slot.partition_index];
  std::size_t room = std::exchange(call.room, 0);
  const auto give_back_unused = [&](std::size_t used) {
    return room > 0 ? partition.gate.finish_reserved(slot, room, used)
                    : partition.gate.take_back(slot);
  };
  Source::Prepared prepared;
  try {
    if (options_.weigh) {
      prepared = prepare_weighed(call, partition, slot, room);
    } else {
      prepared = room == 0 ? read(call, 1) : read_on(call, partition, slot, room);
    }
  } catch (const ForcedUnwind&) {  // The range ends this thread: the room goes back.
    if (const std::size_t unused = give_back_unused(0); unused > 0) {
      space_waiters_.release(partition, unused, 0);
    }
    throw;
  }
  std::size_t inserted = prepared.count;
  const PushResult result = inserted == 0 ? PushResult::kIn : push(slot, call.source, inserted);
  if (const std::size_t unused = give_back_unused(inserted); unused > 0) {
    space_waiters_.release(partition, unused, weight_of_prepared(call, prepared.count - inserted));
  }
  if (inserted > 0 && options_.weigh && partition.weight_gate.is_due()) partition.doorbell.ring();
  call.accepted += inserted;
  if (call.partition_index == kAnyPartition) {
    if (inserted == 0) router_.give_turn_back(seat, slot);
    if (inserted > 0 && call.count > 1)
      call.partition_index = slot.partition_index;  // They follow.
  }
  if (prepared.is_exhausted) call.count = call.accepted + call.source.ahead();

  switch (result) {
    case PushResult::kIn:
      call.exception = prepared.exception;  // Behind the items that are in.
      if (prepared.has_no_memory && inserted == 0) return call.end(InsertStatus::kNoMemory);
      return call.exception == nullptr;
    case PushResult::kClosed:
      return call.end(InsertStatus::kClosed);
    case PushResult::kNoMemory:
      return call.end(InsertStatus::kNoMemory);
  }
  return false;
}

// Makes ready as many items as fit by weight, and takes the room for them. The first is ready and
// has it. Item by item: a range that cannot take an item back is read one item ahead at most.
Source::Prepared BufferCore::prepare_weighed(InsertCall& call, Partition& partition, Slot& slot,
                                             std::size_t& room) {
  const RoleFrame role(*this, RoleFrame::Role::kRead);  // The weigher is as the range.
  Source::Prepared ready{.count = 1};
  try {
    for (;;) {
      if (ready.count == room) {
        const std::size_t left = call.count - call.accepted - ready.count;
        const std::size_t more =
            left == 0 ? 0 : partition.gate.reserve(slot, 1, std::min(left, room));
        if (more == 0) break;
        room += more;
      }
      const Source::Prepared next = read(call, ready.count + 1);
      ready.is_exhausted = next.is_exhausted;
      ready.exception = next.exception;
      if (next.count == ready.count) break;
      const std::size_t added =
          std::min(call.source.weight(options_.weigh, ready.count), kHeaviestItem);
      if (!partition.weight_gate.reserve(added)) {
        ready.exception = nullptr;
        break;
      }
      ++ready.count;
    }
  } catch (const ForcedUnwind&) {
    partition.weight_gate.release(weight_of_prepared(call, ready.count));
    throw;
  } catch (...) {
    ready.exception = std::current_exception();
  }
  return ready;
}

// What the first `count` prepared items weigh, where they are weighed. They have been weighed
// before, without a throw.
std::size_t BufferCore::weight_of_prepared(const InsertCall& call,
                                           std::size_t count) const noexcept {
  std::size_t weight = 0;
  if (!options_.weigh) return weight;
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
// As Inserter::enter, step by step, but all seq_cst: this is also the path of machines without
// membarrier, where [P1] → [P2] and [P3] → [P4] must be in one total order with the other sides.
BufferCore::PushResult BufferCore::push(Slot& slot, Source& source, std::size_t& count) noexcept {
  const std::size_t wanted = std::exchange(count, 0);
  const std::uint64_t word = own_word(slot);
  slot.word.store(word | Slot::kInside, std::memory_order_seq_cst);      // [P1]
  const std::uint32_t seen = attention.load(std::memory_order_seq_cst);  // [P2]
  if ((seen & (kClosed | kForked)) != 0) {
    slot.word.store(word, std::memory_order_release);  // release: close waits for the mark to go
    return PushResult::kClosed;
  }
  count = source.push(slot, wanted);
  slot.word.store(word + count, std::memory_order_seq_cst);  // [P3]
  if (count > 0 && slot.watch->load(std::memory_order_seq_cst) != 0)
    count_down(slot, count);  // [P4]
  return count == wanted ? PushResult::kIn : PushResult::kNoMemory;
}

// Whether this thread is just moving an item into the buffer: then the item's own code runs, and
// close would wait for it.
bool BufferCore::is_inserting() const noexcept {
  const Seat* const seat = find_seat();
  return seat != nullptr && std::any_of(seat->slots, seat->slots + partitions_.size(),
                                        [](const Slot* slot) { return is_marked(*slot); });
}

}  // namespace databuffer::detail
