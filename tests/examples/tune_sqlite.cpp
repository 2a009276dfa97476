// Tuning for a handler of your own: which configuration stores most rows in SQLite, on this
// machine?
//
// The search runs your handler, with items that you make, for a few seconds; the handler works as
// it will later on, so give it a database that may be thrown away.
#include <sqlite3.h>
#include <unistd.h>

#include <databuffer/databuffer.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "examples/require.hpp"
#include "tools/tuning/findings.hpp"
#include "tools/tuning/measure.hpp"
#include "tools/tuning/space.hpp"
#include "tools/tuning/table.hpp"

namespace {

using namespace std::chrono_literals;
using examples::require;
namespace fs = std::filesystem;
namespace tuning = databuffer::tuning;

struct Row {
  int user_id = 0;
  std::string action;
};

// A batch is one transaction. One connection, and one partition at a time that writes.
class Table {
 public:
  explicit Table(const fs::path& path) {
    check(sqlite3_open(path.c_str(), &database_));
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    run("CREATE TABLE actions(user_id INTEGER, action TEXT)");
    check(sqlite3_prepare_v2(database_, "INSERT INTO actions VALUES(?, ?)", -1, &insert_, nullptr));
  }
  ~Table() {
    sqlite3_finalize(insert_);
    sqlite3_close(database_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void store(std::span<const Row> rows) {
    run("BEGIN");
    for (const Row& row : rows) {
      sqlite3_bind_int(insert_, 1, row.user_id);
      sqlite3_bind_text(insert_, 2, row.action.data(), static_cast<int>(row.action.size()),
                        nullptr);
      check(sqlite3_step(insert_));
      check(sqlite3_reset(insert_));
    }
    run("COMMIT");
  }

 private:
  void run(const char* sql) { check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }
  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE)
      throw std::runtime_error(sqlite3_errmsg(database_));
  }

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

}  // namespace

int main() {
  const fs::path folder =
      fs::temp_directory_path() / ("databuffer_tune_" + std::to_string(getpid()));
  fs::create_directory(folder);
  tuning::Findings found;
  {
    Table table(folder / "rows.db");

    // From here on it is what you would write. (--8<--)
    const tuning::Workload workload{.producers = 2};
    const databuffer::Options base{.name = "rows"};
    const tuning::Measure measure = tuning::make_measure<Row>(
        workload, base,
        [](std::uint64_t index) {
          return Row{static_cast<int>(index % 1000), "click"};
        },
        [&table](std::span<Row> rows) { table.store(rows); });

    tuning::Space space;
    space.partitions = {1};  // one connection
    space.max_sizes = tuning::geometric_steps(10, 10'000);
    space.capacities = {{.value = 4, .is_factor = true}};
    space.waits = {databuffer::WaitStrategy::kAdaptive};
    tuning::SearchSettings settings;
    settings.budget = 10s;  // a minute says more
    found = tuning::findings_of(tuning::search(tuning::candidates_of(space), measure, settings),
                                settings, workload, base);
    std::cout << tuning::findings_text(found);
    // (--8<--)
  }
  fs::remove_all(folder);

  require(found.result.has_winner(), "something was found");
  require(found.result.entries.size() + found.result.not_run == 10, "the default is in the grid");
  require(found.result.winner().candidate.max_size > 10,
          "transactions of 10 rows are not the best");
  require(found.result.is_within_limits, "rows were stored");
}
