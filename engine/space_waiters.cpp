#include "engine/space_waiters.hpp"

#include "engine/futex.hpp"
#include "engine/partition.hpp"

namespace databuffer::detail {

/// Waiters that have been taken out of their lines, to be told so when the mutex is free: who is
/// woken may run at once, and insert again.
class SpaceWaiters::Served {
 public:
  void add(Waiter& waiter) noexcept { waiters_.push_back(waiter); }

  void wake() noexcept {
    for (Waiter* waiter = waiters_.first; waiter != nullptr;) {
      Waiter* const next = waiter->next_;
      const std::atomic<std::uint32_t>& state = waiter->state_;
      // release: pairs with is_over(): the waiter finds what it was handed. From here on it may be
      // gone; a wake-up at its address is then nobody's, or one for no reason, which all allow for.
      if (waiter->state_.exchange(Waiter::kOver, std::memory_order_release) == Waiter::kSleeps) {
        futex_wake(state, 1);
      }
      waiter = next;
    }
  }

 private:
  Line waiters_;
};

SpaceWaiters::SpaceWaiters(const std::vector<std::unique_ptr<Partition>>& partitions,
                           std::size_t partition_count, const std::atomic<std::uint32_t>& attention)
    : partitions_(partitions),
      attention_(attention),
      bound_(partition_count),
      is_barred_(partition_count) {}

void SpaceWaiters::release(Partition& partition, std::size_t items, std::size_t weight) noexcept {
  if (weight > 0) partition.weight_gate.release(weight);
  if (!partition.gate.release(items)) return;  // [R1]
  if (attends(Core::kForked)) return;  // A thread that is not here may have half changed a line.
  Served served;
  {
    const MutexLock lock(mutex_);
    serve(partition.index, partition.index + 1, served);  // [R2]
  }
  served.wake();
}

void SpaceWaiters::join(Waiter& waiter) noexcept {
  Served served;
  if (attends(Core::kForked)) return served.add(waiter), served.wake();
  {
    const MutexLock lock(mutex_);
    if (attends(Core::kClosed)) {  // Else close() is still to come, and finds it.
      served.add(waiter);
    } else {
      waiter.ticket_ = ++last_ticket_;
      waiter.is_in_line_ = true;
      line_of(waiter).push_back(waiter);
      set_bars();  // [W1]
      if (waiter.is_bound_) {
        serve(waiter.partition_index_, waiter.partition_index_ + 1, served);  // [W2]
      } else {
        serve(0, bound_.size(), served);  // [W2]
      }
    }
  }
  served.wake();
}

SpaceWaiters::Outcome SpaceWaiters::wait(Waiter& waiter, TimePoint deadline) noexcept {
  std::uint32_t state = Waiter::kWaits;
  // relaxed: says only that a wake-up is wanted; is_over() has the acquire.
  waiter.state_.compare_exchange_strong(state, Waiter::kSleeps, std::memory_order_relaxed);
  while (!waiter.is_over()) {
    futex_wait(waiter.state_, Waiter::kSleeps, deadline);
    if (deadline == TimePoint::max() || steady_clock().now() < deadline) continue;
    if (leave(waiter)) return Outcome::kTimedOut;
    deadline = TimePoint::max();  // It has been served: in a moment it is told.
  }
  return waiter.room_ > 0 ? Outcome::kServed : Outcome::kClosed;
}

void SpaceWaiters::close() noexcept {
  Served served;
  {
    const MutexLock lock(mutex_);
    const auto empty = [&served](Line& line) {
      while (Waiter* const waiter = line.first) {
        line.remove(*waiter);
        served.add(*waiter);
      }
    };
    for (Line& line : bound_) empty(line);
    empty(any_);
    set_bars();
  }
  served.wake();
}

// The deadline has come. Returns whether the waiter was still in line. Those that it kept waiting
// may find room now.
bool SpaceWaiters::leave(Waiter& waiter) noexcept {
  Served served;
  bool was_in_line = false;
  {
    const MutexLock lock(mutex_);
    was_in_line = waiter.is_in_line_;
    if (was_in_line) {
      line_of(waiter).remove(waiter);
      serve(0, bound_.size(), served);
    }
  }
  served.wake();
  return was_in_line;
}

// Everything from here on requires the mutex.

// Serves whoever can be served now that these partitions may have room.
void SpaceWaiters::serve(std::size_t first, std::size_t end, Served& served) noexcept {
  bool is_any_shorter = false;
  for (; first < end; ++first) is_any_shorter |= serve_line(first, served);
  // One that takes any partition has kept the others of all partitions waiting.
  while (is_any_shorter) {
    is_any_shorter = false;
    for (std::size_t index = 0; index < bound_.size(); ++index) {
      is_any_shorter |= serve_line(index, served);
    }
  }
  set_bars();
}

// Serves those who wait for this partition, oldest first, as far as its room goes. Returns whether
// one of them would have taken any.
bool SpaceWaiters::serve_line(std::size_t partition_index, Served& served) noexcept {
  bool is_any_shorter = false;
  Partition& partition = *partitions_[partition_index];
  while (Waiter* const waiter = oldest(partition_index)) {
    if (!hand_room(partition, *waiter)) break;
    is_any_shorter |= !waiter->is_bound_;
    line_of(*waiter).remove(*waiter);
    waiter->partition_index_ = partition_index;
    served.add(*waiter);
  }
  return is_any_shorter;
}

bool SpaceWaiters::hand_room(Partition& partition, Waiter& waiter) noexcept {
  if (!partition.weight_gate.reserve(waiter.weight_)) {
    // By weight a partition can be too full for one item and yet have no batch due. Each time anew:
    // what a batch removes may not be enough.
    partition.weight_gate.demand_flush();
    partition.doorbell.ring();
    return false;
  }
  waiter.room_ = partition.gate.grant(waiter.items_);
  if (waiter.room_ == 0 && waiter.weight_ > 0) partition.weight_gate.release(waiter.weight_);
  return waiter.room_ > 0;
}

SpaceWaiters::Waiter* SpaceWaiters::oldest(std::size_t partition_index) const noexcept {
  Waiter* const bound = bound_[partition_index].first;
  Waiter* const any = any_.first;
  if (bound == nullptr || any == nullptr) return bound != nullptr ? bound : any;
  return bound->ticket_ < any->ticket_ ? bound : any;
}

SpaceWaiters::Line& SpaceWaiters::line_of(const Waiter& waiter) noexcept {
  return waiter.is_bound_ ? bound_[waiter.partition_index_] : any_;
}

void SpaceWaiters::set_bars() noexcept {
  for (std::size_t index = 0; index < bound_.size(); ++index) {
    const bool is_awaited = oldest(index) != nullptr;
    if (is_awaited == is_barred_[index]) continue;
    is_barred_[index] = is_awaited;
    if (is_awaited) {
      partitions_[index]->gate.bar();
    } else {
      partitions_[index]->gate.unbar();
    }
  }
}

bool SpaceWaiters::attends(std::uint32_t reasons) const noexcept {
  // seq_cst: as its writers.
  return (attention_.load(std::memory_order_seq_cst) & reasons) != 0;
}

void SpaceWaiters::Line::push_back(Waiter& waiter) noexcept {
  waiter.previous_ = last;
  waiter.next_ = nullptr;
  (last != nullptr ? last->next_ : first) = &waiter;
  last = &waiter;
}

void SpaceWaiters::Line::remove(Waiter& waiter) noexcept {
  (waiter.previous_ != nullptr ? waiter.previous_->next_ : first) = waiter.next_;
  (waiter.next_ != nullptr ? waiter.next_->previous_ : last) = waiter.previous_;
  waiter.is_in_line_ = false;
}

}  // namespace databuffer::detail
