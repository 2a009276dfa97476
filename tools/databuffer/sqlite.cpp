#include "tools/databuffer/sqlite.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <utility>

#include "tools/databuffer/file_descriptor.hpp"
#include "tools/databuffer/file_place.hpp"
#include "tools/databuffer/utf8.hpp"

namespace databuffer::tools {

namespace {

// `last_errno`: left by the call. SQLite does not note the system's error for every failed write.
[[noreturn]] void fail(sqlite3* database, int result, int last_errno = 0) {
  const int code = result & 0xFF;
  std::string message = database == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database);
  int system_error = database == nullptr ? 0 : sqlite3_system_errno(database);
  if (system_error == 0) system_error = last_errno;
  // It may be left from a call long ago, so it only means something for these.
  const bool is_from_system =
      code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_FULL;
  if (is_from_system && system_error != 0) message += ": " + error_text(system_error);
  throw SqliteError(code, message);
}

void check(sqlite3* database, int result) {
  if (result != SQLITE_OK) fail(database, result);
}

// For the calls that happen for each line: asks for the connection only if there is an error.
void check(sqlite3_stmt* statement, int result) {
  if (result != SQLITE_OK) fail(sqlite3_db_handle(statement), result);
}

// Counting every allocation, for statistics that nobody reads, takes a mutex around each: some
// hundredths of an insert's time. Too late, and no error, where SQLite is in use already.
void leave_out_statistics() {
  static const int result = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(result);
}

// SQLite is never left to read a path by itself: see place_file.
std::string placed(const std::string& path) {
  try {
    return real_path(path);
  } catch (const NoPlace& error) {
    throw SqliteError(SQLITE_CANTOPEN, error.what());
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  // It repeats the error of the last step, which has been reported.
  static_cast<void>(sqlite3_finalize(statement));
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_stmt* const statement = statement_.get();
  check(statement, sqlite3_bind_int64(statement, index, value));
}

void Statement::bind(int index, std::string_view bytes) {
  sqlite3_stmt* const statement = statement_.get();
  // A null pointer would be bound as NULL.
  const char* const data = bytes.data() == nullptr ? "" : bytes.data();
  const int result =
      is_clean_text(bytes)
          ? sqlite3_bind_text64(statement, index, data, bytes.size(), SQLITE_STATIC, SQLITE_UTF8)
          : sqlite3_bind_blob64(statement, index, data, bytes.size(), SQLITE_STATIC);
  check(statement, result);
}

void Statement::run() {
  while (next_row()) {
  }
}

bool Statement::next_row() {
  sqlite3_stmt* const statement = statement_.get();
  errno = 0;
  const int stepped = sqlite3_step(statement);
  if (stepped == SQLITE_ROW) return true;
  const int last_errno = errno;
  const int result = sqlite3_reset(statement);
  if (stepped != SQLITE_DONE) fail(sqlite3_db_handle(statement), stepped, last_errno);
  check(statement, result);
  return false;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::bytes(int column) const {
  sqlite3_stmt* const statement = statement_.get();
  // Of a text in UTF-16, _blob would give the UTF-16.
  const void* const data = sqlite3_column_type(statement, column) == SQLITE_BLOB
                               ? sqlite3_column_blob(statement, column)
                               : sqlite3_column_text(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void Database::Close::operator()(sqlite3* database) const noexcept {
  // _v2 cannot fail: it waits for statements that are still to be finalized.
  static_cast<void>(sqlite3_close_v2(database));
}

Database::Database(const std::string& path, bool must_exist)
    : path_(placed(path)), busy_(std::make_unique<std::function<bool(int)>>()) {
  leave_out_statistics();
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (!must_exist) flags |= SQLITE_OPEN_CREATE;
  sqlite3* database = nullptr;
  const int result = sqlite3_open_v2(path_.c_str(), &database, flags, nullptr);
  database_.reset(database);  // even a failed open leaves something to close
  check(database, result);
  const char* const opened = sqlite3_db_filename(database, "main");
  if (opened != nullptr && path_ == opened) return;
  throw SqliteError(SQLITE_CANTOPEN, "SQLite takes it for another file" +
                                         (opened == nullptr ? "" : ": " + std::string(opened)));
}

void Database::execute(const char* sql) {
  check(database_.get(), sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
}

Statement Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  check(database_.get(), sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                            &statement, nullptr));
  return Statement(statement);
}

void Database::on_busy(std::function<bool(int)> wait) {
  *busy_ = std::move(wait);
  const auto call = [](void* function, int calls) {
    return (*static_cast<std::function<bool(int)>*>(function))(calls) ? 1 : 0;
  };
  check(database_.get(), sqlite3_busy_handler(database_.get(), call, busy_.get()));
}

bool Database::is_in_transaction() const noexcept {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

std::uint64_t Database::max_bytes() const noexcept {
  return static_cast<std::uint64_t>(sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, -1));
}

void Database::checkpoint() {
  check(database_.get(), sqlite3_wal_checkpoint_v2(database_.get(), nullptr,
                                                   SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr));
}

}  // namespace databuffer::tools
