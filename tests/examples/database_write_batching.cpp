// Database write batching: many threads insert rows; each batch is one SQLite transaction.
//
// A database connection belongs to one thread. So each consumer gets a handler of its own, with its
// own connection and prepared statement, made and destroyed on the consumer's thread.
#include <unistd.h>
#include <databuffer/databuffer.hpp>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "examples/database.hpp"
#include "examples/require.hpp"

namespace {

using examples::Database;
using examples::require;
using examples::Statement;
namespace fs = std::filesystem;

constexpr int kThreads = 4;
constexpr int kRowsEach = 5000;
constexpr std::uint64_t kRows = std::uint64_t{kThreads} * kRowsEach;

struct Row {
  int user_id = 0;
  std::string action;
};

// One consumer's handler. An exception makes the batch a failed one: its rows go to on_drop.
class RowWriter {
 public:
  explicit RowWriter(const fs::path& path)
      : database_(std::make_unique<Database>(path)),
        insert_(*database_, "INSERT INTO actions(user_id, action) VALUES(?, ?)") {}

  void operator()(std::span<Row> batch) {
    database_->transaction([&] {
      for (const Row& row : batch) insert_.run(row.user_id, row.action);
    });
  }

 private:
  std::unique_ptr<Database> database_;  // at one address, which the statement knows
  Statement insert_;
};

}  // namespace

int main() {
  const fs::path path =
      fs::temp_directory_path() / ("databuffer_example_" + std::to_string(getpid()) + ".db");
  fs::remove(path);
  Database(path).run("CREATE TABLE actions(user_id INTEGER, action TEXT)");

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

  Database database(path);
  const std::int64_t stored = Statement(database, "SELECT count(*) FROM actions").number();
  fs::remove(path);
  require(report.ledger.flushed == kRows, "every row is flushed");
  require(stored == kThreads * kRowsEach, "every row is stored, once");
  require(transactions < report.ledger.flushed / 10, "in far fewer transactions than rows");
}
