#include "engine/thread_seats.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "databuffer/detail/seat_cache.hpp"
#include "engine/buffer_core.hpp"

namespace databuffer::detail {

namespace {

constexpr SeatCache kNoPlaces[2] = {};
constexpr SeatTable kEmptyTable{kNoPlaces, 63};

}  // namespace

constinit thread_local SeatCache seat_cache{};
constinit thread_local SeatTable seat_table = kEmptyTable;

namespace {

// The highest of the seats this thread has given back: it never takes an older one (see Seats).
constinit thread_local std::uint64_t least_number = 0;

/// All seats this thread has, found by the buffer's address. An entry holds its buffer weakly,
/// which keeps the memory of a dead buffer: so no other buffer has its address while the entry is
/// there. Entries of dead buffers leave each time the table is built anew. So it is never larger
/// than the buffers that lived at the same time call for.
class ThreadSeats {
 public:
  ThreadSeats() = default;
  ThreadSeats(const ThreadSeats&) = delete;
  ThreadSeats& operator=(const ThreadSeats&) = delete;

  Seat& take(BufferCore& buffer) {
    // Room first, so that a seat is never taken and then forgotten. At most half is used.
    if (2 * (used_ + 1) > places_.size()) rebuild();
    Seat& seat = buffer.seats().borrow(least_number);
    add(buffer, seat, buffer.weak_from_this());
    return seat;
  }

  void give_all_back() noexcept {
    seat_cache = {};
    seat_table = kEmptyTable;
    for (std::size_t place = 0; place < places_.size(); ++place) {
      const std::shared_ptr<BufferCore> buffer = buffers_[place].lock();
      if (buffer == nullptr || buffer->is_forked()) continue;
      Seat& seat = *places_[place].seat;
      least_number = std::max(least_number, seat.number);
      buffer->seats().give_back(seat);
    }
  }

 private:
  static constexpr std::size_t kSmallest = 8;

  void add(const Core& core, Seat& seat, std::weak_ptr<BufferCore> buffer) noexcept {
    const std::size_t place = seat_table.place_of(core);
    places_[place] = {&core, &seat};
    buffers_[place] = std::move(buffer);
    ++used_;
  }

  // At most a quarter is used then: as many takes follow as it costs to move the entries.
  void rebuild() {
    std::size_t alive = 0;
    for (const auto& buffer : buffers_) {
      if (!buffer.expired()) ++alive;
    }
    const std::size_t count = std::max(kSmallest, std::bit_ceil(4 * (alive + 1)));
    std::vector<SeatCache> places(count);
    std::vector<std::weak_ptr<BufferCore>> buffers(count);
    places.swap(places_);
    buffers.swap(buffers_);
    seat_cache = {};  // It may name a buffer whose entry goes now.
    seat_table = {places_.data(), 64U - static_cast<unsigned>(std::countr_zero(count))};
    used_ = 0;
    for (std::size_t place = 0; place < places.size(); ++place) {
      if (buffers[place].expired()) continue;
      add(*places[place].core, *places[place].seat, std::move(buffers[place]));
    }
  }

  std::vector<SeatCache> places_;                   // of seat_table
  std::vector<std::weak_ptr<BufferCore>> buffers_;  // of these places
  std::size_t used_ = 0;
};

constinit thread_local ThreadSeats* own_seats = nullptr;  // owned, until the thread's end begins
constinit thread_local bool has_ended = false;

// A key's destructor runs after those of all thread-local objects. Other keys' destructors may run
// later, and may insert: has_ended stays set.
void end_thread(void* seats) noexcept {
  has_ended = true;
  own_seats = nullptr;
  const std::unique_ptr<ThreadSeats> ended(static_cast<ThreadSeats*>(seats));
  ended->give_all_back();
}

pthread_key_t end_key{};
// Cleared when this copy of the library is unloaded, or the process ends: no thread may call
// end_thread() after that, and none takes a seat any more.
constinit std::atomic<bool> has_key{false};

struct EndKey {
  EndKey() noexcept {
    // relaxed, here and below: whoever reads it has passed the static object's guard, and at the
    // process's end an older value does no harm.
    has_key.store(pthread_key_create(&end_key, &end_thread) == 0, std::memory_order_relaxed);
  }
  ~EndKey() {
    // relaxed: at the end of the process, or of the copy, an older value does no harm.
    if (has_key.exchange(false, std::memory_order_relaxed)) pthread_key_delete(end_key);
  }
};

/// This thread's table, or null if nobody would be told of its end.
ThreadSeats* seats_of_this_thread() {
  static const EndKey key;
  if (own_seats != nullptr) return own_seats;
  // relaxed: the guard of `key` orders it after its making.
  if (has_ended || !has_key.load(std::memory_order_relaxed)) return nullptr;
  auto fresh = std::make_unique<ThreadSeats>();
  if (pthread_setspecific(end_key, fresh.get()) != 0) return nullptr;
  return own_seats = fresh.release();
}

}  // namespace

Seat* seat_of_this_thread(BufferCore& buffer) noexcept {
  if (Seat* const known = buffer.find_seat(); known != nullptr) return known;
  try {
    ThreadSeats* const seats = seats_of_this_thread();
    if (seats == nullptr) return nullptr;
    Seat& seat = seats->take(buffer);
    seat_cache = {&buffer, &seat};
    return &seat;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

BorrowedSeat::BorrowedSeat(Seats& seats) : seats_(seats), seat_(seats.borrow(least_number)) {
  least_number = seat_.number;
}

}  // namespace databuffer::detail
