#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "databuffer/batch.hpp"
#include "databuffer/clock.hpp"
#include "databuffer/result.hpp"
#include "databuffer/telemetry.hpp"
#include "tools/tuning/histogram.hpp"
#include "tools/tuning/measurement.hpp"

namespace databuffer::tuning {

/// Where a run stands: producers start with the warm-up and end with kOver; samples are taken only
/// in between. After the end handlers are called no more: their batches are thrown away.
enum class Phase : std::uint8_t { kWarmUp, kMeasured, kOver };

/// The measured time. `end` is "never" until it has come.
struct Window {
  TimePoint begin = TimePoint::max();
  TimePoint end = TimePoint::max();

  /// How much of from … to lies in it.
  [[nodiscard]] Duration overlap(TimePoint from, TimePoint to) const noexcept;
};

/// What one producer saw. Written by its thread, read when that has ended.
class ProducerLog {
 public:
  void record_latency(Duration latency) noexcept { latencies_.record(latency); }
  void record_wake(Duration lateness) noexcept { wakes_.record(lateness); }

  /// The insert that this thread is in begins to wait for room.
  void begin_wait(TimePoint now) noexcept { waiting_since_ = now; }
  [[nodiscard]] bool has_waited() const noexcept { return waiting_since_ != TimePoint{}; }
  /// … and has returned.
  void end_wait(TimePoint now, const Window& window) noexcept;

  void count_accepted(std::uint64_t items) noexcept { accepted_ += items; }
  void count_refused(std::uint64_t items, Phase phase) noexcept {
    if (phase == Phase::kMeasured) refused_ += items;
  }
  void set_overdue(std::uint64_t items) noexcept { overdue_ = items; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  void add_to(Measurement& measurement, Histogram& latencies, Histogram& wakes) const noexcept;

 private:
  Histogram latencies_;
  Histogram wakes_;
  TimePoint waiting_since_{};   // TimePoint{}: it does not wait
  Duration blocked_{};          // in the window
  std::uint64_t accepted_ = 0;  // ever
  std::uint64_t refused_ = 0;   // in the window
  std::uint64_t overdue_ = 0;
};

/// What happened at one partition's handler. Its calls come one after another, but for those that
/// were stuck and are replaced: hence the mutex.
class BatchLog {
 public:
  explicit BatchLog(TimePoint start = {}) noexcept : last_end_(start) {}

  /// The run begins: what is flushed from now on counts.
  void begin(TimePoint start);

  void record_age(Duration age, std::uint64_t items) {
    const std::lock_guard lock(mutex_);
    ages_.record(age, items);
  }

  struct Call {
    TimePoint begin;
    TimePoint end;
    std::size_t size = 0;
    std::size_t flushed = 0;
    FlushReason reason = FlushReason::kSize;
    bool is_first_attempt = true;
  };
  void record(const Call& call, const Window& window, Phase phase);

  void add_to(Measurement& measurement, std::uint64_t& items, Histogram& ages);

  /// Items flushed in the window, which was `length` long; batches on its edges in part.
  ///
  /// `is_open` is of an open loop: at its end, batches still fill, for as long as flush_interval
  /// says, and would count as nothing. So the whole cycles between the first flush and the last
  /// stand for the window, where there are any.
  [[nodiscard]] double flushed(Duration length, bool is_open);

 private:
  std::mutex mutex_;
  Histogram ages_;
  TimePoint last_end_;
  double flushed_ = 0;        // in the window; batches on its edges in part
  double settled_ = 0;        // of that: in cycles after the first, …
  Duration settled_time_{};   // … which take so much of the window
  bool has_flushed_ = false;  // there was a first cycle
  std::uint64_t batches_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t size_flushes_ = 0;
  std::uint64_t interval_flushes_ = 0;
  std::uint64_t other_flushes_ = 0;
  Duration handler_time_{};
};

/// All that is noted in one run. Shared by producers, handlers and the conductor; outlives a
/// handler that is stuck.
class Record {
 public:
  Record(std::size_t producers, std::size_t partitions);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  // acquire: pairs with begin_measuring() and end_measuring(). Whoever sees the new phase also sees
  // the window's edge that goes with it; else a producer could leave its loop because the run is
  // over and count what was overdue up to a window that never ends.
  [[nodiscard]] Phase phase() const noexcept { return phase_.load(std::memory_order_acquire); }
  [[nodiscard]] TimePoint start() const noexcept { return start_; }
  [[nodiscard]] Window window() const noexcept;

  /// The run begins, with its warm-up. Before producers are started: what was done until then is
  /// not their time.
  void begin(TimePoint now);
  void begin_measuring(TimePoint now) noexcept;
  void end_measuring(TimePoint now) noexcept;

  [[nodiscard]] ProducerLog& producer(std::size_t index) noexcept { return *producers_[index]; }
  [[nodiscard]] BatchLog& partition(std::size_t index) noexcept { return *partitions_[index]; }
  [[nodiscard]] std::size_t producer_count() const noexcept { return producers_.size(); }

  /// Attaches what notes that producers wait and, if asked, the age of each batch's first item.
  static void listen(const std::shared_ptr<Record>& record, Telemetry telemetry, bool needs_ages);

  /// A producer has failed: the run makes no sense any more. The first failure is kept.
  void fail(std::exception_ptr failure) noexcept;
  /// Rethrows it.
  void check() const;

  /// Waits until `until`, a failure, or `stop`. Returns whether it was the time.
  [[nodiscard]] bool wait_until(TimePoint until, const std::stop_token& stop);

  /// Requested when handler calls are not waited for any more.
  [[nodiscard]] std::stop_source& handler_stop() noexcept { return handler_stop_; }

  /// Everything but what the ledger and the machine say; `is_open`: of an open loop. Requires the
  /// producers to have ended.
  void add_to(Measurement& measurement, bool is_open);

 private:
  TimePoint start_{};  // written by the conductor before it starts the producers, who read it
  std::vector<std::unique_ptr<ProducerLog>> producers_;
  std::vector<std::unique_ptr<BatchLog>> partitions_;

  std::atomic<Phase> phase_{Phase::kWarmUp};        // written by the conductor
  std::atomic<TimePoint> begin_{TimePoint::max()};  // likewise, before the phase
  std::atomic<TimePoint> end_{TimePoint::max()};    // likewise
  std::stop_source handler_stop_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::exception_ptr failure_{};  // guarded by mutex_
};

/// The producer that runs on this thread: for the hook on kBlocked. Null elsewhere.
void set_own_log(ProducerLog* log) noexcept;

/// One call of a handler, noted whatever its end: an exception flushes nothing.
class HandlerCall {
 public:
  HandlerCall(Record& record, const FlushContext& context);
  ~HandlerCall();
  HandlerCall(const HandlerCall&) = delete;
  HandlerCall& operator=(const HandlerCall&) = delete;

  /// Whether ages are wanted: in the measured time, for each batch once.
  [[nodiscard]] bool wants_ages() const noexcept { return wants_ages_; }
  /// Of an item that stands for `items`.
  void record_age(TimePoint due, std::uint64_t items);

  void set_result(const FlushResult& result) noexcept;

 private:
  Record& record_;
  BatchLog& log_;
  BatchLog::Call call_;
  bool wants_ages_;
};

}  // namespace databuffer::tuning
