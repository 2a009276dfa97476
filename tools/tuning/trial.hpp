#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string_view>

#include "databuffer/options.hpp"
#include "databuffer/result.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/simulated_sink.hpp"
#include "tools/tuning/workload.hpp"

namespace databuffer::tuning {

/// One run of one buffer with items of our making. For items and handlers of your own see
/// measure.hpp.
struct Trial {
  Workload workload;
  Payload payload;
  Options options;
  Duration measured = std::chrono::seconds{1};  ///< 1 ms … 24 hours, after the warm-up.
};

/// A batch of payloads, whatever their type. Borrowed until the handler returns.
class PayloadBatch {
 public:
  using BytesOf = std::string_view (*)(const void* items, std::size_t index);

  PayloadBatch(const void* items, std::size_t size, BytesOf bytes_of, std::stop_token stop) noexcept
      : items_(items), size_(size), bytes_of_(bytes_of), stop_(std::move(stop)) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::string_view bytes(std::size_t index) const { return bytes_of_(items_, index); }

  /// Requested when the run is over and does not want to wait for this call.
  [[nodiscard]] const std::stop_token& stop_token() const noexcept { return stop_; }

 private:
  const void* items_;
  std::size_t size_;
  BytesOf bytes_of_;
  std::stop_token stop_;
};

/// Called by several threads at once if there are several partitions.
using PayloadHandler = std::function<FlushResult(const PayloadBatch& batch)>;

/// `sink`, which is borrowed, as a handler.
[[nodiscard]] PayloadHandler handler_of(SimulatedSink& sink);

/// Runs a trial to its end, or until `stop` is requested: then with what was measured so far.
/// What the measurement means, and how exact it is, see measurement.hpp.
/// Throws      OptionsError; std::system_error, std::bad_alloc; TrialError (run.hpp).
[[nodiscard]] Measurement run_trial(const Trial& trial, const PayloadHandler& handler,
                                    const std::stop_token& stop = {});

/// Runs `trial` with each candidate in turn, for about the duration asked for, warm-up included (a
/// fifth of it at most). The trial's own duration does not count.
[[nodiscard]] Measure make_measure(Trial trial, PayloadHandler handler, std::stop_token stop = {});

}  // namespace databuffer::tuning
