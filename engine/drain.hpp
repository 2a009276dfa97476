#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "databuffer/detail/callables.hpp"
#include "databuffer/detail/lane.hpp"
#include "databuffer/detail/slot.hpp"
#include "engine/flush_requests.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

// How items leave a partition: in passes.
//
// A pass begins by noting how many items each slot holds, and ends when all of those have left,
// slot by slot. So an insert_batch, which is published at once, leaves in one piece; every producer
// gets its share of each pass; and a pass is finite however fast others insert. Items that dump()
// copied wait in `staged_`, in front of all others.
//
// The order of a thread that goes on with a newer slot (see Seats): a pass reads the newest slot
// first and the oldest last, and the oldest leaves first. So if it has an item of a newer slot it
// also has all that the thread had put into older ones before, and those leave first.
//
// The producers are a list, and a look at the counts goes through it. Who may do so:
//
//   anybody, with the list's lock       the public calls but inserted_here()
//   the partition's consumer, without   so that its looks wait for nobody
//   the turn's holder, without
//   who takes producers out             is the consumer, has the turn, and the lock
//
// So none of them meets a producer that is being freed. New ones are published at the list's head,
// whoever looks.
//
// What takes items needs the partition's turn.
class Drain {
 public:
  /// A producer's place in the list.
  struct Producer {
    explicit Producer(Slot& producer_slot) noexcept : slot(&producer_slot) {}
    Slot* const slot;            // owned: made and freed by the lane
    Producer* older = nullptr;   // written by who takes producers out
    Producer* newer = nullptr;   // under the turn: … of the pass; null: the newest
    std::uint64_t drained = 0;   // under the turn: items that left the queue
    std::uint64_t pass_end = 0;  // under the turn: … will have, when this pass ends
    bool has_departed = false;   // under the lock: its thread has ended, and nobody adopts it
  };

  /// `weigh`: null where there are no limits by weight.
  Drain(Lane& lane, const FlushRequests& requests, const Weigh* weigh = nullptr);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// A new producer, with a slot. Any thread; throws std::bad_alloc.
  [[nodiscard]] Producer& add();

  /// Nobody inserts there any more. It goes when its items have left: see forget_departed().
  /// Any thread; once.
  void depart(Producer& producer) noexcept;

  /// Producers that have departed and are not forgotten yet. Any thread; a hint.
  [[nodiscard]] std::size_t departed_count() const noexcept;
  /// Those that ever have. Any thread; a hint.
  [[nodiscard]] std::uint64_t departures() const noexcept;
  [[nodiscard]] bool has_departed() const noexcept { return departed_count() > 0; }

  /// Frees the departed producers of which nothing is left; returns how many. Requires    the turn,
  /// and to be the partition's consumer.
  std::size_t forget_departed() noexcept;

  /// Items ever inserted, by all producers. Any thread.
  [[nodiscard]] std::uint64_t inserted() const noexcept;
  /// The same without the lock. Requires    the turn, or to be the partition's consumer.
  // No analysis: what it requires stands for the lock, see above.
  [[nodiscard]] std::uint64_t inserted_here() const noexcept DATABUFFER_NO_THREAD_SAFETY_ANALYSIS;

  /// Whether a producer is inside an insert right now. Any thread.
  [[nodiscard]] bool has_producer_inside() const noexcept;

  /// Producers, with those that have departed and are not forgotten yet. Any thread.
  [[nodiscard]] std::size_t slot_count() const noexcept;

  struct Taken {
    std::size_t items = 0;
    std::size_t weight = 0;
  };

  /// Moves the oldest items, up to `count`, up to the room in `to`, and up to `max_weight` (but at
  /// least one; 0: no limit), behind those of `to`.
  Taken take(std::size_t count, std::size_t max_weight, Cargo& to) noexcept;

  /// Moves every pending item into `staged()`. Throws std::bad_alloc, with nothing lost.
  void stage_all();
  [[nodiscard]] Cargo& staged() noexcept { return *staged_; }
  /// What is staged, with its weight.
  [[nodiscard]] Taken staged_total() const noexcept;
  /// Removes what is staged.
  void discard_staged() noexcept;

  /// Passes begun so far.
  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }
  /// How many of the last ones may have items left.
  [[nodiscard]] std::uint64_t passes_left() const noexcept {
    if (staged_->size() > 0 && is_staged_of_all_) return passes_;
    return staged_->size() > 0 || cursor_ != nullptr ? 1 : 0;
  }

  /// Requests up to this number are covered by what has left.
  [[nodiscard]] std::uint64_t covered() const noexcept { return covered_; }

 private:
  [[nodiscard]] Producer* newest() const noexcept;
  std::size_t dequeue(std::size_t count, Cargo& to) noexcept;
  Taken take_weighed(std::size_t count, std::size_t max_weight, Cargo& to) noexcept;
  [[nodiscard]] std::size_t weight_of(void* item) const noexcept;
  bool begin_pass() noexcept;
  void skip_finished() noexcept;

  Lane& lane_;
  const FlushRequests& requests_;
  const Weigh* const weigh_;

  // The list: see above. Written under the lock.
  mutable Mutex list_mutex_;
  std::atomic<Producer*> newest_{nullptr};  // owned, with all that are older
  // Items of producers that are freed; as the list.
  std::uint64_t forgotten_items_ DATABUFFER_GUARDED_BY(list_mutex_) = 0;
  std::atomic<std::size_t> slot_count_{0};      // producers in the list
  std::atomic<std::size_t> departed_count_{0};  // … that have departed
  std::atomic<std::uint64_t> departures_{0};    // departed ever

  // Under the turn.
  std::unique_ptr<Cargo> staged_;
  bool is_staged_of_all_ = false;  // passes; else of the last one
  Producer* cursor_ = nullptr;     // null: the pass has ended
  std::uint64_t pass_number_ = 0;  // the last request asked when the pass began
  std::uint64_t passes_ = 0;
  std::uint64_t covered_ = 0;
};

}  // namespace databuffer::detail
