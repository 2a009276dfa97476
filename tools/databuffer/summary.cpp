#include "tools/databuffer/summary.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/databuffer/signals.hpp"

namespace databuffer::tools {

namespace {

constexpr int kExitOfSignal = 128;  // the shell's convention
constexpr std::size_t kMaxSourcesNamed = 20;

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string lines_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " line" : " lines");
}

// Why lines were refused: " (full 3, closed 1)"; "" for no reason known.
std::string reasons_text(const Summary& summary) {
  std::string text;
  const auto add = [&text](const char* reason, std::uint64_t count) {
    if (count == 0) return;
    text += (text.empty() ? " (" : ", ") + std::string(reason) + " " + std::to_string(count);
  };
  add("full", summary.refused_full);
  add("timed out", summary.refused_timed_out);
  add("closed", summary.refused_closed);
  add("no memory", summary.refused_no_memory);
  return text.empty() ? text : text + ")";
}

std::string stored_text(const SourceSummary& source) {
  std::string text = source.name + ": ";
  text += source.stored_up_to == 0 ? "nothing is stored"
                                   : "stored up to line " + std::to_string(source.stored_up_to);
  text += ", read up to line " + std::to_string(source.lines);
  return source.is_complete ? text + ", its last" : text;
}

}  // namespace

double Summary::mean_batch() const noexcept {
  return batches == 0 ? 0.0 : static_cast<double>(flushed + failed) / static_cast<double>(batches);
}

double Summary::rows_per_second() const noexcept {
  return seconds > 0.0 ? static_cast<double>(flushed) / seconds : 0.0;
}

std::uint64_t Summary::lost() const noexcept { return failed + dropped + not_accepted; }

bool Summary::is_cut_short() const noexcept {
  return signal != 0 || !errors.empty() || failed != 0;
}

int Summary::exit_code() const noexcept {
  if (is_aborted) return kExitOfSignal + signal;
  if (!errors.empty() || lost() != 0) return 1;
  return signal == 0 ? 0 : kExitOfSignal + signal;
}

std::string to_json(const Summary& summary) {
  nlohmann::ordered_json json;
  json["lines"] = summary.lines;
  json["accepted"] = summary.accepted;
  json["flushed"] = summary.flushed;
  json["failed"] = summary.failed;
  json["dropped"] = summary.dropped;
  json["batches"] = summary.batches;
  json["mean_batch"] = summary.mean_batch();
  json["seconds"] = summary.seconds;
  json["rows_per_s"] = summary.rows_per_second();
  json["not_accepted"] = summary.not_accepted;
  json["refused_full"] = summary.refused_full;
  json["refused_timed_out"] = summary.refused_timed_out;
  json["refused_closed"] = summary.refused_closed;
  json["refused_no_memory"] = summary.refused_no_memory;
  json["uncertain"] = summary.uncertain;
  json["signal"] = summary.signal == 0 ? nlohmann::ordered_json(nullptr)
                                       : nlohmann::ordered_json(signal_name(summary.signal));
  json["exit_code"] = summary.exit_code();
  json["errors"] = summary.errors;
  json["sources"] = nlohmann::ordered_json::array();
  for (const SourceSummary& source : summary.sources) {
    json["sources"].push_back({{"source", source.name},
                               {"lines", source.lines},
                               {"stored_up_to", source.stored_up_to},
                               {"complete", source.is_complete},
                               {"error", source.error}});
  }
  // File names may be any bytes, JSON may not.
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kReplace) + "\n";
}

std::string to_text(const Summary& summary) {
  std::string text = "lines      " + std::to_string(summary.lines) + "\n";
  if (summary.not_accepted != 0) {
    text += "refused    " + std::to_string(summary.not_accepted) + reasons_text(summary) + "\n";
  }
  text += "accepted   " + std::to_string(summary.accepted) + "\n";
  text += "flushed    " + std::to_string(summary.flushed) + "\n";
  text += "failed     " + std::to_string(summary.failed) + "\n";
  text += "dropped    " + std::to_string(summary.dropped) + "\n";
  text += "batches    " + std::to_string(summary.batches) + ", " + fixed(summary.mean_batch(), 1) +
          " lines each\n";
  text += "time       " + fixed(summary.seconds, 3) + " s, " + fixed(summary.rows_per_second(), 0) +
          " rows/s\n";
  return text;
}

std::vector<std::string> losses(const Summary& summary) {
  std::vector<std::string> messages;
  if (summary.lines == 0) return messages;  // why, has been said
  const std::uint64_t not_stored = summary.failed + summary.dropped;
  if (summary.lost() != 0) {
    std::string text = lines_text(summary.flushed) + " stored; lost: " + lines_text(not_stored) +
                       " accepted and not stored (failed " + std::to_string(summary.failed) +
                       ", dropped " + std::to_string(summary.dropped) + "), " +
                       lines_text(summary.not_accepted) + " read and not accepted";
    if (summary.uncertain != 0) {
      text += "; " + std::to_string(summary.uncertain) +
              " of the failed were being written when we stopped waiting, and may be stored";
    }
    messages.push_back(text);
  }
  std::size_t named = 0;
  std::size_t unnamed = 0;
  for (const SourceSummary& source : summary.sources) {
    if (!summary.is_cut_short() || (source.is_complete && source.stored_up_to == source.lines))
      continue;
    if (source.lines == 0 && !source.error.empty()) continue;  // its error has said it all
    if (named++ < kMaxSourcesNamed)
      messages.push_back(stored_text(source));
    else
      ++unnamed;
  }
  if (unnamed != 0) messages.push_back(std::to_string(unnamed) + " more inputs: see --json");
  return messages;
}

}  // namespace databuffer::tools
