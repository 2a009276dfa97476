#include "tools/tuning/run.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "tools/tuning/limits.hpp"
#include "tools/tuning/resources.hpp"
#include "tools/tuning/starting.hpp"

namespace databuffer::tuning {

namespace {

using namespace std::chrono_literals;

constexpr Duration kMinMeasured = 1ms;
constexpr Duration kMaxMeasured = 24h;

// How often memory is looked at where the kernel does not note its peak.
constexpr Duration kMemoryLook = 10ms;

// How long a batch that is under way at the end may go on, so that what it has done counts.
constexpr Duration kMinGrace = 200ms;
constexpr Duration kMaxGrace = 2s;

/// What is counted at a moment.
struct Snapshot {
  TimePoint at;
  Ledger ledger;
  std::uint64_t wake_ups = 0;
  Duration cpu{};
};

Snapshot look(const detail::Face& face) {
  Snapshot snapshot;
  for (const PartitionInfo& partition : face.info()) snapshot.wake_ups += partition.wake_ups;
  snapshot.cpu = cpu_time();
  snapshot.ledger = face.ledger();
  snapshot.at = steady_clock().now();
  return snapshot;
}

void count(const Snapshot& before, const Snapshot& after, Measurement& measurement) {
  const Ledger& first = before.ledger;
  const Ledger& last = after.ledger;
  const std::uint64_t given_up = last.dropped() - first.dropped();
  measurement.inserted = last.accepted - first.accepted;
  measurement.flushed = last.flushed - first.flushed;
  measurement.failed = last.failed - first.failed;
  measurement.dropped = given_up + measurement.refused;
  measurement.backlog =
      static_cast<std::int64_t>(measurement.inserted) -
      static_cast<std::int64_t>(measurement.flushed + measurement.failed + given_up);
  measurement.wake_ups = after.wake_ups - before.wake_ups;
  measurement.cpu_seconds = seconds_of(after.cpu - before.cpu);
}

/// The producers' threads. However it ends, the run is over and the buffer closed when they are
/// joined: a producer may be waiting for room.
class ProducerThreads {
 public:
  ProducerThreads(Record& record, const detail::Face& face) : record_(record), face_(face) {}
  ~ProducerThreads() {
    if (threads_.empty()) return;
    record_.end_measuring(steady_clock().now());
    record_.handler_stop().request_stop();
    static_cast<void>(face_.close(Duration::zero()));
    join();
  }
  ProducerThreads(const ProducerThreads&) = delete;
  ProducerThreads& operator=(const ProducerThreads&) = delete;

  void start(const std::function<void(std::size_t)>& produce) {
    threads_.reserve(record_.producer_count());
    for (std::size_t index = 0; index < record_.producer_count(); ++index) {
      starting("producer " + std::to_string(index + 1), [&] {
        return threads_.emplace_back([this, &produce, index] { run(produce, index); }).get_id();
      });
    }
  }

  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void run(const std::function<void(std::size_t)>& produce, std::size_t index) {
    set_own_log(&record_.producer(index));
    try {
      produce(index);
    } catch (...) {
      record_.fail(std::current_exception());
    }
    set_own_log(nullptr);
  }

  Record& record_;
  const detail::Face& face_;
  std::vector<std::thread> threads_;
};

// Waits until `until`. Returns whether it has come, rather than a reason to stop.
bool wait(Record& record, PeakMemory& memory, TimePoint until, const std::stop_token& stop) {
  while (memory.is_sampled()) {
    const TimePoint next = deadline_after(steady_clock().now(), kMemoryLook);
    if (next >= until) break;
    if (!record.wait_until(next, stop)) return false;
    memory.sample();
  }
  return record.wait_until(until, stop);
}

// Closes the buffer, and waits for the batches that are under way: with patience at first, then
// they are told to stop.
void end(const RunPlan& plan, Record& record, const detail::Face& face,
         const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [&record] { record.handler_stop().request_stop(); });
  const Duration grace = std::clamp(plan.measured, kMinGrace, kMaxGrace);
  static_cast<void>(face.close(grace));
  record.handler_stop().request_stop();
  const Duration timeout = plan.options.close_timeout;
  if (face.close(timeout).in_flight == 0) return;
  throw TrialError("a handler has not returned within close_timeout = " +
                   nanoseconds_text(timeout) + " of the end of the run");
}

// What the producers have seen accepted must be there, and have come to one end each.
void check_counts(Record& record, const Ledger& ledger) {
  std::uint64_t accepted = 0;
  for (std::size_t index = 0; index < record.producer_count(); ++index) {
    accepted += record.producer(index).accepted();
  }
  if (ledger.balances() && ledger.accepted >= accepted) return;
  throw TrialError("the ledger does not add up: " + std::to_string(accepted) +
                   " items were accepted, the ledger has " + std::to_string(ledger.accepted) +
                   " (flushed " + std::to_string(ledger.flushed) + ", failed " +
                   std::to_string(ledger.failed) + ", dropped " + std::to_string(ledger.dropped()) +
                   ", pending " + std::to_string(ledger.pending) + ")");
}

}  // namespace

void RunPlan::validate() const {
  workload.validate();
  options.validate();
  require(options.threading == Threading::kOwn, "threading",
          std::string(to_string(options.threading)), "a run needs consumer threads: must be own");
  require(measured >= kMinMeasured && measured <= kMaxMeasured, "measured",
          nanoseconds_text(measured), "must be 1 ms to 24 h");
}

std::size_t sampling_period(std::size_t batch) {
  constexpr std::size_t kMinItems = 16;
  constexpr std::size_t kMaxItems = 1024;
  // Two looks at the counter, one at the steady clock, which costs no less.
  const auto cost = static_cast<std::size_t>(3 * Ticks::cost().count());
  const std::size_t items = std::clamp(cost, kMinItems, kMaxItems);
  return std::max<std::size_t>(1, items / batch);
}

std::uint64_t detail::prepare_run() {
  Ticks::calibrate();
  give_memory_back();
  return resident_bytes();
}

Measurement detail::conduct(const RunPlan& plan, Record& record, const Face& face,
                            const std::function<void(std::size_t)>& produce,
                            std::uint64_t memory_before, const std::stop_token& stop) {
  PeakMemory memory;
  ProducerThreads threads(record, face);
  // Not earlier: an open loop offers from here on, and what making the buffer took would count as
  // its producers' lateness.
  record.begin(steady_clock().now());
  threads.start(produce);

  const Duration warm_up = plan.workload.warm_up;
  bool goes_on = record.wait_until(deadline_after(record.start(), warm_up), stop);
  memory.start();
  const Snapshot before = look(face);
  record.begin_measuring(before.at);
  goes_on = goes_on && wait(record, memory, deadline_after(before.at, plan.measured), stop);
  const Snapshot after = look(face);
  record.end_measuring(after.at);

  Measurement measurement;
  const std::uint64_t peak = memory.peak_bytes();
  measurement.peak_bytes = peak > memory_before ? peak - memory_before : 0;
  end(plan, record, face, stop);
  threads.join();
  record.check();
  check_counts(record, face.ledger());
  record.add_to(measurement, plan.workload.rate > 0);
  count(before, after, measurement);
  measurement.latency_step = plan.workload.rate > 0 ? 1e-9 : seconds_of(Ticks::step());
  measurement.is_cut_short = !goes_on;
  return measurement;
}

}  // namespace databuffer::tuning
