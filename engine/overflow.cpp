// What an insert does where there is no room: waits, is refused, or gives items up.
#include <sched.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "engine/buffer_core.hpp"
#include "engine/insert_call.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {
namespace {

// Items of a range given up at a time.
constexpr std::size_t kDropItems = 4096;
// Tries to get the turn for dropping the oldest, before the newest goes instead.
constexpr int kTurnTries = 64;
// Times the core is given away before a producer sleeps.
constexpr int kRoomYields = 4;

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

// There is no room. Returns whether to look again.
bool BufferCore::overflow(InsertCall& call, Seat& seat) {
  const std::size_t partition_index = call.partition_index != kAnyPartition
                                          ? call.partition_index
                                          : router_.following(seat).partition_index;
  Partition& partition = *partitions_[partition_index];
  // In on_drop, or in a hook on it: giving up an item would call it again, and so for ever.
  if (RoleFrame::has(*this, RoleFrame::Role::kDrop)) return call.end(InsertStatus::kFull);
  // Nothing is given up for an item that does not come. (Where the caller keeps what is refused
  // there is no looking: what is read of a range cannot always go back.)
  const bool gives_up =
      options_.overflow == Overflow::kDropOldest || options_.overflow == Overflow::kDropNewest;
  if (gives_up && !read_next(call)) return false;
  switch (options_.overflow) {
    case Overflow::kReject:
      return call.end(InsertStatus::kFull);
    case Overflow::kDropOldest: {
      GivenUp oldest(*this, partition);
      if (remove_oldest(partition, call.weight, oldest.cargo())) {
        // The new goes in before on_drop hears of the old: what that inserts must not take its
        // room.
        Slot& slot = *seat.slots[partition_index];
        if (!gate_of(slot).admits(slot)) return true;
        if (call.partition_index == kAnyPartition) router_.take_turn(seat, slot);
        return insert_some(call, seat, slot);
      }
      [[fallthrough]];
    }
    case Overflow::kDropNewest:
      call.status = InsertStatus::kDropped;
      while (call.accepted < call.count && call.exception == nullptr) {
        const std::size_t wanted = std::min(kDropItems, call.count - call.accepted);
        if (drop_from_source(call, partition, wanted) < wanted) break;
      }
      return false;
    case Overflow::kBlock:
      break;
  }
  const bool would_wait_for_itself =
      RoleFrame::works_for(*this) || (call.timeout > Duration::zero() && is_driver());
  if (!call.may_wait || would_wait_for_itself) return call.end(InsertStatus::kFull);
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
  // Before a sleep, which costs two switches and somebody a system call: the consumers may only be
  // waiting for this core.
  for (int turn = 0; turn < kRoomYields && steady_clock().now() < *call.deadline; ++turn) {
    sched_yield();
    if (has_room() || is_closed()) return true;
  }
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
  if (has_given_up()) sweep(partition);  // close() may have found the turn taken.
  if (cargo.size() > 0) ring_room();
  return has_room;
}

// What was read from the range ahead of a refusal, and cannot go back, goes to on_drop.
void BufferCore::drop_stranded(InsertCall& call) noexcept {
  Cargo* const items = call.source.stranded();
  if (items == nullptr) return;
  DropReason reason = DropReason::kNewest;
  if (call.status == InsertStatus::kClosed) reason = DropReason::kClosed;
  if (call.status == InsertStatus::kNoMemory) reason = DropReason::kNoMemory;
  const std::size_t index = call.partition_index != kAnyPartition ? call.partition_index : 0;
  drop_unqueued(call, *partitions_[index], *items, reason);
}

// Takes up to `count` items of the call and gives them up. Returns how many there were.
std::size_t BufferCore::drop_from_source(InsertCall& call, Partition& partition,
                                         std::size_t count) {
  const std::unique_ptr<Cargo> cargo = partition.lane->make_cargo();
  cargo->reserve(count);  // Before anything is taken: without memory all stays with the caller.
  try {
    call.source.give(count, *cargo);
  } catch (...) {
    call.exception = std::current_exception();  // What was given before it is dropped all the same.
  }
  const std::size_t given = cargo->size();
  drop_unqueued(call, partition, *cargo, DropReason::kNewest);
  return given;
}

// Items that were accepted without having been pending.
void BufferCore::drop_unqueued(InsertCall& call, Partition& partition, Cargo& items,
                               DropReason reason) noexcept {
  // relaxed: see ItemCounts.
  partition.counts.never_queued.fetch_add(items.size(), std::memory_order_relaxed);
  call.accepted += items.size();
  DropInfo info;
  info.reason = reason;
  drop(partition, items.data(), items.size(), info);
  items.clear();
}

}  // namespace databuffer::detail
