// Ctrl-C, SIGTERM and SIGHUP: what was read is stored, and nothing is lost; the second time the run
// stops at once, and what is lost is said.

#include <doctest/doctest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"
#include "tools/databuffer/signals.hpp"

namespace databuffer::ingest_tests {
namespace {

/// How soon "at once" is, on a machine that has other work to do.
constexpr std::chrono::seconds kPromptly{support::kHasSanitizer ? 20 : 5};

/// A FIFO that a child writes to, which we read when we like.
class SlowReader {
 public:
  explicit SlowReader(const TemporaryFolder& folder) : path_(folder.path("slow")) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    fifo_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(fifo_.is_open());
  }
  [[nodiscard]] std::string sink() const { return "file:" + path_; }

  /// Bytes that wait to be read.
  [[nodiscard]] int waiting() const {
    int bytes = 0;
    REQUIRE(::ioctl(fifo_.get(), FIONREAD, &bytes) == 0);
    return bytes;
  }
  /// Nothing more fits in, so whoever writes is stuck.
  [[nodiscard]] bool is_full() const { return waiting() > 60'000; }

  void drain() {
    std::array<char, 65536> part;  // NOLINT: read() fills it
    for (;;) {
      const ssize_t count = ::read(fifo_.get(), part.data(), part.size());
      if (count <= 0) return;
      text_.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string path_;
  FileDescriptor fifo_;
  std::string text_;
};

TEST_SUITE("signals") {
  TEST_CASE("a signal stores all that was read, and the exit code is 128 + signal") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      CAPTURE(signal);
      const TemporaryFolder folder;
      const std::string database = folder.path("lines.db");
      Child child({"ingest", "--sink", "sqlite:" + database, "--max-size", "10", "--json", "-"});
      // One write, so one read takes all of it; the last batch then waits for more.
      child.write_input(numbered_lines(1'005));
      child.wait_until("for the full batches", [&] { return count_lines(database) == 1'000; });
      child.send(signal);
      child.wait_for_error("reads no more");
      child.wait_for_exit();  // although its input is still open
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 128 + signal);
      const nlohmann::json summary = summary_of(outcome);
      CHECK(summary.at("lines") == 1'005);
      CHECK(summary.at("flushed") == 1'005);
      CHECK(summary.at("signal") == tools::signal_name(signal));
      CHECK(count_lines(database) == 1'005);
      CHECK(is_in_order(TestDatabase(database).rows()));
    }
  }

  TEST_CASE("a signal that was ignored at the start stays so, and the others are heard") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      CAPTURE(signal);
      const TemporaryFolder folder;
      const std::string database = folder.path("lines.db");
      Child child({.arguments = {"ingest", "--sink", "sqlite:" + database, "--max-size", "1",
                                 "--json", "-"},
                   .ignored_signals = {signal}});
      child.write_input("before\n");
      child.wait_until("for the first line", [&] { return count_lines(database) == 1; });
      child.send(signal);
      child.write_input("after\n");
      child.wait_until("for the next line", [&] { return count_lines(database) == 2; });
      child.send(signal == SIGTERM ? SIGINT : SIGTERM);
      child.wait_for_exit();
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 128 + (signal == SIGTERM ? SIGINT : SIGTERM));
      CHECK(summary_of(outcome).at("flushed") == 2);
    }
  }

  TEST_CASE("a kill -TERM in the middle of a file stores exactly what the summary says") {
    const TemporaryFolder folder;
    constexpr int kLines = 500'000;
    const std::string text = numbered_lines(kLines);
    const std::string input = folder.write("input", text);
    const std::string database = folder.path("lines.db");
    // Standard input stays open, so that the run is not over, however fast it is.
    Child child(
        {"ingest", input, "-", "--sink", "sqlite:" + database, "--max-size", "7", "--json", "-"});
    child.wait_until("for the first rows", [&] { return count_lines(database) > 0; });
    child.send(SIGTERM);
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 143);
    const nlohmann::json summary = summary_of(outcome);
    const auto flushed = summary.at("flushed").get<std::uint64_t>();
    CHECK(flushed > 0);
    CHECK(summary.at("lines") == flushed);
    const std::string stored = input + ": stored up to line " + std::to_string(flushed);
    CHECK(contains(outcome.err, stored) == (flushed < kLines));
    TestDatabase opened(database);
    CHECK(is_in_order(opened.rows()));
    CHECK((opened.inputs().at(input) ==
           text.substr(0, numbered_lines(static_cast<int>(flushed)).size())));
  }

  TEST_CASE("a kill -9 leaves a database that opens and holds whole batches only") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", numbered_lines(7 * 70'000));
    const std::string database = folder.path("lines.db");
    // Standard input stays open, so that the run is not over, however fast it is; and without an
    // interval no batch leaves that is not full, however slow.
    Child child({"ingest", input, "-", "--sink", "sqlite:" + database, "--max-size", "7",
                 "--flush-interval", "forever"});
    child.wait_until("for the first rows", [&] { return count_lines(database) > 0; });
    child.send(SIGKILL);
    CHECK(child.wait().exit_code == -1);
    TestDatabase opened(database);
    CHECK(opened.text("PRAGMA integrity_check") == "ok");
    const std::vector<Row> rows = opened.rows();
    CHECK(rows.size() >= 7);
    CHECK(rows.size() % 7 == 0);
    CHECK(is_in_order(rows));
  }

  TEST_CASE("a line that was cut by the stop is stored as far as it had come, and that is said") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--max-size", "1"});
    child.write_input("whole\nhal");
    child.wait_until("for the first line", [&] { return count_lines(database) == 1; });
    child.send(SIGTERM);
    child.wait_for_error("-: cut in the middle of line 2, of which 3 bytes had arrived");
    CHECK(child.wait().exit_code == 143);
    CHECK(TestDatabase(database).inputs().at("-") == "whole\nhal");
  }

  TEST_CASE("a signal wakes a reader that waits for standard input, or for a FIFO's writer") {
    const TemporaryFolder folder;
    const std::string fifo = folder.path("fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const std::string input = folder.write("input", "a\nb\n");
    const std::string output = folder.path("output");
    for (const std::string& waits_for : {std::string("-"), fifo}) {
      CAPTURE(waits_for);
      std::filesystem::remove(output);
      Child child({"ingest", input, waits_for, "--producers", "2", "--sink", "file:" + output,
                   "--max-size", "2", "--json", "-"});
      child.wait_until("for the other input's lines", [&] {
        return std::filesystem::exists(output) && read_file(output) == "a\nb\n";
      });
      const Clock::time_point sent = Clock::now();
      child.send(SIGINT);
      child.wait_for_exit();
      CHECK(Clock::now() - sent < kPromptly);
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 130);
      CHECK(summary_of(outcome).at("flushed") == 2);
    }
  }

  TEST_CASE("a signal while inserts wait for a slow sink: it is heard at once, nothing is lost") {
    const TemporaryFolder folder;
    SlowReader reader(folder);
    const std::string input = folder.write("input", numbered_lines(200'000));
    Child child({"ingest", input, "--sink", reader.sink(), "--max-size", "10", "--capacity", "20",
                 "--json", "-"});
    child.wait_until("for a full FIFO", [&] { return reader.is_full(); });
    child.send(SIGTERM);
    child.wait_for_error("reads no more");
    child.wait_for_exit([&] { reader.drain(); });
    const Outcome outcome = child.wait();
    reader.drain();
    CHECK(outcome.exit_code == 143);
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("not_accepted") == 0);
    CHECK((reader.text() == numbered_lines(summary.at("flushed").get<int>())));
  }

  TEST_CASE("a second signal stops at once, even with a stuck sink, and says what is lost") {
    const TemporaryFolder folder;
    SlowReader reader(folder);
    const std::string input = folder.write("input", numbered_lines(200'000));
    Child child({"ingest", input, "--sink", reader.sink(), "--max-size", "1000", "--json", "-"});
    child.wait_until("for a full FIFO", [&] { return reader.is_full(); });
    child.send(SIGTERM);
    child.wait_for_error("reads no more");
    const Clock::time_point sent = Clock::now();
    child.send(SIGTERM);
    child.wait_for_exit();
    CHECK(Clock::now() - sent < kPromptly);
    const Outcome outcome = child.wait();
    reader.drain();
    CHECK(outcome.exit_code == 143);
    CHECK(contains(outcome.err, "stops at once"));
    const nlohmann::json summary = summary_of(outcome);
    const auto flushed = summary.at("flushed").get<int>();
    const auto lost = summary.at("failed").get<int>() + summary.at("dropped").get<int>();
    CHECK(lost > 0);
    CHECK(summary.at("uncertain") == 0);
    CHECK(contains(outcome.err, std::to_string(lost) + " lines accepted and not stored"));
    // The whole batches, and of the next one what the error says.
    const std::string whole = numbered_lines(flushed);
    CHECK((reader.text().substr(0, whole.size()) == whole));
    const std::string rest = reader.text().substr(whole.size());
    const auto more = std::count(rest.begin(), rest.end(), '\n');
    CHECK(contains(outcome.err, std::to_string(more) + " lines of its last batch of 1000"));
  }

  TEST_CASE("a second signal ends the wait for a locked database") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--busy-timeout", "forever",
                 "--max-size", "10", "--json", "-"});
    child.write_input(numbered_lines(10));
    child.wait_until("for the first batch", [&] { return count_lines(database) == 10; });
    TestDatabase other(database);
    other.execute("BEGIN IMMEDIATE");
    child.write_input(numbered_lines(25));
    child.wait_until_input_is_read();
    child.send(SIGINT);
    child.wait_for_error("reads no more");
    const Clock::time_point sent = Clock::now();
    child.send(SIGINT);
    child.wait_for_exit();
    CHECK(Clock::now() - sent < kPromptly);
    const Outcome outcome = child.wait();
    other.execute("ROLLBACK");
    CHECK(outcome.exit_code == 130);
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed") == 10);
    CHECK(summary.at("failed") == 25);
    CHECK(count_lines(database) == 10);
  }

  TEST_CASE("before the first line one signal is enough: for a lock, and for a FIFO nobody reads") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    TestDatabase other(database);
    other.execute("CREATE TABLE other(x); BEGIN IMMEDIATE; INSERT INTO other VALUES(1)");
    const std::string fifo = folder.path("fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    for (const std::string& sink : {"sqlite:" + database, "file:" + fifo}) {
      CAPTURE(sink);
      Child child({"ingest", "--sink", sink, "--busy-timeout", "forever", "--json", "-"});
      child.wait_until_it_heeds_signals();
      child.send(SIGTERM);
      child.wait_for_exit();
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 143);
      CHECK(contains(outcome.err, "interrupted"));
      CHECK(summary_of(outcome).at("lines") == 0);
    }
  }

  TEST_CASE("--close-timeout limits how long a stop waits for a stuck sink") {
    const TemporaryFolder folder;
    SlowReader reader(folder);
    const std::string input = folder.write("input", numbered_lines(200'000));
    Child child({"ingest", input, "--sink", reader.sink(), "--max-size", "1000", "--close-timeout",
                 "200ms", "--json", "-"});
    child.wait_until("for a full FIFO", [&] { return reader.is_full(); });
    child.send(SIGTERM);
    child.wait_for_exit();
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "--close-timeout 200ms passed before everything was stored"));
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("dropped").get<int>() > 0);
    CHECK(summary.at("uncertain") == 1000);
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
