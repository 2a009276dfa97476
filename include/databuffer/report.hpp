#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "databuffer/clock.hpp"
#include "databuffer/result.hpp"

namespace databuffer {

/// Why items were given up. on_drop receives them with this reason.
enum class DropReason : std::uint8_t {
  kNewest,    ///< The partition was full and `overflow = kDropNewest`.
  kOldest,    ///< The partition was full and `overflow = kDropOldest`.
  kFailed,    ///< The handler failed or threw; the ledger counts these as `failed`.
  kClosed,    ///< close() reached its deadline before these could be flushed.
  kNoMemory,  ///< Read from a range that cannot take them back, and the queue could not allocate.
};

[[nodiscard]] std::string_view to_string(DropReason reason) noexcept;

/// What the handler answered last about items that failed.
enum class LastAnswer : std::uint8_t {
  kNone,       ///< They were in no handler's hands.
  kRejected,   ///< They failed: its result said so, or it threw and `Retry::on_exception` is off.
  kExhausted,  ///< They were to be tried again, and no attempt or no time was left.
  kGivenUp,    ///< The same, and close() reached its deadline first: the reason is kClosed.
};

[[nodiscard]] std::string_view to_string(LastAnswer answer) noexcept;

/// What on_drop is told about the items it receives. Borrowed until on_drop returns.
struct DropInfo {
  std::string_view buffer;                  ///< `Options::name`.
  std::size_t partition_index = 0;          ///< Where they were, or were to go.
  DropReason reason = DropReason::kNewest;  ///< Why they were given up.
  std::uint64_t batch_id = 0;               ///< The failed batch; 0 where the items were in none.
  std::string_view error;  ///< The handler's message or exception text; else empty.
  LastAnswer last_answer = LastAnswer::kNone;  ///< Of the handler, about items that failed.
  std::uint32_t attempts = 0;                  ///< Handler calls with the failed batch.
  std::span<const ItemResult> items;  ///< What the handler said of each of them; empty: of none.

  /// Why the item at `index` of those that on_drop receives failed.
  [[nodiscard]] std::string_view reason_of(std::size_t index) const noexcept {
    return index < items.size() && !items[index].message.empty() ? items[index].message : error;
  }
};

/// Where every item went. Exact whenever no call is in progress:
/// `accepted == flushed + failed + dropped() + taken + pending + in_flight`.
///
/// Items that an insert refused were never accepted; each try counts. They count in the partition
/// that the call was bound to: by its key, or by its first items. One that was bound to none counts
/// in the first partition. Of a range that does not know its length one item counts, unless it was
/// read to its end.
struct Ledger {
  std::uint64_t accepted = 0;           ///< Items taken from callers.
  std::uint64_t flushed = 0;            ///< In batches whose handler answered ok.
  std::uint64_t failed = 0;             ///< In batches whose handler failed or threw.
  std::uint64_t dropped_newest = 0;     ///< `overflow = kDropNewest`.
  std::uint64_t dropped_oldest = 0;     ///< `overflow = kDropOldest`.
  std::uint64_t dropped_closed = 0;     ///< Pending when close() reached its deadline.
  std::uint64_t dropped_no_memory = 0;  ///< See DropReason::kNoMemory.
  std::uint64_t taken = 0;              ///< Returned by take().
  std::uint64_t pending = 0;            ///< Waiting in a partition.
  std::uint64_t in_flight = 0;          ///< In a handler's hands.
  std::uint64_t refused_full = 0;       ///< Not accepted: InsertStatus::kFull …
  std::uint64_t refused_timed_out = 0;  ///< … kTimedOut
  std::uint64_t refused_closed = 0;     ///< … kClosed
  std::uint64_t refused_no_memory = 0;  ///< … kNoMemory

  /// All refused items.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_full + refused_timed_out + refused_closed + refused_no_memory;
  }
  /// All dropped items; those that failed are not among them.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_newest + dropped_oldest + dropped_closed + dropped_no_memory;
  }
  /// Whether every accepted item has one end, or is on its way to it.
  [[nodiscard]] bool balances() const noexcept {
    return accepted == flushed + failed + dropped() + taken + pending + in_flight;
  }
  /// Adds the counts of another partition or buffer.
  Ledger& operator+=(const Ledger& other) noexcept;
  /// Whether all counts are equal.
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// How a call that waits, sync_flush or close, ended.
enum class CallStatus : std::uint8_t {
  kDone,       ///< Everything it covers has been handled.
  kTimedOut,   ///< Its timeout passed first. (A sync_flush goes on; a close has given up the rest.)
  kReentrant,  ///< Refused: called on a thread that is working for this buffer, where it would wait
               ///< for itself (a handler, on_drop, or an item's constructor).
  kClosed,     ///< The buffer is already closed, or this process is a fork of the buffer's.
};

[[nodiscard]] std::string_view to_string(CallStatus status) noexcept;

/// sync_flush's answer for one partition: all batches that ended between the call and its return.
struct FlushReport {
  std::size_t partition_index = 0;        ///< 0 … partitions - 1.
  CallStatus status = CallStatus::kDone;  ///< How the call ended for this partition.
  std::uint64_t batches = 0;              ///< Batches that ended.
  std::uint64_t items = 0;                ///< Their items.
  std::uint64_t failed_items = 0;         ///< Those of them that failed.
  /// The first failed batch's result, else the last batch's; null when there was no batch.
  std::shared_ptr<const FlushResult> result;
};

/// close()'s answer: what became of the items that it found, or that were on their way in.
struct CloseReport {
  /// kDone: everything was handed to a handler, and every call has returned. kTimedOut: the
  /// deadline came first, or a range that waited for room had read an item that it cannot take
  /// back. Or kReentrant, kClosed (a forked child).
  CallStatus status = CallStatus::kDone;
  std::uint64_t failed = 0;     ///< Failed for good since close() began; they went to on_drop.
  std::uint64_t dropped = 0;    ///< Given up at the deadline, through on_drop, in all partitions.
  std::uint64_t in_flight = 0;  ///< Still in a handler's hands when close() returned.
  Duration duration{};          ///< From the first close() to its end.
  Ledger ledger;                ///< Since the buffer started.

  /// Whether every item was flushed: nothing failed, was given up, or is still on its way.
  [[nodiscard]] bool is_complete() const noexcept {
    return status == CallStatus::kDone && failed + dropped + in_flight + ledger.pending == 0;
  }
};

/// One partition, seen from outside. A snapshot; fields may be a batch apart.
///
/// Ages are on the buffer's clock, 0 where there is no such item, and as the consumer knows them,
/// so that inserts need not tell the time. They may be too long: by the time since its last look,
/// where items pour in (the handler call under way; a nap); by what a batch took to gather; and
/// until the next batch where the oldest item was taken or dropped. Under kReplace they begin anew.
struct PartitionInfo {
  std::size_t partition_index = 0;  ///< 0 … partitions - 1.
  std::string name;                 ///< Also the name of its thread (its first 15 bytes).
  std::size_t size = 0;             ///< Items waiting.
  std::size_t capacity = 0;         ///< `Options::capacity`.
  std::size_t in_flight = 0;        ///< Items in the handler's hands.
  Duration pending_age{};    ///< How long the oldest of those that wait has waited; see below.
  Duration in_flight_age{};  ///< How long ago the first item of the batch in flight came.
  std::size_t producer_slots = 0;    ///< Bounded by the producer threads alive at once.
  std::size_t queue_bytes = 0;       ///< Memory of the queue, reserve included: see README, Limits.
  bool is_flushing = false;          ///< A handler call is running.
  bool is_overdue = false;           ///< … for longer than `flush_timeout`.
  Duration flushing_for{};           ///< … for this long.
  Duration since_last_flush{};       ///< Since the last handler call returned (or since the start).
  Duration last_flush_duration{};    ///< Of the last handler call that returned.
  std::uint64_t batches = 0;         ///< Batches that ended.
  std::uint64_t failed_batches = 0;  ///< … of which this many failed.
  std::uint64_t overdue_batches = 0;  ///< Handler calls that were reported as overdue.
  std::uint64_t retries = 0;          ///< Handler calls beyond the first with a batch.
  std::size_t bytes = 0;              ///< Weight of what waits; 0 without `Options::weigh`.
  std::size_t abandoned = 0;          ///< Stuck consumers left behind (`on_overdue = kReplace`).
  std::uint64_t wake_ups = 0;         ///< Times the consumer woke from sleep.
  std::uint64_t rings = 0;            ///< Times a producer woke it.
  std::string last_error;             ///< Of the last failed batch.
  Ledger ledger;                      ///< This partition's share.
};

}  // namespace databuffer
