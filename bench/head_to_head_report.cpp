#include "bench/head_to_head_report.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/statistics.hpp"

namespace databuffer::bench {

namespace {

constexpr const char* kSubject = "databuffer";

template <class... Values>
std::string print(const char* format, Values... values) {
  const int size = std::snprintf(nullptr, 0, format, values...);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, format, values...);
  return text;
}

std::string contender_of(const Row& row) { return row.contender; }

std::string case_of(const Row& row) {
  return row.shape + '/' + row.item + '/' + std::to_string(row.batch);
}

std::vector<std::string> distinct(const std::vector<Row>& rows, auto name_of) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (std::find(names.begin(), names.end(), name_of(row)) == names.end()) {
      names.push_back(name_of(row));
    }
  }
  return names;
}

const Row* find(const std::vector<Row>& rows, const std::string& case_name,
                const std::string& contender) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return case_of(row) == case_name && row.contender == contender;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// A panel of the plot: the shapes of one kind of item and one kind of call, or the batch sizes of
/// one kind of item.
std::string panel_of(const Row& row) {
  return row.item + (row.batch == 1 ? ", single inserts" : ", batches");
}

std::string label_of(const Row& row) {
  return row.batch == 1 ? row.shape : row.shape + " of " + std::to_string(row.batch);
}

/// gnuplot reads `_` as "lower the next letter".
std::string escape(std::string text) {
  for (std::size_t at = 0; (at = text.find('_', at)) != std::string::npos; at += 3) {
    text.replace(at, 1, "\\\\_");
  }
  return text;
}

// A contender that is in none of the panel's cases would be an error to gnuplot. Its colour is its
// place among all, so that it is the same in every panel.
void append_panel(std::ostringstream& script, const std::vector<Row>& rows, std::size_t index,
                  const std::vector<std::string>& all_contenders) {
  const std::string data = "$panel" + std::to_string(index);
  const std::vector<std::string> contenders = distinct(rows, contender_of);
  script << data << " << EOD\n";
  for (const std::string& case_name : distinct(rows, case_of)) {
    const auto any = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return case_of(row) == case_name; });
    script << '"' << label_of(*any) << '"';
    for (const std::string& contender : contenders) {
      const Row* const row = find(rows, case_name, contender);
      script << ' ' << (row == nullptr ? "NaN" : std::to_string(row->mitems_per_s()));
    }
    script << '\n';
  }
  script << "EOD\nset title \"" << panel_of(rows.front()) << "\"\nplot ";
  for (std::size_t column = 0; column < contenders.size(); ++column) {
    const auto place = std::find(all_contenders.begin(), all_contenders.end(), contenders[column]);
    script << (column == 0 ? "" : ", ") << data << " using " << column + 2 << ":xtic(1) title \""
           << escape(contenders[column]) << "\" lt " << place - all_contenders.begin() + 1;
  }
  script << '\n';
}

}  // namespace

double Row::mitems_per_s() const { return median(rounds); }

double ratio(const Row& row, const Row& other) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(row.rounds.size(), other.rounds.size()); ++round) {
    ratios.push_back(row.rounds[round] / other.rounds[round]);
  }
  return median(std::move(ratios));
}

std::string format_table(const std::vector<Row>& rows) {
  std::vector<std::string> others = distinct(rows, contender_of);
  std::erase(others, kSubject);

  std::string table = print("%-7s %-9s %5s | %10s %6s", "shape", "item", "batch", kSubject, "mean");
  for (const std::string& other : others) table += print(" | %-14s", other.c_str());
  table += print("\n%-7s %-9s %5s | %10s %6s", "", "", "", "M items/s", "batch");
  for (std::size_t index = 0; index < others.size(); ++index) {
    table += print(" | %8s %5s", "M/s", "ratio");
  }
  table += '\n';
  bool has_crowded = false;
  for (const std::string& case_name : distinct(rows, case_of)) {
    const Row* const subject = find(rows, case_name, kSubject);
    if (subject == nullptr) continue;
    has_crowded = has_crowded || subject->is_crowded;
    table +=
        print("%-7s %-9s %5zu | %10.1f %6.0f",
              (subject->shape + (subject->is_crowded ? "*" : "")).c_str(), subject->item.c_str(),
              subject->batch, subject->mitems_per_s(), subject->mean_batch);
    for (const std::string& other : others) {
      const Row* const row = find(rows, case_name, other);
      table += row == nullptr ? print(" | %8s %5s", "-", "-")
                              : print(" | %8.1f %5.2f", row->mitems_per_s(), ratio(*subject, *row));
    }
    table += '\n';
  }
  table +=
      "ratio: databuffer / alternative, median over the rounds; everybody waits when full, so "
      "nothing is rejected\n";
  if (has_crowded) table += "* more threads than cores\n";
  return table;
}

std::string format_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"shape", row.shape},
                    {"item", row.item},
                    {"batch", row.batch},
                    {"contender", row.contender},
                    {"mitems_per_s", row.mitems_per_s()},
                    {"rounds", row.rounds}});
  }
  return list.dump(1) + '\n';
}

void require_gnuplot() {
  if (std::system("command -v gnuplot >/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    throw std::runtime_error("--plot: there is no gnuplot on this machine");
  }
}

void plot(const std::vector<Row>& rows, const std::string& path) {
  std::vector<std::string> contenders = distinct(rows, contender_of);
  const std::vector<std::string> panels = distinct(rows, panel_of);
  std::string quoted_path = path;
  for (std::size_t at = 0; (at = quoted_path.find('\'', at)) != std::string::npos; at += 2) {
    quoted_path.insert(at, 1, '\'');
  }
  std::ostringstream script;
  script
      << "set terminal svg size 1100," << 330 * panels.size()
      << " font 'sans,13' background 'white'\n"
      << "set output '" << quoted_path << "'\n"
      << "set style data histogram\nset style histogram clustered gap 1\nset style fill solid 0.9\n"
      << "set grid ytics\nset yrange [0:*]\nset ylabel 'M items/s'\nset key outside right top\n"
      << "set multiplot layout " << panels.size() << ",1\n";
  for (std::size_t index = 0; index < panels.size(); ++index) {
    std::vector<Row> panel;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(panel),
                 [&](const Row& row) { return panel_of(row) == panels[index]; });
    append_panel(script, panel, index, contenders);
  }
  script << "unset multiplot\n";

  std::FILE* const gnuplot = ::popen("gnuplot", "w");
  if (gnuplot == nullptr) throw std::runtime_error("--plot: gnuplot does not start");
  const std::string text = script.str();
  const bool is_written = std::fwrite(text.data(), 1, text.size(), gnuplot) == text.size();
  const int status = ::pclose(gnuplot);
  if (!is_written || status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("--plot: gnuplot failed, see its message above");
  }
}

}  // namespace databuffer::bench
