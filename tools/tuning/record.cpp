#include "tools/tuning/record.hpp"

#include <algorithm>
#include <utility>

namespace databuffer::tuning {

namespace {

thread_local ProducerLog* own_log = nullptr;

}  // namespace

void set_own_log(ProducerLog* log) noexcept { own_log = log; }

Duration Window::overlap(TimePoint from, TimePoint to) const noexcept {
  return std::max(Duration::zero(), std::min(to, end) - std::max(from, begin));
}

void ProducerLog::end_wait(TimePoint now, const Window& window) noexcept {
  const Duration inside = window.overlap(waiting_since_, now);
  blocked_ += inside;
  // Few calls are timed. The longest wait should not be missed for that.
  latencies_.note_max(inside);
  waiting_since_ = TimePoint{};
}

void ProducerLog::add_to(Measurement& measurement, Histogram& latencies,
                         Histogram& wakes) const noexcept {
  latencies.add(latencies_);
  wakes.add(wakes_);
  measurement.blocked_seconds += seconds_of(blocked_);
  measurement.refused += refused_;
  measurement.overdue += overdue_;
}

void BatchLog::begin(TimePoint start) {
  const std::lock_guard lock(mutex_);
  last_end_ = start;
}

// What was flushed is spread evenly over the time since the partition's last call ended: so a batch
// across the beginning or the end of the window counts in part. Counting whole batches instead, a
// short window with few large batches would be off by one batch for each partition.
void BatchLog::record(const Call& call, const Window& window, Phase phase) {
  const std::lock_guard lock(mutex_);
  const Duration cycle = call.end - last_end_;
  const Duration inside = window.overlap(last_end_, call.end);
  if (cycle > Duration::zero()) {
    const double flushed = static_cast<double>(call.flushed) * static_cast<double>(inside.count()) /
                           static_cast<double>(cycle.count());
    flushed_ += flushed;
    if (has_flushed_) {
      settled_ += flushed;
      settled_time_ += inside;
    }
    has_flushed_ = true;
  }
  last_end_ = std::max(last_end_, call.end);
  handler_time_ += window.overlap(call.begin, call.end);
  if (phase != Phase::kMeasured || !call.is_first_attempt) return;
  ++batches_;
  items_ += call.size;
  switch (call.reason) {
    case FlushReason::kSize:
      ++size_flushes_;
      break;
    case FlushReason::kInterval:
      ++interval_flushes_;
      break;
    case FlushReason::kManual:
    case FlushReason::kClose:
      ++other_flushes_;
      break;
  }
}

double BatchLog::flushed(Duration length, bool is_open) {
  const std::lock_guard lock(mutex_);
  if (!is_open || settled_time_ <= Duration::zero()) return flushed_;
  return settled_ * static_cast<double>(length.count()) /
         static_cast<double>(settled_time_.count());
}

void BatchLog::add_to(Measurement& measurement, std::uint64_t& items, Histogram& ages) {
  const std::lock_guard lock(mutex_);
  measurement.batches += batches_;
  measurement.size_flushes += size_flushes_;
  measurement.interval_flushes += interval_flushes_;
  measurement.other_flushes += other_flushes_;
  measurement.handler_seconds += seconds_of(handler_time_);
  items += items_;
  ages.add(ages_);
}

Record::Record(std::size_t producers, std::size_t partitions) {
  for (std::size_t index = 0; index < producers; ++index) {
    producers_.push_back(std::make_unique<ProducerLog>());
  }
  for (std::size_t index = 0; index < partitions; ++index) {
    partitions_.push_back(std::make_unique<BatchLog>());
  }
}

// Read by whoever has seen the phase, or does not need the newest.
Window Record::window() const noexcept {
  return {begin_.load(std::memory_order_acquire), end_.load(std::memory_order_acquire)};
}

void Record::begin(TimePoint now) {
  start_ = now;
  for (const auto& log : partitions_) log->begin(now);
}

void Record::begin_measuring(TimePoint now) noexcept {
  begin_.store(now, std::memory_order_release);               // pairs with window()
  phase_.store(Phase::kMeasured, std::memory_order_release);  // pairs with phase()
}

void Record::end_measuring(TimePoint now) noexcept {
  end_.store(now, std::memory_order_release);             // pairs with window()
  phase_.store(Phase::kOver, std::memory_order_release);  // pairs with phase()
}

void Record::listen(const std::shared_ptr<Record>& record, Telemetry telemetry, bool needs_ages) {
  // Called once for an insert that waits; none of these makes an insert read a clock.
  telemetry.attach("tuning.blocked", Event::kBlocked, [](const TelemetryEvent&) {
    if (own_log != nullptr) own_log->begin_wait(steady_clock().now());
  });
  if (!needs_ages) return;
  telemetry.attach("tuning.age", Event::kFlushStart, [record](const TelemetryEvent& event) {
    if (record->phase() != Phase::kMeasured || event.attempt != 1) return;
    record->partition(event.partition_index).record_age(event.age, event.size);
  });
}

void Record::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = std::move(failure);
  changed_.notify_all();
}

void Record::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

bool Record::wait_until(TimePoint until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool has_failed =
      changed_.wait_until(lock, stop, until, [this] { return failure_ != nullptr; });
  return !has_failed && !stop.stop_requested();
}

void Record::add_to(Measurement& measurement, bool is_open) {
  Histogram latencies;
  Histogram wakes;
  Histogram ages;
  double flushed = 0;
  std::uint64_t items = 0;
  for (const auto& log : producers_) log->add_to(measurement, latencies, wakes);
  const Window measured = window();
  for (const auto& log : partitions_) {
    log->add_to(measurement, items, ages);
    flushed += log->flushed(measured.end - measured.begin, is_open);
  }
  measurement.seconds = seconds_of(measured.end - measured.begin);
  if (measurement.seconds > 0) measurement.items_per_s = flushed / measurement.seconds;
  if (measurement.batches > 0) {
    measurement.mean_batch = static_cast<double>(items) / static_cast<double>(measurement.batches);
  }
  measurement.insert_latency = latencies.percentiles();
  measurement.wake_lateness = wakes.percentiles();
  measurement.age = ages.percentiles();
}

HandlerCall::HandlerCall(Record& record, const FlushContext& context)
    : record_(record),
      log_(record.partition(context.partition_index)),
      wants_ages_(record.phase() == Phase::kMeasured && context.attempt == 1) {
  call_.begin = steady_clock().now();
  call_.size = context.size;
  call_.reason = context.reason;
  call_.is_first_attempt = context.attempt == 1;
}

HandlerCall::~HandlerCall() {
  call_.end = steady_clock().now();
  log_.record(call_, record_.window(), record_.phase());
}

void HandlerCall::record_age(TimePoint due, std::uint64_t items) {
  log_.record_age(call_.begin - due, items);
}

void HandlerCall::set_result(const FlushResult& result) noexcept {
  const std::size_t failed = result.is_ok()           ? 0
                             : result.items().empty() ? call_.size
                                                      : std::min(call_.size, result.items().size());
  call_.flushed = call_.size - failed;
}

}  // namespace databuffer::tuning
