#include "engine/seats.hpp"

#include <algorithm>

#include "engine/partition.hpp"

namespace databuffer::detail {
namespace {

// Of all buffers, because a thread remembers one number for all (thread_seats.cpp).
std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  // relaxed: only has to grow; the mutex orders one buffer's.
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool is_older(const Seat* seat, std::uint64_t number) noexcept { return seat->number < number; }

}  // namespace

Seat& Seats::borrow(std::uint64_t least) {
  const std::lock_guard lock(mutex_);
  const auto oldest = std::lower_bound(free_.begin(), free_.end(), least, is_older);
  if (oldest == free_.end()) return build();
  Seat& seat = **oldest;
  free_.erase(oldest);
  return seat;
}

void Seats::give_back(Seat& seat) noexcept {
  for (const auto& partition : partitions_)
    partition->gate.settle_up(*seat.slots[partition->index]);
  const std::lock_guard lock(mutex_);
  // It does not allocate: build() reserved for it.
  free_.insert(std::lower_bound(free_.begin(), free_.end(), seat.number, is_older), &seat);
}

// A seat that is built half way for want of memory leaves its slots unused in their lanes.
Seat& Seats::build() {
  free_.reserve(seats_.size() + 1);
  std::vector<Slot*>& slots = slots_of_seats_.emplace_back();
  slots.reserve(partitions_.size());
  for (const auto& partition : partitions_) {
    Slot& slot = partition->lane->make_slot();
    slot.partition_index = static_cast<std::uint32_t>(partition->index);
    slot.watch = &partition->doorbell.watch();
    slots.push_back(&slot);
  }
  for (std::size_t index = 0; index < slots.size(); ++index) {
    slots[index]->next = slots[(index + 1) % slots.size()];
  }
  for (const auto& partition : partitions_) partition->drain.add(*slots[partition->index]);
  Seat& seat = seats_.emplace_back();
  seat.slots = slots.data();
  seat.cursor = slots.front();
  seat.number = next_number();
  return seat;
}

}  // namespace databuffer::detail
