#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

#include "databuffer/batch.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/lane.hpp"
#include "databuffer/detail/seat_cache.hpp"
#include "databuffer/detail/slot.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"
#include "databuffer/telemetry.hpp"

namespace databuffer::detail {

/// The user's flush handler, of a type the engine does not know.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Hands over `count` items of the cargo, from `first` on. Sets `is_taken` if the handler took
  /// them out (Batch::take), also where it then throws.
  virtual FlushResult flush(Cargo& cargo, std::size_t first, std::size_t count,
                            const FlushContext& context, bool& is_taken) = 0;
};

/// The items of one insert call, of a type the engine does not know.
class Source {
 public:
  struct Prepared {
    std::size_t count = 0;           // items that push may take
    bool is_exhausted = false;       // the range ended (for ranges that do not know their length)
    bool has_no_memory = false;      // for more
    std::exception_ptr exception{};  // thrown by an item or the range, behind `count` items
  };

  virtual ~Source() = default;

  /// Makes up to `count` items ready, for which there is room. Runs the user's code.
  virtual Prepared prepare(std::size_t count) { return {.count = count}; }

  /// Whether its items are there already, so that to prepare them runs nobody's code.
  [[nodiscard]] virtual bool is_ready() const noexcept { return false; }

  /// The weight of a prepared item. Throws what the weigher throws.
  [[nodiscard]] virtual std::size_t weight(const Weigh& weigh, std::size_t index) const = 0;

  /// Moves the first `count` prepared items into the slot's queue, in order. Returns how many:
  /// fewer if the queue cannot allocate; the others are as they were.
  [[nodiscard]] virtual std::size_t push(Slot& slot, std::size_t count) noexcept = 0;

  /// Prepared items that are not in the queue.
  [[nodiscard]] virtual std::size_t ahead() const noexcept { return 0; }

  /// Those of them that the caller has no more; null: none. They can be dropped where they are,
  /// without memory.
  [[nodiscard]] virtual Cargo* stranded() noexcept { return nullptr; }

  /// Moves up to `count` items into `cargo`, to be dropped; returns how many there were. Throws
  /// what an item or the range throws.
  virtual std::size_t give(std::size_t count, Cargo& cargo) = 0;
};

/// What the typed front hands to the engine.
struct Parts {
  const std::type_info* item_type = nullptr;
  std::function<std::unique_ptr<Lane>()> make_lane;
  /// Makes partition k's handler, on its consumer thread.
  std::function<std::unique_ptr<Handler>(std::size_t partition_index)> make_handler;
};

/// A partition, or any.
inline constexpr std::size_t kAnyPartition = static_cast<std::size_t>(-1);

/// A duration, or the one in the options.
using Timeout = std::optional<Duration>;

/// A running buffer, as the typed front sees it: what the hot path reads, and the calls behind it.
/// The engine implements it (engine/buffer_core.hpp).
class Core {
 public:
  // Why an insert must take the slow path; the fast path only asks for "none of these".
  static constexpr std::uint32_t kClosed = 1;     // close() has begun
  static constexpr std::uint32_t kForked = 2;     // this process is a fork of the buffer's
  static constexpr std::uint32_t kTelemetry = 4;  // somebody listens to insert events
  static constexpr std::uint32_t kFullFence = 8;  // no membarrier: see fence.hpp
  static constexpr std::uint32_t kWeighed = 16;   // limits by weight

  /// Checks the options, starts the threads, and returns when all consumers run.
  /// Throws OptionsError, std::system_error, std::bad_alloc, or what a thread hook or a factory
  /// threw; then nothing is left running.
  static std::shared_ptr<Core> start(Options options, Parts parts);

  explicit Core(std::uint32_t first_attention) noexcept : attention(first_attention) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  virtual ~Core() = default;

  /// This thread's seat, if it has one; else null. Null also where this code belongs to another
  /// copy of the library than the buffer: insert() below is the buffer's own, and knows the seat.
  [[nodiscard]] Seat* find_seat() const noexcept {
    const SeatCache& last = seat_cache;
    if (last.core != this) [[unlikely]] {
      const SeatCache& place = seat_table.places[seat_table.place_of(*this)];
      if (place.core == nullptr) return nullptr;
      seat_cache = place;
      return place.seat;
    }
    if (last.seat == nullptr) __builtin_unreachable();  // It spares the caller the look.
    return last.seat;
  }

  /// The whole of an insert, for every case the fast path does not cover. `count`: items in the
  /// source, or SIZE_MAX where it does not know. With `may_wait` false it never waits.
  /// Throws what an item or the range throws.
  virtual InsertBatchResult insert(std::size_t partition_index, Source& source, std::size_t count,
                                   Timeout timeout, bool may_wait) = 0;

  /// The turn of the seat's cursor is over: moves it on to the next slot that has room. Null if
  /// none has, or in an item's own constructor.
  [[nodiscard]] virtual Slot* next_slot(Seat& seat) noexcept = 0;

  /// The same for `count` items that are to go in at once; null if the next slot has not room for
  /// all. Their room may have to be taken: then, once they are in, they are settled, or
  /// unreserve()d.
  struct BatchTurn {
    Slot* slot;
    bool is_reserved;
  };
  [[nodiscard]] virtual BatchTurn next_slot(Seat& seat, std::size_t count) noexcept = 0;
  /// They did not go in: gives back the room and the turn.
  virtual void unreserve(Seat& seat, std::size_t count) noexcept = 0;

  /// The slot has reached room_until: settles its debt. Returns whether there is room.
  [[nodiscard]] virtual bool settle(Slot& slot) noexcept = 0;

  /// The slot's doorbell is being watched: `count` more items are in.
  virtual void count_down(const Slot& slot, std::size_t count) noexcept = 0;

  virtual void flush() noexcept = 0;
  virtual std::vector<FlushReport> sync_flush(Duration timeout) = 0;
  virtual CloseReport close(Duration timeout) = 0;
  /// The front goes away: close within `close_timeout`, or without waiting where that would be for
  /// itself.
  virtual void abandon() noexcept = 0;

  /// Calls `visit` with all pending items of one partition, in the order of delivery; they stay.
  /// Nothing is delivered from that partition meanwhile.
  virtual void inspect(std::size_t partition_index, const std::function<void(Cargo&)>& visit) = 0;
  /// Calls `collect` with all pending items of one partition, to move them out; then removes them,
  /// unless it throws.
  virtual void take(std::size_t partition_index, const std::function<void(Cargo&)>& collect) = 0;

  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual std::vector<PartitionInfo> info() const = 0;
  [[nodiscard]] virtual Ledger ledger() const noexcept = 0;
  [[nodiscard]] virtual Telemetry telemetry() const noexcept = 0;
  [[nodiscard]] virtual const Options& options() const noexcept = 0;

  virtual TimePoint do_work(TimePoint now) = 0;
  [[nodiscard]] virtual TimePoint next_deadline() const noexcept = 0;

  // Read by every insert, written almost never: on a line of its own, the second of its pair.
  alignas(kDestructiveBytes) char before_[kLineBytes]{};
  // Written by close, fork, telemetry; read by producers.
  std::atomic<std::uint32_t> attention;
  char separation_[kLineBytes - sizeof(std::uint32_t)]{};
};

}  // namespace databuffer::detail
