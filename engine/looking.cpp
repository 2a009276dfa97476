// Calls that look at a buffer, or take something out of it, from outside.
#include <algorithm>
#include <string>

#include "engine/buffer_core.hpp"
#include "engine/cancellation.hpp"

namespace databuffer::detail {
namespace {

// A close that gave up meanwhile may not have had the turn. Then the thread that had it gives up
// what is pending.
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
  const CancellationHeld cancellation;
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
  const CancellationHeld cancellation;
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
  if (partition.drain.has_departed()) partition.doorbell.ring();  // Their items may have left.
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
    info.queue_bytes = partition->lane->bytes();
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
    own->describe_ages(now(), info);
    info.last_error = own->flusher().last_error();
  }
  return infos;
}

// Whoever is armed is rung by the first item, and told when. Else one may have come since this
// look.
void Consumer::publish_ages(TimePoint now) noexcept {
  const TimePoint since = schedule_.is_started() ? schedule_.first() : now;
  const bool is_told = !schedule_.is_started() && armed_for_ != 0;
  const Duration pending = is_told ? Doorbell::kNoTime : since.time_since_epoch();
  const Duration batch =
      flusher_.has_batch() ? flusher_.first().time_since_epoch() : Doorbell::kNoTime;
  // relaxed, both: what info() shows may be a look old.
  pending_since_.store(pending, std::memory_order_relaxed);
  batch_since_.store(batch, std::memory_order_relaxed);
}

void Consumer::describe_ages(TimePoint now, PartitionInfo& info) const noexcept {
  const auto age_of = [now](Duration since) {
    return since == Doorbell::kNoTime ? Duration::zero()
                                      : std::max(Duration::zero(), now - TimePoint(since));
  };
  // relaxed, both: see publish_ages().
  Duration since = pending_since_.load(std::memory_order_relaxed);
  if (since == Doorbell::kNoTime) since = partition_.doorbell.rung_at();
  if (info.size > 0) info.pending_age = age_of(since);
  // relaxed: as above
  info.in_flight_age = age_of(batch_since_.load(std::memory_order_relaxed));
}

Ledger BufferCore::ledger() const noexcept {
  Ledger sum;
  for (const auto& partition : partitions_) sum += partition->ledger();
  return sum;
}

}  // namespace databuffer::detail
