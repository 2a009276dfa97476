#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace databuffer::ingest_tests {

struct Row {
  std::string source;
  std::uint64_t line = 0;
  std::string text;
  std::string type;  ///< Of text: "text" or "blob".
  friend bool operator==(const Row&, const Row&) = default;
};

/// The tests' own connection to a database, by SQLite's own calls.
class TestDatabase {
 public:
  explicit TestDatabase(const std::string& path) {
    const int result = sqlite3_open(path.c_str(), &database_);
    if (result != SQLITE_OK) throw std::runtime_error("cannot open " + path);
    sqlite3_busy_timeout(database_, 10'000);
  }
  ~TestDatabase() { sqlite3_close(database_); }
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  void execute(const std::string& sql) {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(database_));
    }
  }

  /// Calls `visit(statement)` for each row.
  template <class Visit>
  void query(const std::string& sql, Visit visit) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(database_));
    }
    int result = SQLITE_ROW;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) visit(statement);
    sqlite3_finalize(statement);
    if (result != SQLITE_DONE) throw std::runtime_error(sql + ": " + sqlite3_errmsg(database_));
  }

  std::string text(const std::string& sql) {
    std::string value;
    query(sql, [&value](sqlite3_stmt* row) { value = bytes(row, 0); });
    return value;
  }

  std::uint64_t count(const std::string& table) {
    return std::stoull(text("SELECT count(*) FROM " + table));
  }

  /// All lines, in the order in which they were stored.
  std::vector<Row> rows() {
    std::vector<Row> rows;
    query("SELECT source, line, text, typeof(text) FROM lines ORDER BY rowid",
          [&rows](sqlite3_stmt* row) {
            rows.push_back({bytes(row, 0), static_cast<std::uint64_t>(sqlite3_column_int64(row, 1)),
                            bytes(row, 2), bytes(row, 3)});
          });
    return rows;
  }

  static std::string bytes(sqlite3_stmt* row, int column) {
    // Of a text in UTF-16, _blob would give the UTF-16.
    const void* const data = sqlite3_column_type(row, column) == SQLITE_BLOB
                                 ? sqlite3_column_blob(row, column)
                                 : sqlite3_column_text(row, column);
    const int size = sqlite3_column_bytes(row, column);
    if (size == 0) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }

  /// Each source put together again from its rows, as the help text says how.
  std::map<std::string, std::string> inputs() {
    std::set<std::pair<std::string, std::uint64_t>> unterminated;
    query("SELECT source, line FROM lines_unterminated", [&unterminated](sqlite3_stmt* row) {
      unterminated.emplace(bytes(row, 0), static_cast<std::uint64_t>(sqlite3_column_int64(row, 1)));
    });
    std::map<std::string, std::string> inputs;
    for (const Row& row : rows()) {
      inputs[row.source] += row.text;
      if (!unterminated.contains({row.source, row.line})) inputs[row.source] += '\n';
    }
    return inputs;
  }

 private:
  sqlite3* database_ = nullptr;
};

/// Whether the rows of each source are its lines 1, 2, 3, … in this order.
inline bool is_in_order(const std::vector<Row>& rows) {
  std::map<std::string, std::uint64_t> last;
  for (const Row& row : rows) {
    if (row.line != ++last[row.source]) return false;
  }
  return true;
}

}  // namespace databuffer::ingest_tests
