#include "tools/databuffer/bench_report.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/databuffer/signals.hpp"
#include "tools/databuffer/workload_text.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tools {

namespace {

using Json = nlohmann::ordered_json;
using tuning::bytes_text;
using tuning::count_text;
using tuning::fixed_text;
using tuning::seconds_of;
using tuning::seconds_text;
using Fields = std::vector<std::pair<std::string, Json>>;

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string share_text(double part, double whole) {
  constexpr double kPercent = 100;
  return whole > 0 ? fixed_text(part / whole * kPercent, 1) + " %" : "-";
}

double flush_share(std::uint64_t part, const tuning::Measurement& measured) {
  return measured.batches == 0 ? 0
                               : static_cast<double>(part) / static_cast<double>(measured.batches);
}

void add(Fields& fields, const std::string& prefix, const tuning::Percentiles& values) {
  fields.emplace_back(prefix + "_p50_s", values.p50);
  fields.emplace_back(prefix + "_p99_s", values.p99);
  fields.emplace_back(prefix + "_p999_s", values.p999);
  fields.emplace_back(prefix + "_max_s", values.max);
}

void add_configuration(Fields& fields, const BenchSettings& settings) {
  const WorkloadSettings& workload = settings.workload;
  const Options& options = settings.buffer;
  fields.emplace_back("producers", workload.workload.producers);
  fields.emplace_back("payload", payload_text(workload.payload));
  fields.emplace_back("batch", workload.workload.batch);
  fields.emplace_back("rate", workload.workload.rate);
  if (workload.sink.has_value()) {
    fields.emplace_back("sink", sink_text(*workload.sink));
  } else {
    fields.emplace_back("sink", nullptr);
  }
  fields.emplace_back("handler_fixed_s", seconds_of(workload.handler.fixed));
  fields.emplace_back("handler_per_item_s", seconds_of(workload.handler.per_item));
  fields.emplace_back("handler_jitter", workload.handler.jitter);
  fields.emplace_back("handler_burns_cpu", workload.handler.burns_cpu);
  fields.emplace_back("handler_failing_share", workload.handler.failing_share);
  fields.emplace_back("handler_retrying_share", workload.handler.retrying_share);
  fields.emplace_back("partitions", options.partitions);
  fields.emplace_back("max_size", options.max_size);
  fields.emplace_back("max_size_jitter", options.max_size_jitter);
  fields.emplace_back("capacity", options.effective_capacity());
  fields.emplace_back("flush_interval_s", seconds_of(options.flush_interval));
  fields.emplace_back("retry_attempts", options.retry.attempts);
  fields.emplace_back("overflow", to_string(options.overflow));
  fields.emplace_back("wait_strategy", to_string(options.wait_strategy));
}

void add_measurement(Fields& fields, const tuning::Measurement& measured) {
  fields.emplace_back("seconds", measured.seconds);
  fields.emplace_back("items_per_s", measured.items_per_s);
  fields.emplace_back("inserted", measured.inserted);
  fields.emplace_back("flushed", measured.flushed);
  fields.emplace_back("failed", measured.failed);
  fields.emplace_back("dropped", measured.dropped);
  fields.emplace_back("refused", measured.refused);
  fields.emplace_back("backlog", measured.backlog);
  fields.emplace_back("overdue", measured.overdue);
  add(fields, "insert_latency", measured.insert_latency);
  fields.emplace_back("insert_latency_step_s", measured.latency_step);
  add(fields, "wake_lateness", measured.wake_lateness);
  add(fields, "age", measured.age);
  fields.emplace_back("batches", measured.batches);
  fields.emplace_back("mean_batch", measured.mean_batch);
  fields.emplace_back("size_flushes", measured.size_flushes);
  fields.emplace_back("interval_flushes", measured.interval_flushes);
  fields.emplace_back("other_flushes", measured.other_flushes);
  fields.emplace_back("blocked_s", measured.blocked_seconds);
  fields.emplace_back("handler_s", measured.handler_seconds);
  fields.emplace_back("cpu_s", measured.cpu_seconds);
  fields.emplace_back("wake_ups", measured.wake_ups);
  fields.emplace_back("peak_bytes", measured.peak_bytes);
}

Fields fields_of(const BenchResult& result) {
  Fields fields;
  add_configuration(fields, result.settings);
  add_measurement(fields, result.measurement);
  fields.emplace_back("cut_short", result.measurement.is_cut_short);
  fields.emplace_back("signal",
                      result.signal == 0 ? Json(nullptr) : Json(signal_name(result.signal)));
  return fields;
}

// File names may be any bytes, JSON may not.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return dump(value, -1);
  auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

// `step`: what the clock cannot tell from none.
std::string percentiles_text(const tuning::Percentiles& values, bool has_tail, double step = 0) {
  const auto text_of = [step](double seconds) {
    return seconds < step ? "< " + seconds_text(step) : seconds_text(seconds);
  };
  std::string text = "p50 " + text_of(values.p50) + ", p99 " + text_of(values.p99);
  if (has_tail) text += ", p99.9 " + text_of(values.p999) + ", max " + text_of(values.max);
  return text;
}

std::string line(std::string_view name, const std::string& text) {
  constexpr std::size_t kColumn = 16;
  std::string padded(name);
  padded.resize(kColumn, ' ');
  return padded + text + "\n";
}

std::string configuration_text(const BenchSettings& settings) {
  const Options& options = settings.buffer;
  std::string buffer = std::to_string(options.partitions) +
                       (options.partitions == 1 ? " partition" : " partitions") + ", max_size " +
                       std::to_string(options.max_size) + ", capacity " +
                       std::to_string(options.effective_capacity()) + ", wait " +
                       std::string(to_string(options.wait_strategy)) + ", when full " +
                       std::string(to_string(options.overflow));
  return line("workload", inserts_text(settings.workload)) +
         line("", handler_text(settings.workload)) + line("buffer", buffer);
}

std::string items_text(const tuning::Measurement& measured) {
  std::string text = grouped(measured.inserted) + " inserted, " + grouped(measured.flushed) +
                     " flushed, " + grouped(measured.failed) + " failed, " +
                     grouped(measured.dropped) + " dropped";
  if (measured.refused > 0) text += " (" + grouped(measured.refused) + " of them refused)";
  if (measured.overdue > 0) text += ", " + grouped(measured.overdue) + " due but not offered";
  return text;
}

std::string batches_text(const tuning::Measurement& measured) {
  return grouped(measured.batches) + " of " + fixed_text(measured.mean_batch, 1) +
         " items: " + share_text(flush_share(measured.size_flushes, measured), 1) + " by size, " +
         share_text(flush_share(measured.interval_flushes, measured), 1) + " by interval, " +
         share_text(flush_share(measured.other_flushes, measured), 1) + " otherwise";
}

}  // namespace

std::string to_json(const BenchResult& result) {
  Json json = Json::object();
  for (const auto& [name, value] : fields_of(result)) json[name] = value;
  return dump(json, 2) + "\n";
}

std::string to_csv(const BenchResult& result) {
  std::string header;
  std::string values;
  for (const auto& [name, value] : fields_of(result)) {
    if (!header.empty()) {
      header += ',';
      values += ',';
    }
    header += name;
    values += csv_cell(value);
  }
  return header + "\n" + values + "\n";
}

std::string to_text(const BenchResult& result) {
  const tuning::Measurement& measured = result.measurement;
  const BenchSettings& settings = result.settings;
  const double producer_seconds =
      measured.seconds * static_cast<double>(settings.workload.workload.producers);
  const double consumer_seconds =
      measured.seconds * static_cast<double>(settings.buffer.partitions);
  std::string text = configuration_text(settings);
  text += line("measured", fixed_text(measured.seconds, 3) + " s" +
                               (measured.is_cut_short ? ", ended early" : ""));
  text += line("throughput", count_text(measured.items_per_s) + " items/s");
  text += line("items", items_text(measured));
  text += line("insert latency",
               percentiles_text(measured.insert_latency, true, measured.latency_step));
  if (settings.workload.workload.rate > 0) {
    text += line("  woken late", percentiles_text(measured.wake_lateness, true));
  }
  text += line("age", percentiles_text(measured.age, false));
  text += line("batches", batches_text(measured));
  text += line("blocked", seconds_text(measured.blocked_seconds) + ", " +
                              share_text(measured.blocked_seconds, producer_seconds) +
                              " of the producers' time");
  text += line("handler", seconds_text(measured.handler_seconds) + ", " +
                              share_text(measured.handler_seconds, consumer_seconds) +
                              " of the consumers' time");
  text += line(
      "CPU",
      seconds_text(measured.cpu_seconds) + ", " +
          (measured.seconds > 0 ? fixed_text(measured.cpu_seconds / measured.seconds, 2) : "-") +
          " cores");
  text += line("wake-ups", grouped(measured.wake_ups));
  text += line("peak memory", bytes_text(static_cast<double>(measured.peak_bytes)));
  return text;
}

}  // namespace databuffer::tools
