#include "engine/partition.hpp"

namespace databuffer {

Ledger& Ledger::operator+=(const Ledger& other) noexcept {
  accepted += other.accepted;
  flushed += other.flushed;
  failed += other.failed;
  dropped_newest += other.dropped_newest;
  dropped_oldest += other.dropped_oldest;
  dropped_closed += other.dropped_closed;
  dropped_no_memory += other.dropped_no_memory;
  taken += other.taken;
  pending += other.pending;
  in_flight += other.in_flight;
  refused_full += other.refused_full;
  refused_timed_out += other.refused_timed_out;
  refused_closed += other.refused_closed;
  refused_no_memory += other.refused_no_memory;
  return *this;
}

namespace detail {

std::optional<std::size_t> Partition::forget_departed(const Core& core) noexcept {
  if (!turn.try_acquire()) return std::nullopt;
  const Turn::Holder holder(turn, core);
  return drain.forget_departed();
}

Ledger Partition::ledger() const noexcept {
  // relaxed: see ItemCounts.
  const auto read = [](const std::atomic<std::uint64_t>& count) {
    return count.load(std::memory_order_relaxed);
  };
  const auto dropped = [&](DropReason reason) {
    return read(counts.dropped[static_cast<std::size_t>(reason)]);
  };
  const auto refused = [&](InsertStatus status) {
    return read(counts.refused[static_cast<std::size_t>(status)]);
  };
  Ledger ledger;
  // From the ends towards the beginning, so that an item on its way is not counted twice.
  ledger.flushed = read(counts.flushed);
  ledger.failed = read(counts.failed);
  ledger.taken = read(counts.taken);
  ledger.dropped_newest = dropped(DropReason::kNewest);
  ledger.dropped_oldest = dropped(DropReason::kOldest);
  ledger.dropped_closed = dropped(DropReason::kClosed);
  ledger.dropped_no_memory = dropped(DropReason::kNoMemory);
  ledger.in_flight = read(counts.in_flight);
  ledger.pending = pending();
  ledger.accepted = drain.inserted() + read(counts.never_queued);
  ledger.refused_full = refused(InsertStatus::kFull);
  ledger.refused_timed_out = refused(InsertStatus::kTimedOut);
  ledger.refused_closed = refused(InsertStatus::kClosed);
  ledger.refused_no_memory = refused(InsertStatus::kNoMemory);
  return ledger;
}

}  // namespace detail
}  // namespace databuffer
