#include "tools/tuning/export.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/tuning/recommendation.hpp"
#include "tools/tuning/table.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const Candidate& candidate) {
  return {{"partitions", candidate.partitions},
          {"max_size", candidate.max_size},
          {"capacity", candidate.capacity},
          {"wait", to_string(candidate.wait)}};
}

Json json_of(const Percentiles& percentiles) {
  return {{"p50", percentiles.p50},
          {"p99", percentiles.p99},
          {"p999", percentiles.p999},
          {"max", percentiles.max}};
}

Json json_of(const Interval& interval) {
  return {{"low", number(interval.low)},
          {"median", number(interval.median)},
          {"high", number(interval.high)},
          {"is_range", interval.is_range}};
}

Json json_of(const Measurement& measured) {
  return {{"seconds", measured.seconds},
          {"inserted", measured.inserted},
          {"flushed", measured.flushed},
          {"failed", measured.failed},
          {"dropped", measured.dropped},
          {"items_per_s", number(measured.items_per_s)},
          {"insert_latency_s", json_of(measured.insert_latency)},
          {"age_s", json_of(measured.age)},
          {"batches", measured.batches},
          {"mean_batch", number(measured.mean_batch)},
          {"blocked_s", measured.blocked_seconds},
          {"handler_s", measured.handler_seconds},
          {"cpu_s", measured.cpu_seconds},
          {"wake_ups", measured.wake_ups},
          {"peak_bytes", measured.peak_bytes}};
}

Json json_of(const Comparison& comparison) {
  if (comparison.rounds == 0) return nullptr;
  return {{"rounds", comparison.rounds},
          {"won", comparison.won},
          {"ratio", json_of(comparison.ratio)},
          {"chance", comparison.chance},
          {"is_clear", comparison.is_clear()}};
}

Json json_of(const Entry& entry, bool is_recommended) {
  const bool is_measured = entry.runs > 0;
  return {{"candidate", json_of(entry.candidate)},
          {"is_default", entry.is_default},
          {"is_recommended", is_recommended},
          {"fate", to_string(entry.fate)},
          {"rounds", entry.rounds_run > 0 ? Json(entry.rounds_run) : Json(nullptr)},
          {"runs", entry.runs},
          {"score", is_measured ? json_of(entry.score) : Json(nullptr)},
          {"items_per_s", is_measured ? json_of(entry.throughput) : Json(nullptr)},
          {"excess", is_measured ? number(entry.excess) : Json(nullptr)},
          {"measured", is_measured ? json_of(entry.measured) : Json(nullptr)}};
}

// As short as it can be and still be read back as the same number.
std::string exact(double value) {
  if (!std::isfinite(value)) return {};
  return Json(value).dump();
}

}  // namespace

std::string to_json(const Findings& findings) {
  const SearchResult& result = findings.result;
  const Diagnosis diagnosis = findings.diagnosis();
  Json json;
  json["workload"] = findings.workload;
  json["objective"] = {{"goal", to_string(findings.objective.goal)},
                       {"max_p99_s", number(findings.objective.max_p99)},
                       {"max_memory_bytes", number(findings.objective.max_memory)}};
  json["cores"] = findings.circumstances.cores;
  json["budget_s"] = seconds_of(findings.budget);
  json["elapsed_s"] = seconds_of(result.elapsed);
  json["seed"] = findings.seed;
  json["runs"] = result.runs;
  json["run_s"] = seconds_of(result.run_length);
  json["final_run_s"] = seconds_of(result.final_run_length);
  json["is_stopped"] = result.is_stopped;
  json["is_within_limits"] = result.is_within_limits;
  json["not_run"] = result.not_run;
  json["left_out"] = findings.left_out;
  json["recommended"] = json_of(result.winner().candidate);
  json["flags"] = flags_text(findings.base, result.winner().candidate);
  json["cpp"] = cpp_text(findings.base, result.winner().candidate);
  json["winner_measured"] = json_of(result.winner_measured);
  json["is_default_recommended"] = result.is_winner_default();
  json["default_measured"] = json_of(result.default_measured);
  json["over_default"] = json_of(result.over_default);
  json["over_runner_up"] = json_of(result.over_runner_up);
  json["runner_up"] = result.runner_up.has_value()
                          ? json_of(result.entries[*result.runner_up].candidate)
                          : Json(nullptr);
  json["limit"] = {{"what", to_string(diagnosis.limit)},
                   {"blocked_share", number(diagnosis.blocked_share)},
                   {"handler_share", number(diagnosis.handler_share)},
                   {"cpu_share", number(diagnosis.cpu_share)},
                   {"dropped_share", number(diagnosis.dropped_share)},
                   {"why", diagnosis.why}};
  json["warnings"] = warnings(findings);
  json["candidates"] = Json::array();
  for (const Entry& entry : result.entries) {
    json["candidates"].push_back(json_of(entry, &entry == &result.winner()));
  }
  // A sink's path may be any bytes, JSON may not.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_csv(const SearchResult& result) {
  constexpr std::size_t kFirstFigure = 8;  // behind "runs"
  std::string text =
      "partitions,max_size,capacity,wait,is_default,is_recommended,fate,runs,score,score_low,score_"
      "high,"
      "items_per_s,items_per_s_low,items_per_s_high,insert_p50_s,insert_p99_s,age_p50_s,age_p99_s,"
      "mean_batch,blocked_s,handler_s,cpu_s,wake_ups,peak_bytes,excess\n";
  for (const Entry& entry : result.entries) {
    const Measurement& measured = entry.measured;
    const std::vector<std::string> fields{std::to_string(entry.candidate.partitions),
                                          std::to_string(entry.candidate.max_size),
                                          std::to_string(entry.candidate.capacity),
                                          std::string(to_string(entry.candidate.wait)),
                                          entry.is_default ? "1" : "0",
                                          &entry == &result.winner() ? "1" : "0",
                                          std::string(to_string(entry.fate)),
                                          std::to_string(entry.runs),
                                          exact(entry.score.median),
                                          exact(entry.score.low),
                                          exact(entry.score.high),
                                          exact(entry.throughput.median),
                                          exact(entry.throughput.low),
                                          exact(entry.throughput.high),
                                          exact(measured.insert_latency.p50),
                                          exact(measured.insert_latency.p99),
                                          exact(measured.age.p50),
                                          exact(measured.age.p99),
                                          exact(measured.mean_batch),
                                          exact(measured.blocked_seconds),
                                          exact(measured.handler_seconds),
                                          exact(measured.cpu_seconds),
                                          std::to_string(measured.wake_ups),
                                          std::to_string(measured.peak_bytes),
                                          exact(entry.excess)};
    for (std::size_t field = 0; field < fields.size(); ++field) {
      const bool has_value = entry.runs > 0 || field < kFirstFigure;
      text += (field == 0 ? "" : ",") + (has_value ? fields[field] : std::string());
    }
    text += '\n';
  }
  return text;
}

}  // namespace databuffer::tuning
