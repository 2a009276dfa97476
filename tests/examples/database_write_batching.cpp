// Database write batching: many threads insert rows; each batch is one SQLite transaction.
//
// A database connection belongs to one thread. So each consumer gets a handler of its own, with its
// own connection and prepared statement, made and destroyed on the consumer's thread.
#include <sqlite3.h>
#include <unistd.h>
#include <databuffer/databuffer.hpp>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;
namespace fs = std::filesystem;

constexpr int kThreads = 4;
constexpr int kRowsEach = 5000;
constexpr std::uint64_t kRows = std::uint64_t{kThreads} * kRowsEach;

struct Row {
  int user_id = 0;
  std::string action;
};

class Connection {
 public:
  explicit Connection(const fs::path& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    check(code);
    check(sqlite3_busy_timeout(opened, 10'000));
  }

  void run(const char* sql) {
    check(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
  }

  void check(int code) const {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    throw std::runtime_error(sqlite3_errmsg(database_.get()));
  }

  [[nodiscard]] sqlite3* get() const noexcept { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

class Statement {
 public:
  Statement(Connection& connection, const char* sql) : connection_(&connection) {
    sqlite3_stmt* prepared = nullptr;
    connection.check(sqlite3_prepare_v2(connection.get(), sql, -1, &prepared, nullptr));
    statement_.reset(prepared);
  }

  void insert(const Row& row) {
    sqlite3_stmt* const statement = statement_.get();
    connection_->check(sqlite3_bind_int(statement, 1, row.user_id));
    connection_->check(sqlite3_bind_text(statement, 2, row.action.data(),
                                         static_cast<int>(row.action.size()), SQLITE_STATIC));
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);  // Its code is the step's again.
    connection_->check(code);
  }

  [[nodiscard]] std::uint64_t read_count() {
    connection_->check(sqlite3_step(statement_.get()));
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), 0));
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  Connection* connection_;  // borrowed
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// One consumer's handler. An exception makes the batch a failed one: its rows go to on_drop.
class RowWriter {
 public:
  explicit RowWriter(const fs::path& path)
      : connection_(std::make_unique<Connection>(path)),
        insert_(*connection_, "INSERT INTO actions(user_id, action) VALUES(?, ?)") {}

  void operator()(std::span<Row> batch) {
    connection_->run("BEGIN IMMEDIATE");
    try {
      for (const Row& row : batch) insert_.insert(row);
      connection_->run("COMMIT");
    } catch (...) {
      connection_->run("ROLLBACK");
      throw;
    }
  }

 private:
  std::unique_ptr<Connection> connection_;  // at one address, which the statement knows
  Statement insert_;
};

}  // namespace

int main() {
  const fs::path path =
      fs::temp_directory_path() / ("databuffer_example_" + std::to_string(getpid()) + ".db");
  fs::remove(path);
  {
    Connection schema(path);
    schema.run("CREATE TABLE actions(user_id INTEGER, action TEXT)");
  }

  auto rows = databuffer::Buffer<Row>::per_partition(
      {.name = "rows",
       .partitions = 2,
       .max_size = 1000,
       .insert_timeout = databuffer::kForever,  // a slow disk slows the inserts down; it loses none
       .on_drop =
           [](std::span<Row> lost, const databuffer::DropInfo& info) {
             std::cerr << lost.size() << " rows lost: " << info.error << '\n';
           }},
      [&path](std::size_t /*partition_index*/) { return RowWriter(path); });

  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int user = 0; user < kThreads; ++user) {
    threads.emplace_back([&rows, user] {
      for (int count = 0; count < kRowsEach; ++count) {
        require(rows.insert({user, "click"}) == databuffer::InsertStatus::kAccepted, "accepted");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const databuffer::CloseReport report = rows.close();

  std::uint64_t transactions = 0;
  for (const auto& partition : rows.info()) transactions += partition.batches;
  std::cout << report.ledger.flushed << " rows in " << transactions << " transactions\n";

  Connection connection(path);
  const std::uint64_t stored = Statement(connection, "SELECT count(*) FROM actions").read_count();
  fs::remove(path);
  require(report.ledger.flushed == kRows, "every row is flushed");
  require(stored == kRows, "every row is stored, once");
  require(transactions < report.ledger.flushed / 10, "in far fewer transactions than rows");
}
