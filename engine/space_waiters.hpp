#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "databuffer/clock.hpp"
#include "databuffer/detail/core.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

struct Partition;

// Inserts that wait until a full partition has room, in the order in which they began to wait: one
// line for each partition, of those that are bound to it, and one of those that take any.
//
// Room is handed over: whoever releases it takes it again for the oldest that may have it, and
// wakes that one alone. The oldest keeps the younger ones of its partitions waiting, so room is
// kept for an item that is heavier than theirs. A waiter is one item or several; it is handed what
// is free, at least one place, and the weight of its first item.
//
// The rule: while anybody waits for a partition, its gate is barred. A waiter joins a line and bars
// the gate [W1], then looks whether it can be served [W2]; who makes room changes the gate [R1],
// and learns from that same read-modify-write whether it is barred; then it serves [R2]. Both
// change one atomic variable, so one comes first: the waiter finds the room in it, or the releaser
// finds the bar. And a barred gate refuses everybody else, so that nobody passes the lines by.
// Weight is released before the items it belongs to: who sees the bar's or the items' change sees
// it too. Checked by tests/model/wait_serve.pml and weight_demand.pml.
class SpaceWaiters {
 public:
  class Waiter;
  enum class Outcome : std::uint8_t { kServed, kTimedOut, kClosed };

  /// `attention`: the buffer's. `partitions`: those to come, `partition_count` of them.
  SpaceWaiters(const std::vector<std::unique_ptr<Partition>>& partitions,
               std::size_t partition_count, const std::atomic<std::uint32_t>& attention);

  /// `items` of this weight have left the partition, or did not come: the one way to give room
  /// back. Serves who waits for it.
  void release(Partition& partition, std::size_t items, std::size_t weight) noexcept;

  /// Joins a line. The waiter may be served at once; wait() says.
  void join(Waiter& waiter) noexcept;

  /// Sleeps until the waiter, which has joined, is served or the buffer closes; at the latest until
  /// the deadline (steady clock), when it leaves the line.
  [[nodiscard]] Outcome wait(Waiter& waiter, TimePoint deadline) noexcept;

  /// The buffer has closed (`attention` says so already): nobody waits any more.
  void close() noexcept;

 private:
  /// The waiters of one line, oldest first.
  struct Line {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
    void push_back(Waiter& waiter) noexcept;
    void remove(Waiter& waiter) noexcept;
  };
  class Served;

  [[nodiscard]] Line& line_of(const Waiter& waiter) noexcept DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] Waiter* oldest(std::size_t partition_index) const noexcept
      DATABUFFER_REQUIRES(mutex_);
  void serve(std::size_t first, std::size_t end, Served& served) noexcept
      DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] bool serve_line(std::size_t partition_index, Served& served) noexcept
      DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] static bool hand_room(Partition& partition, Waiter& waiter) noexcept;
  void set_bars() noexcept DATABUFFER_REQUIRES(mutex_);
  [[nodiscard]] bool leave(Waiter& waiter) noexcept;
  [[nodiscard]] bool attends(std::uint32_t reasons) const noexcept;

  const std::vector<std::unique_ptr<Partition>>& partitions_;  // fixed
  const std::atomic<std::uint32_t>& attention_;                // the buffer's

  Mutex mutex_;  // of what follows, and of every waiter in a line
  std::vector<Line> bound_ DATABUFFER_GUARDED_BY(mutex_);  // by partition
  Line any_ DATABUFFER_GUARDED_BY(mutex_);                 // of those that take any partition
  // By partition: bound_ or any_ has somebody.
  std::vector<bool> is_barred_ DATABUFFER_GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ DATABUFFER_GUARDED_BY(mutex_) = 0;
};

/// One insert that waits, for as long as it does; on its thread's stack.
class SpaceWaiters::Waiter {
 public:
  /// `items`: the most that it can use. `weight`: of the first. `partition_index`: or
  /// kAnyPartition.
  Waiter(std::size_t partition_index, std::size_t items, std::size_t weight) noexcept
      : is_bound_(partition_index != kAnyPartition),
        items_(items),
        weight_(weight),
        partition_index_(partition_index) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Whether it need not sleep. Any thread.
  [[nodiscard]] bool is_over() const noexcept {
    return state_.load(std::memory_order_acquire) == kOver;  // acquire: pairs with Served
  }

  // When it is over. The room is the waiter's: to be used, or released.
  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  [[nodiscard]] std::size_t partition_index() const noexcept { return partition_index_; }

 private:
  friend class SpaceWaiters;
  enum State : std::uint32_t { kWaits, kSleeps, kOver };

  const bool is_bound_;
  const std::size_t items_;
  const std::size_t weight_;

  // By the mutex while it is in a line; then by whoever took it out, until it is over.
  std::size_t partition_index_;
  std::size_t room_ = 0;
  std::uint64_t ticket_ = 0;
  bool is_in_line_ = false;
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;

  std::atomic<std::uint32_t> state_{kWaits};  // a futex: the waiter goes to sleep, Served ends it
};

}  // namespace databuffer::detail
