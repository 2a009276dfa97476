#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace examples {

/// A connection to an SQLite database: what goes wrong is thrown. For one thread at a time.
class Database {
 public:
  explicit Database(const std::filesystem::path& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    database_.reset(opened);
    check(code);
    check(sqlite3_busy_timeout(opened, 10'000));
  }

  void run(const char* sql) {
    check(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
  }

  /// All of what `work` does is stored, or nothing.
  template <class Work>
  void transaction(Work work) {
    run("BEGIN IMMEDIATE");
    try {
      work();
      run("COMMIT");
    } catch (...) {
      run("ROLLBACK");
      throw;
    }
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
  /// `database` must outlive it, and stay where it is.
  Statement(Database& database, const char* sql) : database_(&database) {
    sqlite3_stmt* prepared = nullptr;
    database.check(sqlite3_prepare_v2(database.get(), sql, -1, &prepared, nullptr));
    statement_.reset(prepared);
  }

  /// With the statement's question marks set to `values`.
  template <class... Values>
  void run(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    const int code = sqlite3_step(statement_.get());
    sqlite3_reset(statement_.get());  // Its code is the step's again.
    database_->check(code);
  }

  /// The number that a query answers with.
  [[nodiscard]] std::int64_t number() {
    database_->check(sqlite3_step(statement_.get()));
    const std::int64_t answer = sqlite3_column_int64(statement_.get(), 0);
    sqlite3_reset(statement_.get());
    return answer;
  }

 private:
  void bind(int index, std::int64_t value) {
    database_->check(sqlite3_bind_int64(statement_.get(), index, value));
  }
  void bind(int index, const std::string& value) {
    database_->check(sqlite3_bind_text(statement_.get(), index, value.data(),
                                       static_cast<int>(value.size()), SQLITE_STATIC));
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  Database* database_;  // borrowed
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace examples
