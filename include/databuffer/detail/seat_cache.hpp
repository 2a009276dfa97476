#pragma once

#include "databuffer/detail/slot.hpp"

namespace databuffer::detail {

class Core;

/// The buffer this thread used last, and its seat there. The thread's table of seats keeps the
/// buffer's memory while the buffer is named here, so that no other can have its address. Plain
/// data without constructor or destructor: it can be read at any time in the thread's life.
///
/// Each copy of the library in a process has its own (hidden), and only buffers that were made by
/// that copy are ever in it.
struct SeatCache {
  const Core* core;  // null: none
  Seat* seat;        // borrowed from the buffer
};

extern constinit thread_local SeatCache seat_cache [[gnu::visibility("hidden")]];

}  // namespace databuffer::detail
