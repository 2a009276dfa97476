// Calls that look at a buffer, or take something out of it, from outside.
#include <sched.h>

#include <string>

#include "databuffer/detail/fence.hpp"
#include "engine/buffer_core.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {
namespace {

// How long shrink() waits for the producers that are inside an insert; then it leaves it for now.
constexpr Duration kShrinkPatience = std::chrono::milliseconds{10};

// A close that gave up meanwhile may not have had the turn: what is pending is given up by whoever
// had it.
class SweepAfter {
 public:
  SweepAfter(BufferCore& buffer, Partition& partition) noexcept
      : buffer_(buffer), partition_(partition) {}
  ~SweepAfter() {
    if (buffer_.has_given_up()) buffer_.sweep(partition_);
  }
  SweepAfter(const SweepAfter&) = delete;
  SweepAfter& operator=(const SweepAfter&) = delete;

 private:
  BufferCore& buffer_;
  Partition& partition_;
};

}  // namespace

void BufferCore::inspect(std::size_t partition_index, const std::function<void(Cargo&)>& visit) {
  if (is_forked()) return;
  Partition& partition = *partitions_[partition_index];
  if (RoleFrame::holds(partition.turn)) {
    throw ReentrantCall("dump() called while this thread moves items of " + partition.name);
  }
  const SweepAfter sweep_after(*this, partition);
  partition.turn.acquire();
  const Turn::Holder holder(partition.turn, *this);
  partition.drain.stage_all();
  visit(partition.drain.staged());
}

void BufferCore::take(std::size_t partition_index, const std::function<void(Cargo&)>& collect) {
  if (is_forked()) return;
  Partition& partition = *partitions_[partition_index];
  if (RoleFrame::holds(partition.turn)) {
    throw ReentrantCall("take() called while this thread moves items of " + partition.name);
  }
  const SweepAfter sweep_after(*this, partition);
  {
    partition.turn.acquire();
    const Turn::Holder holder(partition.turn, *this);
    partition.drain.stage_all();
    const Drain::Taken taken = partition.drain.staged_total();  // Before they are moved from.
    collect(partition.drain.staged());  // Throws for want of memory before it takes any.
    partition.drain.discard_staged();
    partition.counts.taken.fetch_add(taken.items, std::memory_order_relaxed);  // see ItemCounts
    remove(partition, taken);
  }
}

std::size_t BufferCore::size() const noexcept {
  std::size_t pending = 0;
  for (const auto& partition : partitions_) pending += partition->size();
  return pending;
}

std::vector<PartitionInfo> BufferCore::info() const {
  std::vector<PartitionInfo> infos;
  infos.reserve(partitions_.size());
  for (const auto& partition : partitions_) {
    PartitionInfo& info = infos.emplace_back();
    info.partition_index = partition->index;
    info.name = partition->name;
    info.capacity = partition->capacity;
    info.ledger = partition->ledger();
    info.size = partition->size();
    info.in_flight = info.ledger.in_flight;
    info.producer_slots = partition->drain.slot_count();
    // relaxed, all five: see ItemCounts.
    info.batches = partition->counts.batches.load(std::memory_order_relaxed);
    info.failed_batches = partition->counts.failed_batches.load(std::memory_order_relaxed);
    info.retries = partition->counts.retries.load(std::memory_order_relaxed);
    info.abandoned = partition->counts.abandoned.load(std::memory_order_relaxed);
    info.overdue_batches = partition->counts.overdue_batches.load(std::memory_order_relaxed);
    info.bytes = partition->weight_gate.pending();
    info.wake_ups = partition->doorbell.wake_ups();
    info.rings = partition->doorbell.rings();
    if (is_forked()) continue;  // The rest is behind locks that a lost thread may hold.
    const std::shared_ptr<Consumer> own = consumer(partition->index);
    own->call().describe(now(), info);
    info.last_error = own->flusher().last_error();
  }
  return infos;
}

Ledger BufferCore::ledger() const noexcept {
  Ledger sum;
  for (const auto& partition : partitions_) sum += partition->ledger();
  return sum;
}

void BufferCore::shrink() {
  if (is_forked()) return;
  for (const auto& partition : partitions_) {
    if (RoleFrame::holds(partition->turn)) {
      throw ReentrantCall("shrink() called while this thread moves items of " + partition->name);
    }
    shrink_partition(*partition);
  }
}

// Several partitions may be shrunk at once: the last one lets the producers in again.
void BufferCore::begin_pause() noexcept {
  {
    const std::lock_guard lock(pause_mutex_);
    // seq_cst: as every change of `attention`.
    if (pauses_++ == 0) attention.fetch_or(kShrinking, std::memory_order_seq_cst);
  }
  heavy_fence();
}

void BufferCore::end_pause() noexcept {
  const std::lock_guard lock(pause_mutex_);
  // seq_cst: as every change of `attention`; as a release it pairs with [P2]: who is let in finds
  // the new queue.
  if (--pauses_ == 0) attention.fetch_and(~kShrinking, std::memory_order_seq_cst);
}

// Producers are kept out for the exchange, in the way close keeps them out for good: `attention`
// [C1], heavy fence, marks. They come back by themselves (PushResult::kPaused).
void BufferCore::shrink_partition(Partition& partition) {
  partition.turn.acquire();
  const Turn::Holder holder(partition.turn, *this);
  partition.drain.stage_all();
  struct Pause {
    explicit Pause(BufferCore& core) : buffer(core) { buffer.begin_pause(); }
    ~Pause() { buffer.end_pause(); }
    BufferCore& buffer;
  };
  const TimePoint patience = wait_deadline(kShrinkPatience);
  const Pause pause(*this);
  while (partition.drain.has_producer_inside()) {
    if (steady_clock().now() >= patience) return;  // An item's constructor takes its time.
    sched_yield();
  }
  partition.drain.stage_all();  // What came in until the pause.
  seats_.exclude_new([&] { partition.lane->renew_queue(); });
}

}  // namespace databuffer::detail
