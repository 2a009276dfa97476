// What fails is said, the exit code is 1, and the summary still adds up.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"
#include "tools/databuffer/ingest.hpp"
#include "tools/tuning/starting.hpp"

namespace databuffer::ingest_tests {
namespace {

/// Checks that `database` holds exactly the first lines of its one source: as many as were flushed.
void check_stored_prefix(const std::string& database, const nlohmann::json& summary) {
  const std::vector<Row> rows = TestDatabase(database).rows();
  CHECK(rows.size() == summary.at("flushed").get<std::size_t>());
  CHECK(is_in_order(rows));
  CHECK(summary.at("sources").at(0).at("stored_up_to").get<std::size_t>() == rows.size());
}

TEST_SUITE("failures") {
  TEST_CASE("an input that cannot be read is reported, and the others are read all the same") {
    const TemporaryFolder folder;
    const std::string good = folder.write("good", "a\nb\n");
    const std::string secret = folder.write("secret", "x\n");
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    const std::string missing = folder.path("missing");
    for (const char* const producers : {"1", "4"}) {
      CAPTURE(producers);
      const Outcome outcome = run({"ingest", missing, secret, folder.path(), good, "--producers",
                                   producers, "--sink", "null", "--json", "-"});
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.err, missing + ": No such file or directory"));
      CHECK(contains(outcome.err, secret + ": Permission denied"));
      CHECK(contains(outcome.err, folder.path() + ": Is a directory"));
      const nlohmann::json summary = summary_of(outcome);
      CHECK(summary.at("flushed") == 2);
      CHECK(summary.at("errors").size() == 3);
      CHECK(summary.at("sources").at(0).at("error") == missing + ": No such file or directory");
      CHECK(summary.at("sources").at(3).at("complete") == true);
    }
  }

  TEST_CASE("a line longer than --max-line ends its input, by name and number, and no other") {
    const TemporaryFolder folder;
    const std::string long_one = folder.write("long", "ok\n" + std::string(101, 'x') + "\nlost\n");
    const std::string good = folder.write("good", std::string(100, 'y'));
    const Outcome outcome =
        run({"ingest", long_one, good, "--max-line", "100", "--sink", "null", "--json", "-"});
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, long_one + ": line 2 is longer than 100 bytes (--max-line)"));
    CHECK(contains(outcome.err, long_one + ": stored up to line 1, read up to line 1"));
    CHECK(summary_of(outcome).at("flushed") == 2);
  }

  // Goal: the arguments are checked first (used_files_test.cpp), but a name may lead elsewhere by
  // the time the file is opened. Method: a run in this process, without the check.
  TEST_CASE("an input that has become the output is refused when it is opened") {
    const TemporaryFolder folder;
    const std::string file = folder.write("file", "a\nb\n");
    const std::string link = folder.path("link");
    std::filesystem::create_hard_link(file, link);
    tools::IngestSettings settings;
    settings.inputs = {file};
    settings.sink = tools::parse_sink("file:" + link);
    settings.buffer.name = "late";
    tools::RunControl control;
    tools::Console console("test: ");
    const tools::Summary summary = tools::Ingest(settings, control, console).run();
    CHECK(summary.exit_code() == 1);
    CHECK(summary.errors ==
          std::vector<std::string>{file + ": it is what the lines are written to"});
    CHECK(summary.lines == 0);
    CHECK(read_file(file) == "a\nb\n");
  }

  TEST_CASE("a sink that cannot be opened is found before anything is read") {
    const TemporaryFolder folder;
    const std::string not_database = folder.write("text", std::string(5000, 'x'));
    const std::string read_only = folder.path("readonly.db");
    TestDatabase(read_only).execute("CREATE TABLE lines(source TEXT, line INTEGER, text TEXT)");
    std::filesystem::permissions(read_only, std::filesystem::perms::owner_read);
    const std::string read_only_file = folder.write("readonly", "");
    std::filesystem::permissions(read_only_file, std::filesystem::perms::owner_read);
    struct Case {
      std::string sink;
      std::string reason;
    };
    const Case cases[] = {
        {"sqlite:" + not_database, "file is not a database"},
        {"sqlite:" + read_only, "readonly database"},
        {"file:" + read_only_file, "Permission denied"},
    };
    for (const Case& bad : cases) {
      CAPTURE(bad.sink);
      Child child({"ingest", "--sink", bad.sink, "--json", "-"});
      // Nothing was written to its input, and it is not closed: whoever reads it would wait.
      child.wait_for_error(bad.reason);
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.err, bad.sink.substr(bad.sink.find(':') + 1)));
      const nlohmann::json summary = summary_of(outcome);
      CHECK(summary.at("lines") == 0);
      CHECK(summary.at("errors").size() == 1);
    }
    CHECK(read_file(not_database) == std::string(5000, 'x'));
  }

  TEST_CASE(
      "a table of another shape, or one that changes what it is given, is refused, untouched") {
    struct Case {
      const char* sql;
      const char* reason;
    };
    const Case cases[] = {
        {"CREATE TABLE lines(id, text)", "columns (id, text) instead of (source, line, text)"},
        {"CREATE TABLE lines(source, line, text, more)", "(source, line, text, more)"},
        {"CREATE TABLE lines(source, line, text INTEGER)", "does not keep what is inserted"},
        {"CREATE TABLE lines(source NUMERIC, line, text)", "does not keep what is inserted"},
        {"CREATE TABLE lines(source, line, text CHECK(text = 'x'))", "CHECK constraint failed"},
        {"CREATE VIEW lines AS SELECT 1 AS source, 2 AS line, 3 AS text", "view"},
        {"CREATE TABLE lines_unterminated(x)", "(x) instead of (source, line)"},
    };
    for (const Case& bad : cases) {
      CAPTURE(bad.sql);
      const TemporaryFolder folder;
      const std::string database = folder.path("lines.db");
      TestDatabase(database).execute(bad.sql);
      const Outcome outcome = run({"ingest", "--sink", "sqlite:" + database, "--json", "-"}, "a\n");
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.err, bad.reason));
      CHECK(summary_of(outcome).at("lines") == 0);
      CHECK(TestDatabase(database).count("sqlite_schema") == 1);
    }
  }

  TEST_CASE("a locked database is waited for as long as --busy-timeout says, then it is an error") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    TestDatabase other(database);
    SUBCASE("with a rollback journal") { other.execute("PRAGMA journal_mode = DELETE"); }
    SUBCASE("with a write-ahead log") { other.execute("PRAGMA journal_mode = WAL"); }
    other.execute("CREATE TABLE other(x); BEGIN IMMEDIATE; INSERT INTO other VALUES(1)");
    const Outcome outcome =
        run({"ingest", "--sink", "sqlite:" + database, "--busy-timeout", "300ms", "--json", "-"},
            "a\n");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.took >= std::chrono::milliseconds{300});
    CHECK(contains(outcome.err, "database is locked"));
    CHECK(contains(outcome.err, " for another process (--busy-timeout 300ms)"));
    // What it says is the time that has passed.
    const std::size_t waited = outcome.err.find("; waited ");
    REQUIRE(waited != std::string::npos);
    CHECK(std::stoi(outcome.err.substr(waited + 9)) >= 300);
    CHECK(summary_of(outcome).at("lines") == 0);
  }

  TEST_CASE("a lock that is gone in time does no harm") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    TestDatabase other(database);
    other.execute("CREATE TABLE other(x); BEGIN IMMEDIATE; INSERT INTO other VALUES(1)");
    Child child({"ingest", "--sink", "sqlite:" + database, "--busy-timeout", "forever"});
    child.write_input("a\n");
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    other.execute("COMMIT");
    CHECK(child.wait().exit_code == 0);
    CHECK(TestDatabase(database).count("lines") == 1);
  }

  TEST_CASE(
      "a database that is locked in the middle of a run: what was stored stays, the rest failed") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--busy-timeout", "100ms", "--max-size",
                 "10", "--json", "-"});
    child.write_input(numbered_lines(10));
    child.wait_until("for the first batch", [&] { return count_lines(database) == 10; });
    TestDatabase other(database);
    other.execute("BEGIN IMMEDIATE");
    child.write_input(numbered_lines(25));
    // It does not wait for the end of its input.
    child.wait_for_error("stored; lost:");
    const Outcome outcome = child.wait();
    other.execute("ROLLBACK");
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "cannot begin a transaction: database is locked"));
    CHECK(contains(outcome.err, "10 lines stored; lost: 25 lines accepted and not stored"));
    CHECK(contains(outcome.err, "-: stored up to line 10, read up to line 35"));
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed") == 10);
    CHECK(summary.at("failed") == 25);
    CHECK(summary.at("batches") == 4);
    check_stored_prefix(database, summary);
  }

  TEST_CASE("a database that is removed in the middle of a run is missed at the next batch") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--max-size", "10", "--json", "-"});
    child.write_input(numbered_lines(10));
    child.wait_until("for the first batch", [&] { return count_lines(database) == 10; });
    std::filesystem::remove(database);
    child.write_input(numbered_lines(10));
    child.wait_for_error(database + ": it was removed or replaced");
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(summary_of(outcome).at("failed") == 10);
  }

  TEST_CASE("a database that may not grow: whole batches are stored, the rest failed") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", numbered_lines(200'000));
    const std::string database = folder.path("lines.db");
    Child child({.arguments = {"ingest", input, "--sink", "sqlite:" + database, "--max-size", "500",
                               "--json", "-"},
                 .max_file_bytes = 1'000'000});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, database + ": cannot "));
    CHECK(contains(outcome.err, "File too large"));
    CHECK(contains(outcome.err, "stored; lost:"));
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed").get<int>() > 0);
    CHECK(summary.at("flushed").get<int>() % 500 == 0);
    CHECK(summary.at("failed").get<int>() > 0);
    CHECK(summary.at("lines").get<int>() < 200'000);  // it did not read on for nothing
    check_stored_prefix(database, summary);
    CHECK(TestDatabase(database).text("PRAGMA integrity_check") == "ok");
  }

  TEST_CASE("a file that may not grow ends at a whole batch") {
    const TemporaryFolder folder;
    const std::string text = numbered_lines(200'000);
    const std::string input = folder.write("input", text);
    const std::string output = folder.write("output", "before\n");
    Child child({.arguments = {"ingest", input, "--sink", "file:" + output, "--max-size", "500",
                               "--json", "-"},
                 .max_file_bytes = 1'000'000});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, output + ": cannot write to it: File too large"));
    const auto flushed = summary_of(outcome).at("flushed").get<int>();
    CHECK(flushed > 0);
    CHECK(flushed % 500 == 0);
    CHECK((read_file(output) == "before\n" + numbered_lines(flushed)));
  }

  TEST_CASE("closed standard streams are errors, and no file is taken for them") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", "a\n");
    const std::string output = folder.path("output");
    const auto run_closed = [](std::vector<std::string> arguments) {
      Child child(ChildSettings{.arguments = std::move(arguments), .has_streams = false});
      return child.wait();
    };
    const Outcome no_output = run_closed({"ingest", input, "--sink", "stdout"});
    CHECK(no_output.exit_code == 1);
    CHECK(contains(no_output.err, "standard output: cannot write to it: Bad file descriptor"));
    const Outcome no_input = run_closed({"ingest", "--sink", "null", "--quiet"});
    CHECK(no_input.exit_code == 1);
    CHECK(contains(no_input.err, "-: Bad file descriptor"));
    const Outcome no_summary = run_closed({"ingest", input, "--sink", "file:" + output});
    CHECK(no_summary.exit_code == 1);
    CHECK(contains(no_summary.err, "standard output: cannot write the summary"));
    CHECK(read_file(output) == "a\n");
  }

  TEST_CASE("a full disk is called so") {
    const Outcome outcome =
        run({"ingest", "--sink", "file:/dev/full", "--json", "-"}, numbered_lines(10));
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "/dev/full: cannot write to it: No space left on device"));
    CHECK(summary_of(outcome).at("failed") == 10);
  }

  TEST_CASE("a constraint that a later line breaks takes its whole batch back, and is named") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    TestDatabase(database).execute("CREATE TABLE lines(source, line, text UNIQUE)");
    const Outcome outcome =
        run({"ingest", "--sink", "sqlite:" + database, "--max-size", "2", "--json", "-"},
            "a\nb\nc\na\n");
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "cannot insert a line: UNIQUE constraint failed: lines.text"));
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed") == 2);
    CHECK(summary.at("failed") == 2);
    check_stored_prefix(database, summary);
  }

  // Goal: no memory is an error like any other: said, counted, and with exit code 1.
  TEST_CASE("a line for which there is no memory ends its input, and no other" *
            doctest::skip(kHasNoMemoryLimit)) {
    const TemporaryFolder folder;
    const std::string good = folder.write("good", "a\nb\n");
    const std::string endless = folder.write("endless", "c\n");
    std::filesystem::resize_file(endless, 900'000'000);  // zeros, and no newline
    const std::string output = folder.path("output");
    Child child({.arguments = {"ingest", endless, good, "--producers", "1", "--sink",
                               "file:" + output, "--json", "-"},
                 .max_memory_bytes = 300'000'000});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, endless + ": out of memory\n"));
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("errors") == nlohmann::json::array({endless + ": out of memory"}));
    CHECK(summary.at("flushed") == 3);
    CHECK(read_file(output) == "c\na\nb\n");
  }

  TEST_CASE("threads for which there is no room are an error that names them" *
            doctest::skip(kHasNoMemoryLimit)) {
    Child child({.arguments = {"ingest", "--sink", "null", "--partitions", "64", "--json", "-"},
                 .max_memory_bytes = 300'000'000});
    child.write_input("a\n");
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK((contains(outcome.err, "cannot start a buffer of 64 partitions: Resource temporarily") ||
           contains(outcome.err, "databuffer ingest: out of memory")));
    CHECK(summary_of(outcome).at("errors").size() == 1);
    const auto refuse = [] { throw std::system_error(EAGAIN, std::system_category()); };
    CHECK_THROWS_WITH_AS(tuning::starting("a thread", refuse),
                         "cannot start a thread: Resource temporarily unavailable",
                         std::system_error);
  }

  TEST_CASE("an output for the summary that cannot be written is found before anything is read") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    const std::string json = folder.write("readonly.json", "");
    std::filesystem::permissions(json, std::filesystem::perms::owner_read);
    const Outcome outcome = run({"ingest", "--sink", "sqlite:" + database, "--json", json}, "a\n");
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "--json " + json + ": cannot open it: Permission denied"));
    CHECK_FALSE(std::filesystem::exists(database));
    const Outcome full = run({"ingest", "--sink", "null", "--json", "/dev/full"}, "a\n");
    CHECK(full.exit_code == 1);
    CHECK(contains(full.err, "--json /dev/full: cannot write the summary: No space left"));
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
