// What an insert does where there is no room: waits, is refused, or gives items up.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>

#include "databuffer/detail/forced_unwind.hpp"
#include "engine/buffer_core.hpp"
#include "engine/insert_call.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {
namespace {

// Items of a range given up at a time.
constexpr std::size_t kDropItems = 4096;
// What an insert that drops the oldest waits for who removes items just now, at the least.
constexpr Duration kTurnPatience = std::chrono::milliseconds{10};
// Times the core is given away before a producer sleeps.
constexpr int kRoomYields = 4;
// Times it gives the core away where all room is taken by inserts that are not through yet.
constexpr int kPublishYields = 4;

}  // namespace

// There is no room. Returns a slot that has some after all, call.room of it. Null: the call ends.
Slot* BufferCore::overflow(InsertCall& call, Seat& seat) {
  const bool is_bound = call.partition_index != kAnyPartition;
  Slot& slot = is_bound ? *seat.slots[call.partition_index] : router_.following(seat);
  Partition& partition = *partitions_[slot.partition_index];
  // Nothing is given up for an item that does not come. (Where the caller keeps what is refused
  // there is no looking: what is read of a range cannot always go back.)
  const bool gives_up =
      options_.overflow == Overflow::kDropOldest || options_.overflow == Overflow::kDropNewest;
  // In on_drop, or in a hook on it: giving up an item would call it again, and so for ever.
  if (RoleFrame::has(*this, RoleFrame::Role::kDrop)) {
    call.status = InsertStatus::kFull;
    return nullptr;
  }
  if (gives_up && !read_next(call)) return nullptr;
  if (is_closed()) {  // The range may have forked.
    call.status = InsertStatus::kClosed;
    return nullptr;
  }
  switch (options_.overflow) {
    case Overflow::kReject:
      call.status = InsertStatus::kFull;
      return nullptr;
    case Overflow::kDropOldest:
      if (drop_oldest(call, partition, slot)) {
        if (!is_bound) router_.take_turn(seat, slot);
        return &slot;
      }
      [[fallthrough]];
    case Overflow::kDropNewest:
      drop_newest(call, partition);
      return nullptr;
    case Overflow::kBlock:
      break;
  }
  return wait_for_room(call, seat);
}

Slot* BufferCore::wait_for_room(InsertCall& call, Seat& seat) {
  const bool would_wait_for_itself = RoleFrame::works_for(*this) ||
                                     RoleFrame::has(*this, RoleFrame::Role::kRead) ||
                                     (call.timeout > Duration::zero() && is_driver());
  if (!call.may_wait || would_wait_for_itself) {
    call.status = InsertStatus::kFull;
    return nullptr;
  }
  if (!call.deadline) {
    call.deadline = wait_deadline(call.timeout);
    if (listens(Event::kBlocked)) {
      TelemetryEvent event;
      event.event = Event::kBlocked;
      event.size = call.count - call.accepted;
      if (call.partition_index != kAnyPartition) event.partition_index = call.partition_index;
      emit(event);
    }
  }
  // A full partition has a batch due: no need to sleep out a nap.
  for (const auto& partition : partitions_) {
    const bool may_serve =
        call.partition_index == kAnyPartition || call.partition_index == partition->index;
    if (may_serve) partition->doorbell.ring();
  }
  // Before a sleep, which costs two switches and somebody a system call: the consumers may only be
  // waiting for this core.
  for (int turn = 0; turn < kRoomYields; ++turn) {
    if (steady_clock().now() >= *call.deadline) {
      call.status = InsertStatus::kTimedOut;
      return nullptr;
    }
    sched_yield();
    if (Slot* const slot = find_room(call, seat); slot != nullptr) return slot;
  }
  // By weight one by one: the next item's weight is not known yet.
  const bool is_one = options_.weigh || call.source.is_ready();
  SpaceWaiters::Waiter waiter(call.partition_index, is_one ? 1 : first_piece(call), call.weight);
  space_waiters_.join(waiter);
  switch (space_waiters_.wait(waiter, *call.deadline)) {
    case SpaceWaiters::Outcome::kServed:
      break;
    case SpaceWaiters::Outcome::kTimedOut:
      call.status = InsertStatus::kTimedOut;
      return nullptr;
    case SpaceWaiters::Outcome::kClosed:
      call.status = InsertStatus::kClosed;
      return nullptr;
  }
  Slot& slot = *seat.slots[waiter.partition_index()];
  Gate::end_allowance(slot);
  call.room = waiter.room();
  if (call.partition_index == kAnyPartition) router_.take_turn(seat, slot);
  return &slot;
}

// Gives up the oldest items until there is room for the call's next, and takes that. Returns false
// where it cannot: see remove_oldest().
bool BufferCore::drop_oldest(InsertCall& call, Partition& partition, Slot& slot) {
  std::optional<GivenUp>& oldest = call.given_up;
  if (oldest && (&oldest->partition() != &partition || oldest->cargo().size() >= kDropItems)) {
    oldest->hand_over();
    oldest.reset();
    if (is_forked()) return false;  // on_drop forked: the turn may be held for ever.
  }
  if (!oldest) oldest.emplace(*this, partition);
  if (!partition.turn.try_acquire()) {
    // Held by somebody who moves items: for moments, if moving an item is a matter of moments. A
    // thread that moves some itself does not wait for another.
    if (RoleFrame::holds_a_turn_of(*this)) return false;
    const Duration patience = std::max(call.may_wait ? call.timeout : Duration{}, kTurnPatience);
    if (!partition.turn.acquire_until(wait_deadline(patience))) return false;
  }
  bool has_room = false;
  {
    const Turn::Holder holder(partition.turn, *this);
    has_room = remove_oldest(call, partition, slot);
  }
  if (has_given_up()) sweep(partition);  // close() may have found the turn taken.
  return has_room;
}

// Requires the turn. Returns false if there is nothing to give up: all is in flight, or on its way
// in.
bool BufferCore::remove_oldest(InsertCall& call, Partition& partition, Slot& slot) {
  Cargo& cargo = call.given_up->cargo();
  int yields = 0;
  while (!take_room(call, slot)) {
    const std::size_t excess = std::max<std::size_t>(1, partition.gate.excess());
    cargo.reserve(excess);
    const Drain::Taken taken = partition.drain.take(excess, 0, cargo);
    if (taken.items == 0) {
      if (++yields > kPublishYields) return false;
      sched_yield();
      continue;
    }
    // Gone first, and their room free then: so nobody ever sees more than there may be.
    partition.count_removed(taken.items);
    space_waiters_.release(partition, taken.items, taken.weight);
  }
  return true;
}

void BufferCore::drop_newest(InsertCall& call, Partition& partition) {
  call.status = InsertStatus::kDropped;
  while (call.accepted < call.count && call.exception == nullptr) {
    const std::size_t wanted = std::min(kDropItems, call.count - call.accepted);
    if (drop_from_source(call, partition, wanted) < wanted) break;
  }
}

// What was read from the range ahead of a refusal, and cannot go back, goes to on_drop.
void BufferCore::drop_stranded(InsertCall& call) {
  Cargo* const items = call.source.stranded();
  if (items == nullptr) return;
  DropReason reason = DropReason::kNewest;
  if (call.status == InsertStatus::kClosed) reason = DropReason::kClosed;
  if (call.status == InsertStatus::kNoMemory) reason = DropReason::kNoMemory;
  const std::size_t index = call.partition_index != kAnyPartition ? call.partition_index : 0;
  if (reason == DropReason::kClosed) {  // relaxed: a statistic
    given_up_items_.fetch_add(items->size(), std::memory_order_relaxed);
  }
  drop_unqueued(call, *partitions_[index], *items, reason);
}

// Takes up to `count` items of the call and gives them up. Returns how many there were.
std::size_t BufferCore::drop_from_source(InsertCall& call, Partition& partition,
                                         std::size_t count) {
  const std::unique_ptr<Cargo> cargo = partition.lane->make_cargo();
  cargo->reserve(count);  // Before anything is taken: without memory all stays with the caller.
  try {
    call.source.give(count, *cargo);
  } catch (const ForcedUnwind&) {
    throw;
  } catch (...) {
    call.exception = std::current_exception();  // What was given before it is dropped all the same.
  }
  const std::size_t given = cargo->size();
  drop_unqueued(call, partition, *cargo, DropReason::kNewest);
  return given;
}

// Items that were accepted without having been pending.
void BufferCore::drop_unqueued(InsertCall& call, Partition& partition, Cargo& items,
                               DropReason reason) {
  // relaxed: see ItemCounts.
  partition.counts.never_queued.fetch_add(items.size(), std::memory_order_relaxed);
  call.accepted += items.size();
  DropInfo info;
  info.reason = reason;
  drop(partition, items.data(), items.size(), info);
  items.clear();
}

}  // namespace databuffer::detail
