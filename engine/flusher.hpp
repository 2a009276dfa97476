#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "databuffer/batch.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
#include "engine/backoff.hpp"
#include "engine/lock.hpp"
#include "engine/overdue_watch.hpp"

namespace databuffer::detail {

class BufferCore;
struct Partition;

/// Delivers one batch at a time: call by call, with the pauses, the retries and the halving that
/// the options ask for, until every item has its end in the ledger. One for each consumer, on its
/// thread.
///
///   whole batch ──ok──────────────────────────────► flushed
///       │ items named ──► done: flushed; failed: to on_drop; the others go on as the batch
///       │ retry, attempts and time left ──► pause ──► what is left, again
///       │ else failed, isolate ──► halves, first half first ──► … ──► single items
///       └ else ─────────────────────────────────────► failed, to on_drop
///
/// While the buffer closes the same holds, with shorter pauses. When close() gives up, what is left
/// of the batch goes to on_drop as kClosed.
class Flusher {
 public:
  Flusher(BufferCore& buffer, Partition& partition, HandlerCall& call, std::unique_ptr<Cargo> cargo,
          std::uint64_t seed);

  struct Batch {
    FlushReason reason = FlushReason::kSize;
    std::size_t waiting_behind = 0;
    TimePoint first{};  // when its first item came
  };

  /// Where the next batch is gathered. Requires: no batch under way.
  [[nodiscard]] Cargo& cargo() noexcept { return *cargo_; }

  /// The cargo's items are a batch now, in flight.
  void begin(const Batch& batch, TimePoint now);

  [[nodiscard]] bool has_batch() const noexcept { return !ranges_.empty(); }
  /// When the next call is due.
  [[nodiscard]] TimePoint due() const noexcept { return due_; }
  /// The same while the buffer closes, by `deadline` (steady clock): a pause takes half of the time
  /// that is left at most, so that attempts still come before the deadline. An injected clock may
  /// stand still, so then no pause is waited for.
  [[nodiscard]] TimePoint due_while_closing(TimePoint deadline) const noexcept;
  /// When its first item came.
  [[nodiscard]] TimePoint first() const noexcept { return batch_.first; }

  /// Makes one handler call. If the handler ends its thread (pthread_exit) the stack unwinds
  /// through here; the next step() then goes on with the call as one that has failed.
  void step(Handler& handler, TimePoint now);

  /// close() gives up: what is left of the batch goes to on_drop.
  void give_up_rest() noexcept;

  /// Whether the buffer went away while its last call was inside the handler: nothing of the
  /// user's may run any more.
  [[nodiscard]] bool is_disowned() const noexcept { return is_disowned_; }

  /// How long the last handler call took. The consumer's.
  [[nodiscard]] Duration last_call() const noexcept { return last_call_; }

  [[nodiscard]] std::string last_error() const;

 private:
  // Part of the cargo. Before halving there is one, of everything that is left.
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };

  std::optional<FlushResult> call(Handler& handler, const Range& range, TimePoint now,
                                  bool& is_taken);
  FlushResult call_handler(Handler& handler, const Range& range, const FlushContext& context,
                           bool& is_taken);
  void conclude(TelemetryEvent& event, const FlushResult& result) noexcept;
  [[nodiscard]] TelemetryEvent event_of(const Range& range, TimePoint now) const noexcept;
  [[nodiscard]] FlushResult failure_of_call(std::string what) const noexcept;
  void tell(TelemetryEvent& event) noexcept;
  void handle_failure(Range range, FlushResult& result) noexcept;
  void discard() noexcept;
  bool schedule_retry(const FlushResult& result, TimePoint now) noexcept;
  using ItemResults = std::span<const ItemResult>;
  ItemResults settle_items(FlushResult& result, Range& range) noexcept;
  static void put_in_order(FlushResult& result, std::size_t count) noexcept;
  void count_flushed(std::size_t items) noexcept;
  void give_up(const Range& range, const FlushResult& result, LastAnswer answer,
               ItemResults items) noexcept;
  void count_failed(std::size_t items, const FlushResult& result) noexcept;
  void end_batch(FlushResult result) noexcept;
  void tell_requests(FlushResult result) noexcept;
  void keep_error(const std::string& message) noexcept;

  BufferCore& buffer_;
  Partition& partition_;
  HandlerCall& call_;
  const std::unique_ptr<Cargo> cargo_;
  Backoff backoff_;

  // The batch under way.
  Batch batch_;
  std::uint64_t batch_id_ = 0;
  std::uint32_t attempt_ = 0;  // calls so far
  TimePoint began_{};          // the first
  TimePoint due_{};
  TimePoint paused_at_{};      // when due_ was set
  std::vector<Range> ranges_;  // to deliver, the next one last; empty: no batch
  bool is_halving_ = false;
  std::size_t items_ = 0;         // of the whole batch
  std::size_t ended_items_ = 0;   // with this call
  std::size_t failed_items_ = 0;  // so far
  FlushResult failure_;           // the first final one
  FlushResult answer_;            // the last that asked for a retry

  Duration last_call_{};
  bool is_disowned_ = false;
  bool has_lost_thread_ = false;  // the handler has ended it: the call is to be concluded
  bool had_taken_ = false;        // … and had taken the items

  mutable Mutex error_mutex_;
  std::string last_error_ DATABUFFER_GUARDED_BY(error_mutex_);
};

}  // namespace databuffer::detail
