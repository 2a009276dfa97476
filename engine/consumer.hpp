#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "databuffer/clock.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
#include "engine/flush_schedule.hpp"
#include "engine/flusher.hpp"
#include "engine/overdue_watch.hpp"
#include "engine/partition.hpp"

namespace databuffer::detail {

class BufferCore;

/// The one who removes a partition's items and hands them on. do_work() decides and acts, on a time
/// it is given; run() calls it from a thread with the clock, and waits in between.
class Consumer {
 public:
  Consumer(BufferCore& buffer, Partition& partition, std::uint64_t seed);

  /// Has the first item's time noted from the start (kManual; run() does it by itself).
  void prepare() noexcept { arm(1); }

  /// The thread's loop: returns when the buffer is closed and everything is flushed.
  void run();

  /// One step at the time `now`, which never goes back: at most one batch. Returns when it wants to
  /// run again: `now` for at once, "never" while only a call can bring work.
  TimePoint do_work(TimePoint now);

  /// What do_work returned last, or `now` if that is earlier and something has come up since. Any
  /// thread.
  [[nodiscard]] TimePoint next_deadline(TimePoint now) const noexcept;

  /// Fills in pending_age and in_flight_age. Any thread.
  void describe_ages(TimePoint now, PartitionInfo& info) const noexcept;

  void set_handler(std::unique_ptr<Handler> handler) noexcept { handler_ = std::move(handler); }
  /// Its thread ends: gives back the handler and the memory of its batches.
  void end() noexcept;

  /// Whether the buffer went away while its handler was stuck: its thread runs nothing more.
  [[nodiscard]] bool is_disowned() const noexcept { return flusher_.is_disowned(); }

  /// Whether the watch has given its partition to another while its handler was stuck: then run()
  /// ends with that call.
  [[nodiscard]] bool is_retired() const noexcept { return call_.is_retired(); }

  /// Takes its partition away, if it is still in that call. Returns whether it did. The watch's
  /// spare.
  [[nodiscard]] bool retire(std::uint64_t batch_id);

  [[nodiscard]] HandlerCall& call() noexcept { return call_; }
  [[nodiscard]] const HandlerCall& call() const noexcept { return call_; }
  [[nodiscard]] const Flusher& flusher() const noexcept { return flusher_; }

 private:
  [[nodiscard]] std::optional<FlushReason> due_reason(std::size_t pending, TimePoint now) const;
  TimePoint step(TimePoint now);
  void forget_departed() noexcept;
  TimePoint rest(TimePoint now);
  TimePoint finish();
  TimePoint give_up();
  [[nodiscard]] TimePoint due(bool is_closing) const noexcept;
  TimePoint flush_batch(FlushReason reason, TimePoint now);
  [[nodiscard]] bool reserve_batch() noexcept;
  bool gather(FlushReason reason, TimePoint now);
  TimePoint deliver(TimePoint now);
  void notice_first_item(TimePoint now) noexcept;
  [[nodiscard]] TimePoint left_behind_since(std::uint64_t passes_before, TimePoint now) noexcept;
  void note_pass(std::uint64_t passes, TimePoint began) noexcept;
  void publish_ages(TimePoint now) noexcept;
  [[nodiscard]] bool is_armed_for(std::size_t threshold) const noexcept;
  void arm(std::size_t threshold) noexcept;
  void disarm() noexcept;

  void observe_rate(TimePoint now) noexcept;
  [[nodiscard]] Duration time_to_fill() const noexcept;
  [[nodiscard]] bool keeps_looking(TimePoint now) const noexcept;
  void wait(TimePoint next, TimePoint now) noexcept;
  [[nodiscard]] bool would_oversleep() const noexcept;
  void stay_awake(Duration fill) noexcept;
  void sleep(TimePoint until, TimePoint now) noexcept;
  void park(TimePoint next, TimePoint now) noexcept;

  // A batch that will be full this soon is waited for in naps; a later one by the doorbell.
  static constexpr Duration kHotFill = std::chrono::milliseconds{1};
  // Behind full batches that followed each other so fast, naps go on for a while though nothing
  // comes: producers may only be waiting for a core.
  static constexpr Duration kStaysHot = std::chrono::milliseconds{5};

  BufferCore& buffer_;
  Partition& partition_;
  HandlerCall call_;
  Flusher flusher_;
  std::unique_ptr<Handler> handler_;
  FlushSchedule schedule_;
  std::uint64_t held_ = 0;           // when retired: what end_abandoned() releases
  std::uint64_t covered_ = 0;        // requests that are done when the batch under way is
  bool is_short_of_memory_ = false;  // for a batch: wait, whatever is pending

  // When it last looked for departed producers to forget: how many had, and what had left.
  std::uint64_t departures_seen_ = 0;
  bool has_missed_turn_ = false;  // another thread had it: look again soon
  std::uint64_t removed_seen_ = 0;

  // The doorbell is armed for this many pending items; 0: not.
  std::size_t armed_for_ = 0;
  TimePoint empty_at_;  // the last time the partition was seen empty

  // When the drain's last pass began and the one before it, at the earliest; see
  // left_behind_since().
  std::uint64_t passes_ = 0;
  std::array<TimePoint, 2> passes_began_{TimePoint::min(), TimePoint::min()};
  TimePoint gathered_at_ = TimePoint::min();  // the last batch

  // The rate seen between the last two looks, for the adaptive wait.
  TimePoint rate_since_;
  std::uint64_t rate_inserted_ = 0;
  double items_per_ns_ = 0;
  TimePoint hot_until_ = TimePoint::min();
  TimePoint contended_until_ = TimePoint::min();  // on the machine's clock

  // Read by next_deadline().
  std::atomic<Duration> next_{TimePoint::max().time_since_epoch()};
  std::atomic<std::size_t> next_limit_{0};  // pending items that want a look before `next_`
  std::atomic<bool> has_batch_{false};      // one waits to be tried again

  // Read by info(): when the oldest pending item came, at the earliest (kNoTime: the doorbell
  // knows), and the first of the batch under way (kNoTime: there is none).
  std::atomic<Duration> pending_since_{Doorbell::kNoTime};
  std::atomic<Duration> batch_since_{Doorbell::kNoTime};
};

}  // namespace databuffer::detail
