#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/lane.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "engine/doorbell.hpp"
#include "engine/drain.hpp"
#include "engine/flush_requests.hpp"
#include "engine/gate.hpp"
#include "engine/turn.hpp"

namespace databuffer::detail {

/// Where items went, as counters that only grow (but in_flight). Written once for each group of
/// items by whoever moves them on; read by size(), info() and ledger().
///
///   pending   = inserted (the slots' words) - removed
///   in_flight = handed to a handler that has not returned
struct ItemCounts {
  // Relaxed: statistics, exact when no call is in progress. But `removed` and `in_flight`: who sees
  // an item gone sees where it went (pending(), BufferCore::is_idle).
  std::atomic<std::uint64_t> removed{0};  // written under the turn
  std::atomic<std::uint64_t> in_flight{0};
  std::atomic<std::uint64_t> flushed{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> never_queued{0};  // accepted and dropped without having been pending
  std::array<std::atomic<std::uint64_t>, 5> dropped{};  // by DropReason; kFailed is not used here

  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> failed_batches{0};
  std::atomic<std::uint64_t> overdue_batches{0};
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::size_t> abandoned{0};  // stuck consumers left behind

  // By InsertStatus; those that take the item are not used. Producers write it, over and over where
  // the partition stays full: not on the consumer's lines.
  alignas(kDestructiveBytes) std::array<std::atomic<std::uint64_t>, 6> refused{};
};

/// One partition: its items and everything that is shared about them. Who does what:
/// producers insert (Inserter, inserts.cpp), one Consumer removes.
struct Partition {
  Partition(std::size_t partition_index, const Options& options, std::unique_ptr<Lane> typed_lane)
      : index(partition_index),
        name(options.name + "." + std::to_string(partition_index)),
        capacity(options.effective_capacity()),
        lane(std::move(typed_lane)),
        drain(*lane, requests, options.weigh ? &options.weigh : nullptr),
        gate(capacity),
        weight_gate(options.effective_capacity_bytes(),
                    options.max_bytes != 0 ? options.max_bytes : options.capacity_bytes) {}

  /// Items waiting. Never negative: what is removed was inserted before, and is read first.
  [[nodiscard]] std::size_t pending() const noexcept {
    // acquire: pairs with remove(): every item it counts is in the slots' counts by now.
    const std::uint64_t removed = counts.removed.load(std::memory_order_acquire);
    return static_cast<std::size_t>(drain.inserted() - removed);
  }

  /// The same without a lock. Requires    the turn, or to be the partition's consumer.
  [[nodiscard]] std::size_t pending_here() const noexcept {
    // acquire: as in pending().
    const std::uint64_t removed = counts.removed.load(std::memory_order_acquire);
    return static_cast<std::size_t>(drain.inserted_here() - removed);
  }

  /// Items waiting, to be shown: at most as many as there were at the end of the call. pending(),
  /// held up half way, also counts those that came and went meanwhile, far above the capacity; it
  /// must, for its callers may not miss one.
  [[nodiscard]] std::size_t size() const noexcept {
    const std::uint64_t inserted = drain.inserted();
    // acquire: as in pending(), and after the line above: what it saw may be gone by now.
    const std::uint64_t removed = counts.removed.load(std::memory_order_acquire);
    return inserted > removed ? static_cast<std::size_t>(inserted - removed) : 0;
  }

  /// Items that left the pending ones. Requires the turn. Their room is released by the caller
  /// (BufferCore::remove).
  void count_removed(std::size_t items) noexcept {
    // release: pairs with pending() and size(). The turn's holder is the only writer.
    counts.removed.fetch_add(items, std::memory_order_release);
  }

  /// Frees producers that have ended and of which nothing is left. Returns how many, or nothing if
  /// another thread has the turn. Requires    to be the partition's consumer, without the turn.
  [[nodiscard]] std::optional<std::size_t> forget_departed(const Core& core) noexcept;

  /// Whether close is through here: nothing is left, and nothing will come.
  [[nodiscard]] bool is_finished() const noexcept {
    return is_finished_.load(std::memory_order_acquire);  // acquire: pairs with finish()
  }
  void finish() noexcept {
    is_finished_.store(true, std::memory_order_release);  // release: pairs with is_finished()
  }

  /// Counts from 1. Consumers only.
  [[nodiscard]] std::uint64_t next_batch_id() noexcept {
    return last_batch_id.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: only unique
  }

  [[nodiscard]] Ledger ledger() const noexcept;

  // Fixed.
  const std::size_t index;
  const std::string name;
  const std::size_t capacity;
  const std::unique_ptr<Lane> lane;

  // Shared; each says by whom.
  FlushRequests requests;
  Drain drain;
  Turn turn;
  Gate gate;
  WeightGate weight_gate;
  Doorbell doorbell;
  std::atomic<std::uint64_t> last_batch_id{0};
  std::atomic<bool> is_closing{false};    // written by close; read by the consumer
  std::atomic<bool> is_finished_{false};  // written by the consumer; read by all
  alignas(kDestructiveBytes) ItemCounts counts;
};

}  // namespace databuffer::detail
