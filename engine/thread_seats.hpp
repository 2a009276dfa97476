#pragma once

#include "databuffer/detail/slot.hpp"
#include "engine/seats.hpp"

namespace databuffer::detail {

class BufferCore;

/// This thread's seat in the buffer: found, or taken until the thread ends. Null if there is no
/// memory, or where nobody would give it back: the thread's end has begun, or the process has run
/// out of keys (pthread_key_create). Then borrow one.
[[nodiscard]] Seat* seat_of_this_thread(BufferCore& buffer) noexcept;

/// A seat for this one call: of a thread that has none, or whose own is in use further up its
/// stack. Throws std::bad_alloc.
class BorrowedSeat {
 public:
  explicit BorrowedSeat(Seats& seats);
  ~BorrowedSeat() { seats_.give_back(seat_); }
  BorrowedSeat(const BorrowedSeat&) = delete;
  BorrowedSeat& operator=(const BorrowedSeat&) = delete;
  [[nodiscard]] Seat& seat() noexcept { return seat_; }

 private:
  Seats& seats_;
  Seat& seat_;
};

}  // namespace databuffer::detail
