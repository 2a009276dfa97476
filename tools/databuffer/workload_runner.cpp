#include "tools/databuffer/workload_runner.hpp"

#include <utility>

#include "tools/databuffer/scratch_sink.hpp"
#include "tools/databuffer/sink_writer.hpp"

namespace databuffer::tools {

namespace {

bool is_real(const WorkloadSettings& settings) {
  return settings.sink.has_value() && settings.sink->kind != SinkSpec::Kind::kNull;
}

}  // namespace

// --sink null is the simulated one that does nothing: no copy is made for it.
WorkloadRunner::WorkloadRunner(const WorkloadSettings& settings, RunControl& control)
    : settings_(settings), control_(control) {
  if (is_real(settings_)) {
    writer_ = std::make_unique<SinkWriter>(open(), control_);
    handler_ = [this](const tuning::PayloadBatch& batch) { return writer_->write(batch); };
    return;
  }
  simulated_ = std::make_unique<tuning::SimulatedSink>(settings_.handler);
  handler_ = tuning::handler_of(*simulated_);
}

WorkloadRunner::~WorkloadRunner() = default;

std::unique_ptr<Sink> WorkloadRunner::open() {
  if (!settings_.has_scratch || !needs_scratch(*settings_.sink)) {
    return open_sink(*settings_.sink, settings_.sink_settings, control_);
  }
  auto scratch = std::make_unique<ScratchSink>(*settings_.sink, settings_.sink_settings, control_);
  scratch_ = scratch.get();
  return scratch;
}

tuning::Measurement WorkloadRunner::run(const Options& options, Duration measured) {
  const tuning::Trial trial{settings_.workload, settings_.payload, options, measured};
  tuning::Measurement measurement = tuning::run_trial(trial, handler_, control_.stopping());
  if (writer_ != nullptr) writer_->check();
  return measurement;
}

tuning::Measure WorkloadRunner::measure(Options base) {
  const tuning::Trial trial{settings_.workload, settings_.payload, std::move(base)};
  return [this, measure = tuning::make_measure(trial, handler_, control_.stopping())](
             const tuning::Candidate& candidate, Duration duration) {
    if (scratch_ != nullptr) scratch_->restart();  // between runs nobody writes
    tuning::Measurement measurement = measure(candidate, duration);
    if (writer_ != nullptr) writer_->check();
    return measurement;
  };
}

void WorkloadRunner::finish() {
  if (writer_ != nullptr) writer_->finish();
}

}  // namespace databuffer::tools
