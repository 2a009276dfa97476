#include "tools/databuffer/sink_sqlite.hpp"

#include <poll.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tools/databuffer/quantities.hpp"

namespace databuffer::tools {

namespace {

constexpr const char* kCreateTables =
    "CREATE TABLE IF NOT EXISTS lines(source TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT "
    "NULL);"
    "CREATE TABLE IF NOT EXISTS lines_unterminated(source TEXT NOT NULL, line INTEGER NOT NULL);";
constexpr const char* kInsertLine = "INSERT INTO lines(source, line, text) VALUES(?1, ?2, ?3)";
constexpr const char* kInsertUnterminated =
    "INSERT INTO lines_unterminated(source, line) VALUES(?1, ?2)";

// What a row takes beside its text: header, number, and room to spare.
constexpr std::uint64_t kRowOverheadBytes = 1024;

// Other writers' transactions take milliseconds; a longer pause would be lost time.
constexpr int kMaxPauseMilliseconds = 20;

}  // namespace

SqliteSink::SqliteSink(const std::string& path, Duration busy_timeout, const RunControl& control)
    : path_(path), busy_timeout_(busy_timeout), control_(control) {
  try {
    database_.emplace(path_);
    database_->on_busy([this](int /*calls*/) { return wait_for_lock(); });
    set_journal();
    prepare_tables();
    persist("prepare its statements", [this] {
      begin_ = database_->prepare("BEGIN IMMEDIATE");
      insert_line_ = database_->prepare(kInsertLine);
      insert_unterminated_ = database_->prepare(kInsertUnterminated);
      commit_ = database_->prepare("COMMIT");
    });
    begin_step("find it again");
    opened_id_ = file_id();
    if (!opened_id_.has_value()) {
      throw SqliteError(SQLITE_CANTOPEN, "it was removed while it was opened");
    }
  } catch (const SqliteError& error) {
    fail(error);
  }
  is_ready_ = true;
}

// Takes a step that another connection may keep us from. For most locks SQLite itself calls
// wait_for_lock(); but some (the switch to a log, a checkpoint, the recovery of a log) it only
// tries, and answers SQLITE_BUSY at once. A step that was refused has changed nothing: also COMMIT
// leaves its transaction open.
template <class Step>
void SqliteSink::persist(const char* doing, Step step) {
  begin_step(doing);
  for (;;) {
    try {
      step();
      return;
    } catch (const SqliteError& error) {
      if (error.code() != SQLITE_BUSY || !wait_for_lock()) throw;
    }
  }
}

void SqliteSink::begin_step(const char* doing) noexcept {
  doing_ = doing;
  waiting_since_.reset();
  pauses_ = 0;
}

// Called while another connection has a lock that we need. False: gives up.
bool SqliteSink::wait_for_lock() {
  const TimePoint now = steady_clock().now();
  if (!waiting_since_.has_value()) waiting_since_ = now;
  if (now >= deadline_after(*waiting_since_, busy_timeout_)) return false;
  // Before the first line there is nothing to store, so the first request to stop already counts.
  const int stop_fd = is_ready_ ? control_.aborting_fd() : control_.stopping_fd();
  pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
  pauses_ = std::min(pauses_ + 1, kMaxPauseMilliseconds);
  static_cast<void>(::poll(&stop, 1, pauses_));
  return stop.revents == 0;
}

void SqliteSink::set_journal() {
  std::string mode;
  persist("switch it to a write-ahead log", [&] {
    Statement set_mode = database_->prepare("PRAGMA journal_mode = WAL");
    if (set_mode.next_row()) mode = set_mode.bytes(0);
  });
  // Without a log (some file systems cannot have one), NORMAL would be less than it is with one.
  const char* const synchronous =
      mode == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL";
  persist("set it up", [&] { database_->execute(synchronous); });
}

void SqliteSink::prepare_tables() {
  persist("lock it for writing", [this] { database_->execute("BEGIN IMMEDIATE"); });
  begin_step("create its tables");
  database_->execute(kCreateTables);
  begin_step("read what its tables look like");
  check_columns("lines", "source, line, text");
  check_columns("lines_unterminated", "source, line");
  begin_step("write a line into its table \"lines\"");
  check_keeps_bytes();
  persist("create its tables", [this] { database_->execute("COMMIT"); });
}

void SqliteSink::check_columns(const char* table, const std::string& wanted) {
  Statement columns = database_->prepare(
      "SELECT group_concat(name, ', ') FROM (SELECT lower(name) AS name FROM pragma_table_info(?1) "
      "ORDER BY cid)");
  columns.bind(1, std::string_view(table));
  const std::string found = columns.next_row() ? columns.bytes(0) : std::string();
  if (found == wanted) return;
  throw SqliteError(SQLITE_MISMATCH, std::string("the table \"") + table +
                                         "\" is there already, with the columns (" + found +
                                         ") instead of (" + wanted + ")");
}

// A column declared as a number would turn "007" into 7; a trigger could do anything. So we try,
// and take it back.
void SqliteSink::check_keeps_bytes() {
  constexpr std::string_view kTexts[] = {"007", std::string_view("\0\xFF", 2)};
  database_->execute("SAVEPOINT trial");
  Statement insert = database_->prepare(kInsertLine);
  Statement read_back = database_->prepare(
      "SELECT source, line, text, typeof(source), typeof(text) FROM lines WHERE rowid = "
      "last_insert_rowid()");
  for (const std::string_view text : kTexts) {
    insert.bind(1, kTexts[0]);
    insert.bind(2, std::int64_t{1});
    insert.bind(3, text);
    insert.run();
    const bool is_kept = read_back.next_row() && read_back.bytes(0) == kTexts[0] &&
                         read_back.integer(1) == 1 && read_back.bytes(2) == text &&
                         read_back.bytes(3) == "text" &&
                         read_back.bytes(4) == (text == kTexts[0] ? "text" : "blob");
    if (!is_kept) {
      throw SqliteError(SQLITE_MISMATCH,
                        "the table \"lines\" is there already, and does not keep what is inserted: "
                        "declare its columns as source TEXT, line INTEGER, text TEXT");
    }
    while (read_back.next_row()) {
    }
  }
  database_->execute("ROLLBACK TO trial; RELEASE trial");
}

void SqliteSink::write(std::span<const Line> lines) {
  try {
    persist("begin a transaction", [this] { begin_.run(); });
    check_still_there();
    begin_step("insert a line");
    for (const Line& line : lines) {
      if (control_.is_aborting()) throw SinkError(path_ + ": interrupted");
      insert(line);
    }
    persist("commit a transaction", [this] { commit_.run(); });
  } catch (const SqliteError& error) {
    roll_back();
    fail(error);
  } catch (const SinkError&) {
    roll_back();
    throw;
  }
}

// SQLite would go on for ever writing to a file that has no name any more.
void SqliteSink::check_still_there() const {
  if (opened_id_.has_value() && file_id() == opened_id_) return;
  throw SinkError(path_ + ": it was removed or replaced; what was stored is in the removed file");
}

void SqliteSink::insert(const Line& line) {
  if (bound_source_ != &line.source()) {
    bound_source_ = &line.source();
    insert_line_.bind(1, bound_source_->name);
  }
  const auto number = static_cast<std::int64_t>(line.number());
  insert_line_.bind(2, number);
  insert_line_.bind(3, line.text());
  insert_line_.run();
  if (line.is_terminated()) return;
  insert_unterminated_.bind(1, line.source().name);
  insert_unterminated_.bind(2, number);
  insert_unterminated_.run();
}

// Many errors (a full disk among them) have rolled back already.
void SqliteSink::roll_back() noexcept {
  try {
    if (database_->is_in_transaction()) database_->execute("ROLLBACK");
  } catch (const SqliteError&) {
    // The error that led here is reported. The connection is not used for writing again, and what
    // is left of the transaction ends with it, uncommitted.
  }
}

void SqliteSink::finish() {
  try {
    persist("move its write-ahead log into it (the lines are stored in the log)",
            [this] { database_->checkpoint(); });
  } catch (const SqliteError& error) {
    // Another connection is at it: the lines are stored, and it or the next one moves them.
    if (error.code() != SQLITE_BUSY) fail(error);
  }
}

std::uint64_t SqliteSink::max_line_bytes() const noexcept {
  return database_->max_bytes() - kRowOverheadBytes;
}

std::optional<FileId> SqliteSink::file_id() const {
  struct stat status {};
  if (::stat(database_->path().c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

void SqliteSink::fail(const SqliteError& error) const {
  std::string message = path_ + ": cannot " + doing_ + ": " + error.what();
  const bool is_interrupted = is_ready_ ? control_.is_aborting() : control_.is_stopping();
  if (error.code() == SQLITE_BUSY && is_interrupted) {
    message += "; interrupted while another process held it";
  } else if (error.code() == SQLITE_BUSY && waiting_since_.has_value()) {
    const Duration waited =
        std::chrono::floor<std::chrono::milliseconds>(steady_clock().now() - *waiting_since_);
    message += "; waited " + format_duration(waited) + " for another process (--busy-timeout " +
               format_duration(busy_timeout_) + ")";
  }
  throw SinkError(message);
}

}  // namespace databuffer::tools
