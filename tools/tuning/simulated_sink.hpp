#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "databuffer/clock.hpp"
#include "databuffer/result.hpp"

namespace databuffer::tuning {

/// What a simulated sink does with a batch: it takes `fixed + items × per_item`, more or less, and
/// sometimes fails, for good or for now. All zero: it does nothing.
struct SimulatedSinkSettings {
  Duration fixed{};     ///< For a batch. 0 … 1 hour.
  Duration per_item{};  ///< For each item in it. 0 … 1 second.
  double jitter = 0;    ///< The time is multiplied by uniform 1 - jitter … 1 + jitter. 0 … 1.
  bool burns_cpu = false;    ///< It computes for that long (of CPU time), instead of waiting.
  double failing_share = 0;  ///< Of calls, which fail for good after that time. 0 … 1.
  /// Of calls, which ask for a retry after that time; each attempt is a call. 0 … 1 -
  /// failing_share.
  double retrying_share = 0;
  std::uint64_t seed = 1;  ///< The same seed draws the same costs and failures, call by call.

  /// Throws      OptionsError, naming the first field that is out of range.
  void validate() const;
};

/// Where a simulated sink takes time from: the machine, or a test.
class SinkTime {
 public:
  SinkTime() = default;
  SinkTime(const SinkTime&) = delete;
  SinkTime& operator=(const SinkTime&) = delete;
  virtual ~SinkTime() = default;

  [[nodiscard]] virtual TimePoint now() = 0;
  /// CPU time of the calling thread.
  [[nodiscard]] virtual Duration cpu_time() = 0;
  /// As precise as the machine can: a sleep on Linux ends some microseconds late, and this does not
  /// spin for them, which would take the core from others.
  virtual void sleep_until(TimePoint wake_up) = 0;
};

/// The machine's. Lives for ever.
[[nodiscard]] SinkTime& machine_sink_time() noexcept;

/// A flush handler that costs what it is told to.
///
/// Threads     any number at once.
class SimulatedSink {
 public:
  /// `time` is borrowed. Throws      OptionsError, as SimulatedSinkSettings::validate().
  explicit SimulatedSink(const SimulatedSinkSettings& settings,
                         SinkTime& time = machine_sink_time());

  /// Handles a batch of `items`. Returns early, with a failure, once `stop` is requested.
  FlushResult handle(std::size_t items, const std::stop_token& stop = {});

  /// What the call with this number (from 0) takes.
  [[nodiscard]] Duration cost_of(std::uint64_t call, std::size_t items) const noexcept;
  /// … and whether it does, fails for good, or asks for a retry.
  [[nodiscard]] FlushStatus end_of(std::uint64_t call) const noexcept;

 private:
  // Both return whether they came to their end.
  bool wait(Duration cost, const std::stop_token& stop);
  bool burn(Duration cost, const std::stop_token& stop);

  const SimulatedSinkSettings settings_;
  SinkTime& time_;                       // borrowed
  std::atomic<std::uint64_t> calls_{0};  // numbers the calls
};

}  // namespace databuffer::tuning
