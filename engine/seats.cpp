#include "engine/seats.hpp"

#include <algorithm>
#include <new>
#include <utility>

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
  const MutexLock lock(mutex_);
  const auto oldest = std::lower_bound(free_.begin(), free_.end(), least, is_older);
  if (oldest == free_.end()) return build();
  Seat& seat = **oldest;
  free_.erase(oldest);
  return seat;
}

void Seats::give_back(Seat& seat) noexcept {
  for (const auto& partition : partitions_)
    partition->gate.settle_up(*seat.slots[partition->index]);
  {
    const MutexLock lock(mutex_);
    // It does not allocate: build() reserved for it.
    free_.insert(std::lower_bound(free_.begin(), free_.end(), seat.number, is_older), &seat);
  }
  trim();
}

void Seats::trim() noexcept {
  {
    const MutexLock lock(mutex_);
    if (!depart_spares()) return;
  }
  for (const auto& partition : partitions_)
    partition->doorbell.ring();  // They are forgotten there.
}

// Returns whether any departed.
bool Seats::depart_spares() noexcept {
  bool has_departed = false;
  const std::size_t out = seats_.size() - free_.size();
  while (free_.size() > std::max(kSpareSeats, out / 2) && most_departed() < kSpareSeats + out) {
    Seat& newest = *free_.back();
    free_.pop_back();
    remove(newest);
    has_departed = true;
  }
  return has_departed;
}

std::size_t Seats::most_departed() const noexcept {
  std::size_t most = 0;
  for (const auto& partition : partitions_) {
    most = std::max(most, partition->drain.departed_count());
  }
  return most;
}

Seat& Seats::build() {
  if (seats_.size() == seats_.capacity()) {
    const std::size_t count = std::max(kSpareSeats, 2 * seats_.size());
    free_.reserve(count);
    seats_.reserve(count);
  }
  auto seat = std::make_unique<OwnedSeat>();
  std::vector<Slot*>& slots = seat->slots_by_index;
  slots.reserve(partitions_.size());
  seat->producers.reserve(partitions_.size());
  try {
    for (const auto& partition : partitions_) {
      seat->producers.push_back(&partition->drain.add());
      Slot& slot = *seat->producers.back()->slot;
      slot.partition_index = static_cast<std::uint32_t>(partition->index);
      slot.watch = &partition->doorbell.watch();
      slots.push_back(&slot);
    }
  } catch (const std::bad_alloc&) {
    depart(*seat);
    throw;
  }
  for (std::size_t index = 0; index < slots.size(); ++index) {
    slots[index]->next = slots[(index + 1) % slots.size()];
  }
  seat->slots = slots.data();
  seat->cursor = slots.front();
  seat->number = next_number();
  return *seats_.emplace_back(std::move(seat));
}

void Seats::remove(Seat& seat) noexcept {
  const auto found = std::lower_bound(
      seats_.begin(), seats_.end(), seat.number,
      [](const auto& owned, std::uint64_t number) { return owned->number < number; });
  depart(**found);
  seats_.erase(found);
}

void Seats::depart(const OwnedSeat& seat) noexcept {
  for (std::size_t index = 0; index < seat.producers.size(); ++index) {
    partitions_[index]->drain.depart(*seat.producers[index]);
  }
}

}  // namespace databuffer::detail
