#include "tools/databuffer/workload_text.hpp"

#include "tools/databuffer/quantities.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tools {

namespace {

std::string percent(double share) { return tuning::fixed_text(share * 100, 1) + " %"; }

}  // namespace

std::string payload_text(const tuning::Payload& payload) {
  const bool is_string = payload.kind == tuning::Payload::Kind::kString;
  return (is_string ? "string:" : "") + std::to_string(payload.bytes);
}

std::string sink_text(const SinkSpec& sink) {
  switch (sink.kind) {
    case SinkSpec::Kind::kSqlite:
      return "sqlite:" + sink.path;
    case SinkSpec::Kind::kFile:
      return "file:" + sink.path;
    case SinkSpec::Kind::kStdout:
      return "stdout";
    case SinkSpec::Kind::kNull:
      break;
  }
  return "null";
}

std::string inserts_text(const WorkloadSettings& settings) {
  return tuning::workload_text(settings.workload, payload_text(settings.payload) + " bytes");
}

std::string handler_text(const WorkloadSettings& settings) {
  if (settings.sink.has_value()) return "sink " + sink_text(*settings.sink);
  const tuning::SimulatedSinkSettings& handler = settings.handler;
  std::string text = "handler ";
  if (handler.fixed == Duration::zero() && handler.per_item == Duration::zero()) {
    text += "does nothing";
  } else {
    text += handler.burns_cpu ? "computes " : "waits ";
    text += format_duration(handler.fixed) + " + " + format_duration(handler.per_item) + "/item";
    if (handler.jitter > 0) text += " +- " + percent(handler.jitter);
  }
  if (handler.failing_share > 0) text += ", fails " + percent(handler.failing_share);
  if (handler.retrying_share > 0) {
    text += ", asks for a retry " + percent(handler.retrying_share);
  }
  return text;
}

}  // namespace databuffer::tools
