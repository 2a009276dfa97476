#include "tools/tuning/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tools/tuning/recommendation.hpp"
#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

constexpr std::size_t kBarWidth = 20;

using Row = std::vector<std::string>;

// Characters, not bytes: the dots between limits are one.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
  }));
}

std::string bar(double score) {
  const double share = std::clamp(std::isfinite(score) ? score : 0.0, 0.0, 1.0);
  return std::string(static_cast<std::size_t>(std::lround(share * kBarWidth)), '#');
}

Row row_of(const SearchResult& result, std::size_t index) {
  const Entry& entry = result.entries[index];
  Row row{std::to_string(entry.candidate.partitions), std::to_string(entry.candidate.max_size),
          std::to_string(entry.candidate.capacity), std::string(to_string(entry.candidate.wait))};
  const Row figures{count_text(entry.measured.items_per_s) + "/s",
                    seconds_text(entry.measured.age.p99),
                    bytes_text(static_cast<double>(entry.measured.peak_bytes)),
                    std::to_string(entry.runs),
                    ratio_text(entry.score),
                    bar(entry.score.median)};
  for (const std::string& figure : figures) row.push_back(entry.runs > 0 ? figure : "-");
  row.push_back(note_text(result, index));
  return row;
}

// Numbers to the right, words to the left.
std::string aligned(const std::vector<Row>& rows) {
  constexpr std::array kIsLeft{false, false, false, true, false, false,
                               false, false, true,  true, true};
  std::array<std::size_t, kIsLeft.size()> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string room(widths[column] - width_of(row[column]), ' ');
      if (column > 0) line += "  ";
      line += kIsLeft[column] ? row[column] + room : room + row[column];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string indented(const std::string& text) {
  std::string result;
  bool is_at_start = true;
  for (const char character : text) {
    if (is_at_start && character != '\n') result += "    ";
    result += character;
    is_at_start = character == '\n';
  }
  return result;
}

// Where the defaults may have been kept only because there was little time to compare.
std::string too_few_rounds_text(const SearchResult& result) {
  const std::size_t rounds = result.over_runner_up.rounds;
  const bool is_conclusive =
      !result.is_winner_default() || !result.runner_up.has_value() || rounds >= Final::kLeastRounds;
  if (is_conclusive || result.is_stopped) return {};
  return "The budget is too small to say whether anything is better than the defaults: it left " +
         std::to_string(rounds) + " rounds side by side, and " +
         std::to_string(Final::kLeastRounds) +
         " are needed. Give a larger one, or fewer candidates.";
}

// What is wrong with a candidate whose excess is above 1.
std::string excess_text(const Entry& entry) {
  return entry.measured.flushed == 0 ? "nothing flushed" : "over the limits";
}

}  // namespace

std::string note_text(const SearchResult& result, std::size_t entry) {
  const Entry& of = result.entries[entry];
  std::string note;
  if (entry == 0) {
    note = "winner";
  } else if (result.runner_up == entry) {
    note = "runner-up";
  } else if (of.fate == Fate::kBehind) {
    note = "behind, round " + std::to_string(of.rounds_run);
  } else if (of.fate == Fate::kOverLimit) {
    note = excess_text(of) + ", round " + std::to_string(of.rounds_run);
  } else if (of.fate == Fate::kUnmeasured) {
    note = "not measurable in this budget";
  }
  if (of.is_default) note += note.empty() ? "default" : ", default";
  if (of.excess > 1 && of.fate != Fate::kOverLimit) {
    note += (note.empty() ? "" : ", ");
    note += excess_text(of);
  }
  return note;
}

std::string table_text(const SearchResult& result) {
  std::vector<Row> rows{{"partitions", "max_size", "capacity", "wait", "items", "age p99", "memory",
                         "runs", "score", "", ""}};
  for (std::size_t index = 0; index < result.entries.size(); ++index) {
    rows.push_back(row_of(result, index));
  }
  return aligned(rows);
}

std::vector<std::string> warnings(const Findings& findings) {
  const SearchResult& result = findings.result;
  std::vector<std::string> warnings;
  if (result.is_stopped)
    warnings.emplace_back("Stopped before its end: this is what was found so far.");
  const bool is_nearest = result.winner().excess > 1;  // else one that is within them would win
  if (is_nearest && result.winner().measured.flushed == 0) {
    warnings.emplace_back(
        "Nothing was flushed by any candidate: runs are too short for this sink, or every batch "
        "fails.");
  } else if (is_nearest) {
    warnings.emplace_back(
        "No candidate keeps within the limits asked for: the winner is the nearest to them.");
  } else if (!result.is_within_limits) {
    warnings.emplace_back(
        "The winner kept within the limits asked for in the race, but in most of all its runs it "
        "is over them: it is on their edge.");
  }
  if (const std::string few = too_few_rounds_text(result); !few.empty()) warnings.push_back(few);
  const auto unmeasured =
      std::count_if(result.entries.begin(), result.entries.end(),
                    [](const Entry& entry) { return entry.fate == Fate::kUnmeasured; });
  if (unmeasured > 0) {
    warnings.push_back(
        "Not measurable in this budget: " + std::to_string(unmeasured) +
        " of the candidates. They flush too seldom for runs as short as it allows. A larger "
        "budget, fewer candidates or a shorter flush_interval helps.");
  }
  if (result.not_run > 0) {
    warnings.push_back("There was no time for " + std::to_string(result.not_run) +
                       " of the candidates: give it a larger budget, or fewer candidates.");
  }
  if (findings.left_out > 0) {
    warnings.push_back(std::to_string(findings.left_out) +
                       " combinations were left out: their capacity would be below their "
                       "largest batch.");
  }
  return warnings;
}

std::string findings_text(const Findings& findings) {
  const SearchResult& result = findings.result;
  const Diagnosis diagnosis = findings.diagnosis();
  std::string text = table_text(result);
  text +=
      "\nscore: " + std::string(to_string(findings.objective.goal)) +
      ", by the winner's, round by round, with [its 95 % interval] or, where it ran too seldom for "
      "one, (its range)\n" +
      std::to_string(result.runs) + " runs of " + seconds_text(result.run_length) +
      (result.final_run_length > Duration::zero()
           ? ", at the end of " + seconds_text(result.final_run_length)
           : std::string()) +
      ", " + seconds_text(result.elapsed) + " in all\n";
  for (const std::string& warning : warnings(findings)) text += "\n" + warning + "\n";
  text += "\n" + title_text(result) + "\n";
  text += "  " + win_text(result) + "\n";
  if (const std::string other = runner_up_text(result); !other.empty()) text += "  " + other + "\n";
  text +=
      "  What limits now: " + std::string(to_string(diagnosis.limit)) + ". " + diagnosis.why + "\n";
  text += "\nC++:\n" + indented(cpp_text(findings.base, result.winner().candidate));
  text += "\nFlags:\n    " + flags_text(findings.base, result.winner().candidate) + "\n";
  return text;
}

}  // namespace databuffer::tuning
