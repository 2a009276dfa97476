// Question: what does `databuffer ingest` into SQLite cost, against the loop one writes by hand?
// Setup:    one file of lines of 20 … 200 characters, in memory's page cache; both sides use WAL
//           with synchronous = NORMAL, one prepared statement and transactions of `max_size` lines,
//           and take turns. The loop reads with std::getline on one thread.
// Reading:  items/s is ingest's lines; `loop` the loop's; `ratio` ingest over loop, the median over
//           the turns; `batch` is lines a transaction.

#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/statistics.hpp"
#include "bench/support.hpp"
#include "tools/databuffer/console.hpp"
#include "tools/databuffer/ingest.hpp"
#include "tools/databuffer/run_control.hpp"
#include "tools/databuffer/sink.hpp"

namespace databuffer::bench {
namespace {

constexpr std::uint64_t kLines = 200'000;

/// A folder that goes away, with an input file in it.
class Workplace {
 public:
  Workplace() {
    std::string pattern = std::filesystem::temp_directory_path() / "databuffer-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + pattern);
    }
    folder_ = pattern;
    std::mt19937 random(1);  // the same lines in every run
    std::ofstream file(input());
    for (std::uint64_t line = 0; line < kLines; ++line) {
      file << std::string(20 + random() % 181, static_cast<char>('a' + line % 26)) << '\n';
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + input());
  }
  ~Workplace() {
    std::error_code ignored;  // What is left is in the system's folder for such things.
    std::filesystem::remove_all(folder_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] std::string input() const { return folder_ / "lines.txt"; }

  /// A database that does not exist yet.
  [[nodiscard]] std::string fresh_database() const {
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove((folder_ / "lines.db").string() + suffix);
    }
    return folder_ / "lines.db";
  }

 private:
  std::filesystem::path folder_;
};

void require(int code, sqlite3* database) {
  if (code != SQLITE_OK && code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(database));
}

/// The loop by hand. Returns its seconds.
double run_loop(const std::string& input, const std::string& path, std::size_t max_size) {
  const auto began = std::chrono::steady_clock::now();
  sqlite3* database = nullptr;
  require(sqlite3_open(path.c_str(), &database), database);
  const auto execute = [&](const char* sql) {
    require(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), database);
  };
  execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      "CREATE TABLE lines(source TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL)");
  sqlite3_stmt* insert = nullptr;
  require(
      sqlite3_prepare_v2(database, "INSERT INTO lines VALUES(?1, ?2, ?3)", -1, &insert, nullptr),
      database);
  require(sqlite3_bind_text(insert, 1, input.c_str(), -1, SQLITE_STATIC), database);
  std::ifstream file(input);
  std::string line;
  std::int64_t number = 0;
  execute("BEGIN IMMEDIATE");
  while (std::getline(file, line)) {
    require(sqlite3_bind_int64(insert, 2, ++number), database);
    require(sqlite3_bind_text(insert, 3, line.data(), static_cast<int>(line.size()), SQLITE_STATIC),
            database);
    require(sqlite3_step(insert), database);
    require(sqlite3_reset(insert), database);
    if (static_cast<std::size_t>(number) % max_size == 0) execute("COMMIT; BEGIN IMMEDIATE");
  }
  execute("COMMIT");
  sqlite3_finalize(insert);
  require(
      sqlite3_wal_checkpoint_v2(database, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr),
      database);
  sqlite3_close(database);
  if (static_cast<std::uint64_t>(number) != kLines) throw std::runtime_error("the loop lost lines");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

/// `databuffer ingest` without its arguments. Returns its seconds, and what it says it did.
double run_ingest(const std::string& input, const std::string& path, std::size_t max_size,
                  tools::Summary& summary) {
  const auto began = std::chrono::steady_clock::now();
  tools::IngestSettings settings;
  settings.inputs = {input};
  settings.sink = {.kind = tools::SinkSpec::Kind::kSqlite, .path = path};
  settings.is_quiet = true;
  settings.buffer.name = "ingest";
  settings.buffer.max_size = max_size;
  settings.buffer.insert_timeout = kForever;
  tools::RunControl control;
  tools::Console console("ingest_bench: ");
  {
    tools::Ingest ingest(settings, control, console);
    summary = ingest.run();
  }
  if (summary.flushed != kLines || summary.exit_code() != 0) {
    throw std::runtime_error("ingest lost lines");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return took.count();
}

void BM_Ingest_Sqlite(benchmark::State& state) {
  const auto max_size = static_cast<std::size_t>(state.range(0));
  warn_if_crowded(state, 2);
  const Workplace workplace;
  std::vector<double> ratios;
  std::vector<double> loop_rates;
  std::uint64_t batches = 0;
  for (auto _ : state) {
    tools::Summary summary;
    const double by_hand = run_loop(workplace.input(), workplace.fresh_database(), max_size);
    const double by_ingest =
        run_ingest(workplace.input(), workplace.fresh_database(), max_size, summary);
    state.SetIterationTime(by_ingest);
    ratios.push_back(by_hand / by_ingest);
    loop_rates.push_back(static_cast<double>(kLines) / by_hand);
    batches += summary.batches;
  }
  const std::uint64_t lines = static_cast<std::uint64_t>(state.iterations()) * kLines;
  state.SetItemsProcessed(static_cast<std::int64_t>(lines));
  state.counters["loop"] = median(loop_rates);
  state.counters["ratio"] = median(ratios);
  report_batches(state, lines, batches, lines);
}
BENCHMARK(BM_Ingest_Sqlite)
    ->ArgName("max_size")
    ->Arg(1000)
    ->Arg(5000)
    ->Arg(20'000)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace databuffer::bench
