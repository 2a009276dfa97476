#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace databuffer::tools {

/// An SQLite call failed. what() is SQLite's message, with the system's behind it where there is
/// one.
class SqliteError : public std::runtime_error {
 public:
  SqliteError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}

  /// The primary result code: SQLITE_BUSY, SQLITE_FULL, …
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

class Database;

/// A prepared statement. Values are bound without a copy: they must live until the next step.
class Statement {
 public:
  Statement() = default;

  void bind(int index, std::int64_t value);
  /// As TEXT where SQLite keeps the bytes exactly that way (is_clean_text), else as BLOB.
  void bind(int index, std::string_view bytes);

  /// Runs a statement that returns no rows. The bindings stay.
  void run();

  /// Steps to the next row; false behind the last, and then it can be run again.
  [[nodiscard]] bool next_row();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  explicit Statement(sqlite3_stmt* statement) noexcept : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection. Threads: one at a time, not always the same.
/// All calls throw SqliteError.
class Database {
 public:
  /// Opens the file to which the system's own reading of `path` leads, whatever it is called:
  /// ":memory:" and "file:…" too are only names here. Creates it unless `must_exist`.
  explicit Database(const std::string& path, bool must_exist = false);

  void execute(const char* sql);
  [[nodiscard]] Statement prepare(const char* sql);

  /// Called when another connection holds a lock, with the number of times it was called for this
  /// lock: true waits on. Without it nothing waits.
  void on_busy(std::function<bool(int calls)> wait);

  /// The file that is open, as real_path() names it.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] bool is_in_transaction() const noexcept;

  /// The largest text, blob or row.
  [[nodiscard]] std::uint64_t max_bytes() const noexcept;

  /// Moves what the write-ahead log holds into the database file, as far as other readers allow.
  void checkpoint();

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };

  std::string path_;
  std::unique_ptr<std::function<bool(int)>>
      busy_;  // at a fixed address: SQLite has a pointer to it
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace databuffer::tools
