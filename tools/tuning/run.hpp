#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/buffer.hpp"
#include "tools/tuning/pacing.hpp"
#include "tools/tuning/record.hpp"
#include "tools/tuning/starting.hpp"
#include "tools/tuning/ticks.hpp"
#include "tools/tuning/workload.hpp"

// One run of one buffer, for any items and handlers: the loops that depend on the item's type are
// here, the rest is compiled once in run.cpp.
namespace databuffer::tuning {

/// A run that cannot be measured: a handler did not return, or the counts do not add up.
class TrialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a run is asked to do.
struct RunPlan {
  Workload workload;
  Options options;
  Duration measured{};  ///< After the warm-up.

  /// Throws      OptionsError, naming the first field that is out of range.
  void validate() const;
};

/// How many calls of `batch` items to time one of: at least every 16th item, and so few that the
/// clock takes less than about a nanosecond for each item.
[[nodiscard]] std::size_t sampling_period(std::size_t batch);

/// An item with a member `TimePoint due`, which the run sets to the time at which it was due: then
/// its age at the handler is known exactly.
template <class T>
concept HasDueMember = requires(T& item) {
  { item.due } -> std::same_as<TimePoint&>;
};

/// The same with functions: `set_due(TimePoint)` and `due() const`.
template <class T>
concept HasDueFunctions = requires(T& item, const T& same, TimePoint due) {
  item.set_due(due);
  { same.due() } -> std::same_as<TimePoint>;
};

template <class T>
inline constexpr bool kCarriesDue = HasDueMember<T> || HasDueFunctions<T>;

namespace detail {

template <class T>
void stamp([[maybe_unused]] T& item, [[maybe_unused]] TimePoint due) {
  if constexpr (HasDueMember<T>) {
    item.due = due;
  } else if constexpr (HasDueFunctions<T>) {
    item.set_due(due);
  }
}

template <class T>
TimePoint due_of(const T& item) {
  if constexpr (HasDueMember<T>) {
    return item.due;
  } else {
    return item.due();
  }
}

// Of a large batch 16 items, evenly spread, stand for all: looking at each would bring every one
// into the cache, which may be all that a fast sink costs.
template <class T>
void record_ages(HandlerCall& call, const Batch<T>& batch) {
  constexpr std::size_t kSamples = 16;
  const std::size_t stride = std::max<std::size_t>(1, batch.size() / kSamples);
  for (std::size_t first = 0; first < batch.size(); first += stride) {
    const std::size_t count = std::min(stride, batch.size() - first);
    call.record_age(due_of(batch[first + count / 2]), count);
  }
}

template <class T, class H>
FlushResult handle(Record& record, H& handler, Batch<T>& batch, const FlushContext& context) {
  if (record.phase() == Phase::kOver) return FlushResult::ok();  // what is left is of no interest
  HandlerCall call(record, context);
  if constexpr (kCarriesDue<T>) {
    if (call.wants_ages()) record_ages(call, batch);
  }
  FlushResult result = databuffer::detail::call_with<T>(handler, batch, context);
  call.set_result(result);
  return result;
}

/// What one producer's thread does.
template <class T, class MakeItem>
class Producer {
 public:
  Producer(Buffer<T>& buffer, Record& record, std::size_t index, const Workload& workload,
           MakeItem& make_item)
      : buffer_(buffer),
        record_(record),
        log_(record.producer(index)),
        workload_(workload),
        make_item_(make_item),
        index_(index),
        next_item_(index) {
    items_.reserve(workload.batch);
  }

  void run() {
    if (workload_.rate > 0) {
      run_open();
    } else {
      run_closed();
    }
  }

 private:
  // Times one call in many, so that the clock takes about a nanosecond of an item's time. An item's
  // due time is that of the last look at the clock: in a stretch without waiting.
  void run_closed() {
    const std::size_t period = sampling_period(workload_.batch);
    std::size_t until_timed = 0;
    TimePoint due = steady_clock().now();
    bool is_open = true;
    while (is_open) {
      const Phase phase = record_.phase();
      if (phase == Phase::kOver) return;
      if (until_timed-- != 0) {
        make_items(due);
        is_open = insert(phase);
      } else {
        until_timed = period - 1;
        due = steady_clock().now();
        make_items(due);
        const std::int64_t before = Ticks::now();
        is_open = insert(phase);
        const std::int64_t after = Ticks::now();
        if (phase == Phase::kMeasured) log_.record_latency(Ticks::between(before, after));
      }
      if (log_.has_waited()) due = end_wait();
    }
  }

  void run_open() {
    const Schedule schedule(record_.start(), workload_.rate, workload_.batch,
                            record_.producer_count(), index_);
    std::uint64_t call = 0;
    while (insert_when_due(schedule.due(call))) ++call;
    const std::uint64_t due = schedule.calls_before(record_.window().end);
    log_.set_overdue(due > call ? (due - call) * workload_.batch : 0);
  }

  // Returns false when the run is over and the call was not made.
  bool insert_when_due(TimePoint due) {
    TimePoint now = steady_clock().now();
    const bool sleeps = now < due;
    while (now < due) {
      if (record_.phase() == Phase::kOver) return false;
      now = sleep_towards(due);
    }
    const Phase phase = record_.phase();
    if (phase == Phase::kOver) return false;
    if (sleeps && phase == Phase::kMeasured) log_.record_wake(now - due);
    make_items(due);
    const bool is_open = insert(phase);
    const TimePoint after = steady_clock().now();
    if (phase == Phase::kMeasured) log_.record_latency(after - due);
    if (log_.has_waited()) end_wait();
    return is_open;
  }

  // Not part of the call that is timed: it is the caller's own work.
  void make_items(TimePoint due) {
    items_.clear();
    for (std::size_t count = 0; count < workload_.batch; ++count) {
      items_.push_back(make_item_(next_item_));
      stamp(items_.back(), due);
      next_item_ += record_.producer_count();
    }
  }

  // Returns false when the buffer is closed.
  bool insert(Phase phase) {
    InsertBatchResult result;
    if (workload_.batch == 1) {
      result.status = buffer_.insert(std::move(items_.front()));
      const bool is_taken =
          result.status == InsertStatus::kAccepted || result.status == InsertStatus::kDropped;
      result.accepted = is_taken ? 1 : 0;
    } else {
      result = buffer_.insert_batch(std::move(items_));  // its items only: the vector stays ours
    }
    log_.count_accepted(result.accepted);
    if (result.status == InsertStatus::kClosed) return false;
    if (result.accepted < workload_.batch) {
      log_.count_refused(workload_.batch - result.accepted, phase);
    }
    return true;
  }

  TimePoint end_wait() {
    const TimePoint now = steady_clock().now();
    log_.end_wait(now, record_.window());
    return now;
  }

  Buffer<T>& buffer_;
  Record& record_;
  ProducerLog& log_;
  const Workload& workload_;
  MakeItem& make_item_;
  const std::size_t index_;
  std::uint64_t next_item_;  // a different one for each item of the run
  std::vector<T> items_;
};

/// The buffer, without its type.
struct Face {
  std::function<Ledger()> ledger;
  std::function<std::vector<PartitionInfo>()> info;
  std::function<CloseReport(Duration)> close;
};

/// Starts the producers, waits, takes the counts before and after, closes, and adds up.
/// `memory_before`: resident bytes before the buffer was made.
Measurement conduct(const RunPlan& plan, Record& record, const Face& face,
                    const std::function<void(std::size_t)>& produce, std::uint64_t memory_before,
                    const std::stop_token& stop);

/// Returns resident bytes, with as little as possible left of earlier runs.
std::uint64_t prepare_run();

}  // namespace detail

/// Runs one buffer: `make_buffer(options, record)` makes it, with handlers that go through
/// detail::handle(); `make_item(index)` makes items, on all producers' threads at once.
/// Throws      OptionsError, TrialError, std::system_error that names the threads which could not
///             be started, and what make_buffer and make_item throw.
template <class T, class MakeItem, class MakeBuffer>
Measurement run(const RunPlan& plan, MakeItem& make_item, MakeBuffer make_buffer,
                const std::stop_token& stop) {
  plan.validate();
  const auto record = std::make_shared<Record>(plan.workload.producers, plan.options.partitions);
  const std::uint64_t memory_before = detail::prepare_run();
  Buffer<T> buffer = starting(buffer_text(plan.options.partitions),
                              [&] { return make_buffer(plan.options, record); });
  Record::listen(record, buffer.telemetry(), !kCarriesDue<T>);
  const detail::Face face{[&buffer] { return buffer.ledger(); },
                          [&buffer] { return buffer.info(); },
                          [&buffer](Duration timeout) { return buffer.close(timeout); }};
  const auto produce = [&](std::size_t index) {
    detail::Producer<T, MakeItem>(buffer, *record, index, plan.workload, make_item).run();
  };
  Measurement measurement = detail::conduct(plan, *record, face, produce, memory_before, stop);
  measurement.is_age_of_oldest = !kCarriesDue<T>;
  return measurement;
}

}  // namespace databuffer::tuning
