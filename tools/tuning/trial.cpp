#include "tools/tuning/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "tools/tuning/measure.hpp"
#include "tools/tuning/payload.hpp"
#include "tools/tuning/run.hpp"

namespace databuffer::tuning {

namespace {

// Handlers as the buffer wants them: for a batch of one type.
template <class T>
auto make_buffer_for(const PayloadHandler& handler) {
  return [&handler](const Options& options, const std::shared_ptr<Record>& record) {
    // A stuck handler may outlive this run: it has a copy.
    auto shared = std::make_shared<PayloadHandler>(handler);
    return Buffer<T>(options, [shared, record](Batch<T>& items, const FlushContext& context) {
      auto adapted = [&](Batch<T>& batch) {
        return (*shared)(PayloadBatch(
            batch.data(), batch.size(),
            [](const void* first, std::size_t index) {
              return bytes_of(static_cast<const T*>(first)[index]);
            },
            record->handler_stop().get_token()));
      };
      return detail::handle<T>(*record, adapted, items, context);
    });
  };
}

template <std::size_t kBytes>
Measurement run_plain(const RunPlan& plan, const PayloadHandler& handler,
                      const std::stop_token& stop) {
  using Item = PlainItem<kBytes>;
  const auto make_item = [](std::uint64_t) { return make_plain_item<kBytes>(); };
  return run<Item>(plan, make_item, make_buffer_for<Item>(handler), stop);
}

Measurement run_strings(const RunPlan& plan, std::size_t bytes, const PayloadHandler& handler,
                        const std::stop_token& stop) {
  const auto make_item = [bytes](std::uint64_t) { return StringItem{std::string(bytes, kFiller)}; };
  return run<StringItem>(plan, make_item, make_buffer_for<StringItem>(handler), stop);
}

template <std::size_t... kIndices>
Measurement run_plain_of(std::size_t bytes, const RunPlan& plan, const PayloadHandler& handler,
                         const std::stop_token& stop, std::index_sequence<kIndices...>) {
  Measurement measurement;
  // Exactly one of them is it: Payload::validate() has seen to that.
  static_cast<void>(
      ((kPlainBytes[kIndices] == bytes &&
        (measurement = run_plain<kPlainBytes[kIndices]>(plan, handler, stop), true)) ||
       ...));
  return measurement;
}

Measurement run_payload(const Payload& payload, const RunPlan& plan, const PayloadHandler& handler,
                        const std::stop_token& stop) {
  payload.validate();
  if (payload.kind == Payload::Kind::kString) {
    return run_strings(plan, payload.bytes, handler, stop);
  }
  return run_plain_of(payload.bytes, plan, handler, stop,
                      std::make_index_sequence<kPlainBytes.size()>{});
}

}  // namespace

PayloadHandler handler_of(SimulatedSink& sink) {
  return
      [&sink](const PayloadBatch& batch) { return sink.handle(batch.size(), batch.stop_token()); };
}

Measurement run_trial(const Trial& trial, const PayloadHandler& handler,
                      const std::stop_token& stop) {
  return run_payload(trial.payload, RunPlan{trial.workload, trial.options, trial.measured}, handler,
                     stop);
}

Measure make_measure(Trial trial, PayloadHandler handler, std::stop_token stop) {
  trial.payload.validate();
  trial.workload.validate();
  return [trial = std::move(trial), handler = std::move(handler), stop = std::move(stop)](
             const Candidate& candidate, Duration duration) {
    const RunPlan plan =
        plan_for(trial.workload, with_candidate(trial.options, candidate), duration);
    return run_payload(trial.payload, plan, handler, stop);
  };
}

Options with_candidate(Options options, const Candidate& candidate) {
  options.partitions = candidate.partitions;
  options.max_size = candidate.max_size;
  options.capacity = candidate.capacity;
  options.wait_strategy = candidate.wait;
  return options;
}

RunPlan plan_for(Workload workload, Options options, Duration duration) {
  constexpr int kParts = 5;
  workload.warm_up = std::min(workload.warm_up, duration / kParts);
  const Duration measured = duration - workload.warm_up;
  return {workload, std::move(options), measured};
}

std::function<Duration(const Candidate& candidate)> run_of_several_flushes(const Workload& workload,
                                                                           const Options& base) {
  constexpr double kFlushes = 3;
  constexpr double kWarmUp = 1.25;
  constexpr double kRounding = 1e-6;  // so that 750.0000000001 ms are 750
  return [rate = workload.rate, batch = static_cast<double>(workload.batch),
          largest_jitter = static_cast<double>(base.max_size_jitter),
          interval = seconds_of(base.flush_interval) +
                     seconds_of(base.flush_jitter)](const Candidate& candidate) {
    if (rate <= 0) return Duration::zero();
    const auto partitions = static_cast<double>(candidate.partitions);
    const double filled =
        (static_cast<double>(candidate.max_size) + largest_jitter) * partitions / rate;
    const double next_item = batch * partitions / rate;
    const double period = std::max(next_item, std::min(filled, interval + next_item));
    const double seconds = period * kFlushes * kWarmUp;
    return saturate(
        std::chrono::duration<double, std::milli>(std::ceil(seconds * 1000 - kRounding)));
  };
}

}  // namespace databuffer::tuning
