#include "engine/seats.hpp"

#include <algorithm>
#include <utility>

#include "databuffer/detail/seat_cache.hpp"
#include "engine/buffer_core.hpp"
#include "engine/partition.hpp"

namespace databuffer::detail {

constinit thread_local SeatCache seat_cache{};

Seat* Core::recall_seat() const noexcept { return seat_cache.recall(id); }

namespace {

// Set when the list below is gone: a thread-local or static object's destructor may still insert.
constinit thread_local bool is_list_gone = false;

/// All seats this thread has taken; gives them back at its end. The cache in front of it forgets.
class SeatList {
 public:
  SeatList() = default;
  SeatList(const SeatList&) = delete;
  SeatList& operator=(const SeatList&) = delete;
  ~SeatList() {
    is_list_gone = true;
    seat_cache = {};
    for (const Taken& taken : taken_) give_back(taken);
  }

  Seat* find(std::uint64_t buffer_id) const noexcept {
    for (const Taken& taken : taken_) {
      if (taken.buffer_id == buffer_id) return taken.seat;
    }
    return nullptr;
  }

  Seat& take(BufferCore& buffer) {
    // Room first, so that a seat is never taken and then forgotten. Dead buffers make room.
    if (taken_.size() == taken_.capacity()) {
      std::erase_if(taken_, [](const Taken& taken) { return taken.buffer.expired(); });
      taken_.reserve(std::max<std::size_t>(4, 2 * taken_.size()));
    }
    Seat& seat = buffer.seats().borrow();
    taken_.push_back({buffer.id, &seat, buffer.weak_from_this()});
    return seat;
  }

 private:
  struct Taken {
    std::uint64_t buffer_id;
    Seat* seat;  // borrowed from the buffer
    std::weak_ptr<BufferCore> buffer;
  };

  static void give_back(const Taken& taken) noexcept {
    const std::shared_ptr<BufferCore> buffer = taken.buffer.lock();
    if (buffer != nullptr && !buffer->is_forked()) buffer->seats().give_back(*taken.seat);
  }

  std::vector<Taken> taken_;
};

}  // namespace

Seat& Seats::borrow() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return build();
  Seat& seat = *free_.back();
  free_.pop_back();
  return seat;
}

void Seats::give_back(Seat& seat) noexcept {
  for (const auto& partition : partitions_)
    partition->gate.settle_up(*seat.slots[partition->index]);
  const std::lock_guard lock(mutex_);
  free_.push_back(&seat);  // does not allocate: build() reserved for it
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
  return seat;
}

Seat* seat_of_this_thread(BufferCore& buffer) noexcept {
  if (is_list_gone) return nullptr;
  if (Seat* const cached = buffer.find_seat(); cached != nullptr) return cached;
  thread_local SeatList list;
  try {
    Seat* seat = list.find(buffer.id);
    if (seat == nullptr) seat = &list.take(buffer);
    seat_cache.remember(buffer.id, seat);
    return seat;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace databuffer::detail
