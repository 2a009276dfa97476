// Question: how fast do items get from producers through a buffer into a handler, against what a
//           user would pick instead?
// Setup:    the same handler (touches every item), the same limits, the same waiting when full, for
//           all; contenders take turns (A B C A B C …); each run sends a fixed number of items.
// Reading:  M items/s from the producers' common start until everything is handled; medians. A
//           ratio of two contenders is taken within a round, so that a slow moment of the machine
//           hits both.

#include <dlfcn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/entries.hpp"
#include "bench/head_to_head_report.hpp"
#include "databuffer/detail/memory.hpp"

namespace databuffer::bench {
namespace {

/// The file of the library that malloc comes from.
std::string malloc_library() {
  Dl_info found{};
  if (::dladdr(::dlsym(RTLD_DEFAULT, "malloc"), &found) == 0) return "an unknown allocator";
  return std::filesystem::path(found.dli_fname).filename();
}

struct Arguments {
  bool is_quick = false;
  bool is_listing = false;
  std::size_t rounds = 0;  // 0: 7, or 5 with --quick
  std::size_t run_ms = 0;  // 0: 100, or 50 with --quick, and less where time is short
  Limits limits;
  std::string filter;
  std::string json_path;
  std::string plot_path;
};

/// One line of the table.
struct Case {
  std::string shape;
  std::string item;
  Setup setup;

  [[nodiscard]] std::string name() const {
    return shape + '/' + item + '/' + std::to_string(setup.batch);
  }
  [[nodiscard]] bool is_crowded() const {
    return setup.producers + setup.limits.partitions > std::thread::hardware_concurrency();
  }
};

struct Shape {
  std::size_t producers;
  std::size_t partitions;
};
constexpr Shape kShapes[] = {{1, 1}, {2, 1}, {2, 2}, {4, 4}, {8, 4}, {16, 4}, {64, 4}};
constexpr Shape kBatchShapes[] = {{1, 1}, {4, 4}};
constexpr std::size_t kBatches[] = {16, 64, 1000};
constexpr const char* kItems[] = {"8B", "64B", "string32"};

// Runs to find out how many items make a run of the wanted length: usually, and at most.
constexpr std::size_t kTrials = 2;
constexpr std::size_t kMostTrials = 6;
constexpr std::chrono::seconds kQuickTime{45};
constexpr std::chrono::hours kFullTime{1};

/// The case belongs to --quick: all that a goal is stated for, and a sample of the rest.
bool is_quick(const Case& candidate) {
  const bool is_small_shape = candidate.shape == "1x1" || candidate.shape == "4x4";
  if (candidate.setup.batch != 1) return candidate.item == "8B" && candidate.setup.batch == 64;
  return candidate.item == "8B" || is_small_shape;
}

std::vector<Case> cases_of(const Arguments& arguments) {
  std::vector<Case> cases;
  const auto add = [&](Shape shape, const char* item, std::size_t batch) {
    Limits limits = arguments.limits;
    limits.partitions = shape.partitions;
    Case candidate{
        .shape = std::to_string(shape.producers) + 'x' + std::to_string(shape.partitions),
        .item = item,
        .setup = {.producers = shape.producers, .batch = batch, .limits = limits}};
    if (!arguments.is_quick || is_quick(candidate)) cases.push_back(std::move(candidate));
  };
  for (const char* const item : kItems) {
    for (const Shape shape : kShapes) add(shape, item, 1);
  }
  for (const char* const item : kItems) {
    for (const Shape shape : kBatchShapes) {
      for (const std::size_t batch : kBatches) add(shape, item, batch);
    }
  }
  return cases;
}

std::vector<Entry> all_entries() {
  std::vector<Entry> all;
  for (auto* const entries :
       {databuffer_entries, ceiling_entries, mutex_vector_entries, naive_entries,
        tbb_bounded_entries, boost_lockfree_entries, spsc_ring_entries, spdlog_async_entries}) {
    std::ranges::move(entries(), std::back_inserter(all));
  }
  return all;
}

/// The contenders of a case that pass the filter, with databuffer if there is any.
std::vector<const Entry*> contenders_of(const Case& contest, const std::vector<Entry>& entries,
                                        const std::regex& filter) {
  std::vector<const Entry*> chosen;
  bool has_match = false;
  for (const Entry& entry : entries) {
    if (entry.item != contest.item || !entry.can_run(contest.setup)) continue;
    const bool is_match = std::regex_search(contest.name() + '/' + entry.contender, filter);
    has_match = has_match || is_match;
    if (is_match || entry.contender == "databuffer") chosen.push_back(&entry);
  }
  if (!has_match) chosen.clear();
  return chosen;
}

Run run(const Case& contest, const Entry& entry, std::uint64_t items) {
  try {
    return entry.run(contest.setup, items);
  } catch (const std::exception& error) {
    throw std::runtime_error(contest.name() + '/' + entry.contender + ": " + error.what());
  }
}

/// How many items keep this contender busy for about `seconds`. The first run also touches the
/// memory and starts the allocator's arenas; where many threads start, a short one measures little
/// else, so one must have lasted half of the time.
std::uint64_t measure_items(const Case& contest, const Entry& entry, double seconds) {
  constexpr double kFewestItems = 20'000;
  double items = kFewestItems;
  double lasted = 0;
  for (std::size_t index = 0; index < kTrials || (index < kMostTrials && lasted < seconds / 2);
       ++index) {
    const Run trial = run(contest, entry, static_cast<std::uint64_t>(items));
    lasted = trial.seconds;
    items = std::clamp(trial.items_per_second() * seconds, kFewestItems, 1e9);
  }
  return static_cast<std::uint64_t>(items);
}

/// Keeps a series of runs within a time, by shortening those to come.
class Budget {
 public:
  Budget(std::chrono::duration<double> total, std::size_t runs) : total_(total), runs_left_(runs) {}

  /// How long the next runs may take each, given that they would like to take `seconds`.
  [[nodiscard]] double share(double seconds) const {
    const std::chrono::duration<double> left = total_ - (std::chrono::steady_clock::now() - began_);
    constexpr double kShortest = 0.002;
    return std::clamp(left.count() / static_cast<double>(runs_left_), kShortest,
                      std::max(kShortest, seconds));
  }
  void spend(std::size_t runs) noexcept { runs_left_ -= std::min(runs, runs_left_ - 1); }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const std::chrono::duration<double> total_;
  std::size_t runs_left_;  // never 0
};

void run_case(const Case& contest, const std::vector<const Entry*>& entries, std::size_t rounds,
              double seconds, std::vector<Row>& rows) {
  std::vector<std::uint64_t> items;
  std::vector<std::uint64_t> handler_calls(entries.size(), 0);
  const std::size_t first_row = rows.size();
  for (const Entry* const entry : entries) {
    items.push_back(measure_items(contest, *entry, seconds));
    rows.push_back({.shape = contest.shape,
                    .item = contest.item,
                    .batch = contest.setup.batch,
                    .contender = entry->contender,
                    .rounds = {},
                    .is_crowded = contest.is_crowded()});
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t index = 0; index < entries.size(); ++index) {
      const Run result = run(contest, *entries[index], items[index]);
      rows[first_row + index].rounds.push_back(result.items_per_second() / 1e6);
      handler_calls[index] += result.handler_calls;
    }
  }
  for (std::size_t index = 0; index < entries.size(); ++index) {
    rows[first_row + index].mean_batch =
        static_cast<double>(items[index] * rounds) / static_cast<double>(handler_calls[index]);
  }
}

/// "50 ms"; "31.2 ms or more (wished: 50 ms)" where the budget has shortened some.
std::string length_text(double shortest, double wished) {
  std::ostringstream text;
  text << std::fixed;
  if (shortest < wished) text << std::setprecision(1) << shortest * 1e3 << " ms or more (wished: ";
  text << std::setprecision(0) << wished * 1e3 << (shortest < wished ? " ms)" : " ms");
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// Fails before the run, not after it.
void check_outputs(const Arguments& arguments) {
  for (const std::string& path : {arguments.json_path, arguments.plot_path}) {
    if (path.empty()) continue;
    const std::ofstream file(path, std::ios::binary | std::ios::app);
    if (!file) throw std::runtime_error("cannot write " + path);
  }
  if (!arguments.plot_path.empty()) require_gnuplot();
}

int run_all(const Arguments& arguments, const std::regex& filter) {
  const std::vector<Entry> entries = all_entries();
  const std::vector<Case> cases = cases_of(arguments);
  const std::size_t rounds = arguments.rounds != 0 ? arguments.rounds : arguments.is_quick ? 5 : 7;
  std::vector<std::vector<const Entry*>> chosen;
  std::size_t runs = 0;
  for (const Case& contest : cases) {
    chosen.push_back(contenders_of(contest, entries, filter));
    runs += chosen.back().size() * (rounds + kTrials);
  }
  if (runs == 0) throw CLI::ValidationError("--filter", arguments.filter + " matches nothing");
  if (arguments.is_listing) {
    for (std::size_t index = 0; index < cases.size(); ++index) {
      for (const Entry* const entry : chosen[index]) {
        std::cout << cases[index].name() << '/' << entry->contender << '\n';
      }
    }
    return 0;
  }

  check_outputs(arguments);
  const std::size_t default_ms = arguments.is_quick ? 50 : 100;
  const std::size_t run_ms = arguments.run_ms != 0 ? arguments.run_ms : default_ms;
  const double wished = static_cast<double>(run_ms) / 1e3;
  double shortest = wished;
  Budget budget(arguments.is_quick ? kQuickTime : kFullTime, runs);
  std::vector<Row> rows;
  const bool has_terminal = ::isatty(STDERR_FILENO) == 1;
  for (std::size_t index = 0; index < cases.size(); ++index) {
    if (chosen[index].empty()) continue;
    if (has_terminal) {
      std::fprintf(stderr, "\r\033[K%zu/%zu %s", index + 1, cases.size(),
                   cases[index].name().c_str());
    }
    // A length that was asked for is kept, however long all of it takes.
    const double seconds = arguments.run_ms != 0 ? wished : budget.share(wished);
    shortest = std::min(shortest, seconds);
    run_case(cases[index], chosen[index], rounds, seconds, rows);
    budget.spend(chosen[index].size() * (rounds + kTrials));
  }
  if (has_terminal) std::fputs("\r\033[K", stderr);

  std::cout << "max_size " << arguments.limits.max_size << ", capacity "
            << arguments.limits.capacity << ", " << rounds << " rounds of about "
            << length_text(shortest, wished) << ", " << std::thread::hardware_concurrency()
            << " cores, memory from " << malloc_library() << ", queue blocks from "
            << detail::allocator_name() << "\n\n"
            << format_table(rows);
  if (!arguments.json_path.empty()) write_file(arguments.json_path, format_json(rows));
  if (!arguments.plot_path.empty()) plot(rows, arguments.plot_path);
  return 0;
}

int main(int argument_count, const char* const* argument_values) {
  CLI::App app{"databuffer head to head with its alternatives", "head_to_head"};
  Arguments arguments;
  app.add_flag("--quick", arguments.is_quick,
               "The important cases only; without --run-ms it ends within a minute");
  app.add_flag("--list", arguments.is_listing,
               "Print what would run, as --filter sees it, and end");
  app.add_option("--json", arguments.json_path, "Write all rows to this file");
  app.add_option("--plot", arguments.plot_path, "Draw all rows into this SVG file (gnuplot)");
  app.add_option("--filter", arguments.filter,
                 "Run what this regular expression finds in shape/item/batch/contender");
  app.add_option("--rounds", arguments.rounds, "Runs of each contender (default 7; --quick 5)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--run-ms", arguments.run_ms,
                 "Length of a run (default 100; --quick 50; less where time is short)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--max-size", arguments.limits.max_size, "Items a batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--capacity", arguments.limits.capacity, "Items that may wait in a partition")
      ->capture_default_str()
      ->check(CLI::Range(1000, 60'000));  // A batch of 1000 must fit; boost's limit is 65534.
  try {
    app.parse(argument_count, argument_values);
    if (arguments.limits.capacity < arguments.limits.max_size) {
      throw CLI::ValidationError("--capacity", std::to_string(arguments.limits.capacity) +
                                                   ": must be at least --max-size, " +
                                                   std::to_string(arguments.limits.max_size));
    }
    std::regex filter;
    try {
      filter = std::regex(arguments.filter);
    } catch (const std::regex_error& error) {
      throw CLI::ValidationError("--filter", arguments.filter + ": " + error.what());
    }
    return run_all(arguments, filter);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "head_to_head: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace
}  // namespace databuffer::bench

int main(int argument_count, char** argument_values) {
  return databuffer::bench::main(argument_count, argument_values);
}
