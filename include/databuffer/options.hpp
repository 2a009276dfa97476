#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "databuffer/clock.hpp"
#include "databuffer/detail/callables.hpp"

namespace databuffer {

/// A bad option, a bad combination, or a null callable where one is needed. what() names the field,
/// its value and the limit.
class [[gnu::visibility("default")]] OptionsError : public std::invalid_argument {
 public:
  /// what(): "field = value: limit".
  OptionsError(std::string field, const std::string& value, const std::string& limit)
      : std::invalid_argument(field + " = " + value + ": " + limit), field_(std::move(field)) {}

  /// The name of the option at fault; "handler" or "factory" for a null one.
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  std::string field_;
};

/// What an insert does when there is no room. In every case round robin first passes on to the next
/// partition with room.
enum class Overflow : std::uint8_t {
  kBlock,       ///< Wait for room, up to the timeout. Who waits is served in order.
  kReject,      ///< Answer kFull at once.
  kDropNewest,  ///< Take the item and give it to on_drop; answer kDropped.
  kDropOldest,  ///< Give the oldest pending items to on_drop instead and accept the new one.
};

/// Who runs the consumers.
enum class Threading : std::uint8_t {
  kOwn,     ///< One thread for each partition, and one that watches for overdue handlers.
  kManual,  ///< You: call Buffer::do_work(now) from your own loop. (A thread that watches for
            ///< overdue handlers starts with the first batch, unless flush_timeout is kForever.)
};

/// How a consumer thread waits for its batch to fill.
enum class WaitStrategy : std::uint8_t {
  kAdaptive,  ///< Nap while items pour in, park when they trickle. Right for nearly everybody.
  kSpin,      ///< Never sleep: lowest latency, one core for each partition, always.
  kYield,     ///< Never sleep, but give the core away between looks.
  kPark,      ///< Always sleep until the producer that completes the batch rings.
};

[[nodiscard]] std::string_view to_string(Overflow overflow) noexcept;
[[nodiscard]] std::string_view to_string(Threading threading) noexcept;
[[nodiscard]] std::string_view to_string(WaitStrategy strategy) noexcept;

/// What the watch does about an overdue handler, after reporting it.
enum class OnOverdue : std::uint8_t {
  kReport,   ///< Nothing more: the partition waits for it.
  kReplace,  ///< Gives the partition a fresh consumer, with a handler of its own where there is a
             ///< factory. The stuck call keeps its batch. Its late result counts; it has no retry.
};

[[nodiscard]] std::string_view to_string(OnOverdue action) noexcept;

/// How often a batch whose handler asks for it (FlushResult::retry, `false`, an exception) is tried
/// again: in place, so that the order stays and the next batch grows meanwhile. While the buffer
/// closes the same holds, with pauses that leave time for an attempt before the deadline.
struct Retry {
  /// Calls with one batch, the first included. 1 … 10^6. 1: no retry.
  std::uint32_t attempts = 1;
  /// The n-th pause is uniform 0 … min(max_backoff, initial_backoff × 2^(n-1)): exponential
  /// back-off with full jitter. 0 … kForever; not more than max_backoff.
  Duration initial_backoff = std::chrono::milliseconds{100};
  Duration max_backoff = std::chrono::seconds{10};  ///< See initial_backoff.
  /// No attempt begins later than this after the first. More than 0 … kForever.
  Duration total_time = kForever;
  /// Whether an exception asks for a retry, or is final.
  bool on_exception = true;
  /// A batch that finally failed is halved until the bad items are alone: the others are delivered.
  /// Costs at most 2 × log2(size) + 1 calls for each bad item.
  bool isolate = false;
};

/// Everything that can be set about a buffer. A plain struct: use designated initialisers.
///
/// All fields are checked together, before any thread starts or memory is taken; the first that is
/// wrong throws OptionsError. Nothing is clipped.
struct Options {
  /// The buffer, its threads (`name.0`, …) and its events. 1 … 256 bytes; required.
  std::string name{};

  /// Queues, each with one consumer thread. 1 … 1024. More partitions let handlers run side by
  /// side; each costs a thread and spreads the items over more, smaller batches.
  std::size_t partitions = 1;

  /// Pending items that trip a flush; also the largest batch a handler ever sees. 1 … 2^31.
  /// Larger batches mean fewer handler calls, more memory, and a longer wait for each item.
  std::size_t max_size = 5000;

  /// Uniform 0 … n added to max_size, drawn anew for every batch. 0 … 2^31.
  /// Keeps buffers that fill at the same rate from flushing at the same time.
  std::size_t max_size_jitter = 0;

  /// The longest an item waits for its batch to fill, but for flush_jitter: with both defaults 12 s
  /// at most, and as long as the handler call takes that is under way then. 0 (at once) … kForever.
  Duration flush_interval = std::chrono::seconds{10};

  /// Uniform 0 … n added to flush_interval, drawn anew for every batch. 0 … kForever.
  Duration flush_jitter = std::chrono::seconds{2};

  /// After this a running handler is overdue: reported once (telemetry, info()), and its stop token
  /// is set. It is never killed. More than 0 … kForever.
  Duration flush_timeout = std::chrono::seconds{60};

  /// Any value, handed to the handler in its context.
  std::any flush_meta{};

  /// Items that may wait in one partition; then it is full. At least max_size + max_size_jitter, at
  /// most 2^40. Unset: 4 × (max_size + max_size_jitter). Below 128 it is exact. From there on each
  /// producer thread but one may pass it by min(capacity / 64, 64): it asks only so often.
  std::optional<std::size_t> capacity{};

  /// The same two limits by weight, in bytes or whatever `weigh` counts; 0: off. max_bytes trips a
  /// flush and bounds a batch (an item heavier than that goes alone); capacity_bytes bounds what
  /// may wait in a partition (an empty one always takes one item). 0 … 2^60; capacity_bytes at
  /// least max_bytes; 0 with max_bytes set: 4 × max_bytes. With weights every insert takes the slow
  /// path.
  std::size_t max_bytes = 0;
  std::size_t capacity_bytes = 0;  ///< See max_bytes.

  /// An item's weight, always the same for the same item: `[](const Event& event) { return … }`.
  /// Needed exactly when a limit by weight is set; its type is checked as that of on_drop. Called
  /// for each item at insert, where an exception refuses the item, and again when batches are cut.
  detail::Weigh weigh{};

  /// What is done about a batch whose handler asks for a retry.
  Retry retry{};

  /// What is done about an overdue handler.
  OnOverdue on_overdue = OnOverdue::kReport;

  /// Stuck consumers a partition may leave behind under kReplace; then it waits. 0 … 64.
  std::size_t max_abandoned = 4;

  /// What an insert does when there is no room.
  Overflow overflow = Overflow::kBlock;

  /// How long insert and insert_batch wait for room under kBlock. 0 … kForever.
  Duration insert_timeout = std::chrono::seconds{5};

  /// How long the destructor waits for pending items to be flushed; then it gives them up. It does
  /// not wait again after a close() that has reached its deadline. 0 … kForever.
  Duration close_timeout = std::chrono::seconds{60};

  /// Receives every item the buffer gives up on, with the reason; runs on the thread that gives up.
  /// Write it with the item's type: `[](std::span<Event> items, const DropInfo& info) { … }`; no
  /// auto, no overloads: the compiler checks that. Options know no item type: only the buffer's
  /// constructor sees an on_drop for items of another type, and refuses it, as it refuses a null
  /// one (a null pointer, an empty std::function). nullptr itself means none. An exception it
  /// throws is swallowed and counted in Telemetry::hook_failures().
  detail::OnDrop on_drop{};

  /// How consumer threads wait.
  WaitStrategy wait_strategy = WaitStrategy::kAdaptive;

  /// Who runs the consumers.
  Threading threading = Threading::kOwn;

  /// Where time comes from; borrowed, must outlive the buffer. Null: steady_clock().
  const Clock* clock = nullptr;

  /// Called on each consumer thread before its handler is made, with the partition's index: pin the
  /// thread, set its priority. What it throws, the buffer's constructor throws.
  std::function<void(std::size_t partition_index)> on_thread_start{};

  /// Called on each consumer thread after its last batch. What it throws is swallowed.
  std::function<void(std::size_t partition_index)> on_thread_stop{};

  /// Seeds the jitter, for reproducible runs. 0: a different seed in every buffer.
  std::uint64_t seed = 0;

  /// The capacity in force: `capacity`, or its default.
  [[nodiscard]] std::size_t effective_capacity() const noexcept {
    return capacity.value_or(4 * (max_size + max_size_jitter));
  }

  /// The capacity by weight in force; 0: none.
  [[nodiscard]] std::size_t effective_capacity_bytes() const noexcept {
    return capacity_bytes != 0 ? capacity_bytes : 4 * max_bytes;
  }

  /// Throws OptionsError for the first bad field or combination.
  void validate() const;
};

}  // namespace databuffer
