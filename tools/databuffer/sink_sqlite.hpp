#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "databuffer/clock.hpp"
#include "tools/databuffer/sink.hpp"
#include "tools/databuffer/sqlite.hpp"

namespace databuffer::tools {

/// Appends lines to the table `lines(source, line, text)` of an SQLite database: one transaction
/// for each batch, all of it or nothing.
///
/// Bytes       `text` is the line without its newline, as TEXT where it is UTF-8 without NUL, else
///             as BLOB; CAST(text AS BLOB) gives the bytes in both cases. A last line without
///             newline is also named in `lines_unterminated(source, line)`, so that an input can
///             be put together again exactly.
/// Durability  write-ahead log with synchronous = NORMAL: a killed process loses no committed batch
///             and never leaves half of one; after a power failure the newest may be missing, until
///             finish() has returned.
/// Others      may write to the database at the same time. Every step that SQLite refuses because
/// of
///             them is tried again until `busy_timeout` has passed; only then it has failed. The
///             last checkpoint has not: it is left to whoever keeps us from it.
///
/// One connection serves all partitions. SQLite lets one writer in at a time anyhow; with a
/// connection for each of four partitions, which then poll for each other's lock, a million lines
/// took 1.05 to 1.4 times as long.
class SqliteSink final : public Sink {
 public:
  SqliteSink(const std::string& path, Duration busy_timeout, const RunControl& control);

  void write(std::span<const Line> lines) override;
  void finish() override;
  [[nodiscard]] std::uint64_t max_line_bytes() const noexcept override;
  [[nodiscard]] std::optional<FileId> file_id() const override;

 private:
  template <class Step>
  void persist(const char* doing, Step step);
  void begin_step(const char* doing) noexcept;
  [[nodiscard]] bool wait_for_lock();
  void set_journal();
  void prepare_tables();
  void check_columns(const char* table, const std::string& wanted);
  void check_keeps_bytes();
  void check_still_there() const;
  void insert(const Line& line);
  void roll_back() noexcept;
  [[noreturn]] void fail(const SqliteError& error) const;

  const std::string path_;
  const Duration busy_timeout_;
  const RunControl& control_;  // borrowed
  std::optional<FileId> opened_id_;
  bool is_ready_ = false;  // the constructor is done

  const char* doing_ = "open it";           // what an error interrupts: "cannot …"
  std::optional<TimePoint> waiting_since_;  // since when that has waited for another connection
  int pauses_ = 0;                          // of that wait
  std::optional<Database> database_;
  Statement begin_;
  Statement insert_line_;
  Statement insert_unterminated_;
  Statement commit_;
  const Source* bound_source_ = nullptr;  // whose name insert_line_ has
};

}  // namespace databuffer::tools
