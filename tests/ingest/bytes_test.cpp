// What goes in comes out byte for byte, through every sink that stores.

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/temporary_folder.hpp"
#include "support/sanitizers.hpp"

namespace databuffer::ingest_tests {
namespace {

std::string random_bytes(std::uint32_t seed, std::size_t size) {
  std::mt19937 random(seed);  // NOLINT: a test is to be the same each time
  std::string bytes;
  while (bytes.size() < size) {
    // Binary, UTF-8 and plain lines by turns; every 200th byte or so a newline.
    const auto kind = random() % 3;
    for (auto left = random() % 400; left > 0; --left) {
      if (kind == 0) bytes += static_cast<char>(random() % 256);
      if (kind == 1) bytes += "\xC3\xA9";
      if (kind == 2) bytes += static_cast<char>(' ' + random() % 95);
    }
    bytes += random() % 4 == 0 ? "\r\n" : "\n";
  }
  return bytes;
}

/// Stores `bytes` in a new database, checks the command's word for it, and returns what is there.
struct Stored {
  std::vector<Row> rows;
  std::string input;  ///< Put together again.
};

Stored store(const std::string& bytes, const std::string& setup_sql = {}) {
  const TemporaryFolder folder;
  const std::string database = folder.path("lines.db");
  if (!setup_sql.empty()) TestDatabase(database).execute(setup_sql);
  const std::string input = folder.write("input", bytes);
  const Outcome outcome =
      run({"ingest", input, "--sink", "sqlite:" + database, "--json", "-", "--max-size", "100"});
  REQUIRE(outcome.exit_code == 0);
  TestDatabase opened(database);
  Stored stored{opened.rows(), {}};
  CHECK(summary_of(outcome).at("flushed") == stored.rows.size());
  CHECK(is_in_order(stored.rows));
  if (!stored.rows.empty()) stored.input = opened.inputs().at(input);
  return stored;
}

TEST_SUITE("bytes") {
  TEST_CASE("random bytes come back from SQLite byte for byte") {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
      CAPTURE(seed);
      const std::string bytes = random_bytes(seed, 300'000);
      CHECK(store(bytes).input == bytes);
    }
  }

  TEST_CASE("NUL, invalid UTF-8 and carriage returns are kept; clean text is TEXT, else BLOB") {
    using namespace std::string_literals;
    const Stored stored = store("plain\r\nz\xC3\xA9ro\na\0b\n\xFF\xFE\n\n\0\n"s);
    REQUIRE(stored.rows.size() == 6);
    const auto is = [&stored](std::size_t row, const std::string& text, const char* type) {
      CHECK(stored.rows[row].text == text);
      CHECK(stored.rows[row].type == type);
      CHECK(stored.rows[row].line == row + 1);
    };
    is(0, "plain\r", "text");
    is(1, "z\xC3\xA9ro", "text");
    is(2, "a\0b"s, "blob");
    is(3, "\xFF\xFE", "blob");
    is(4, "", "text");
    is(5, "\0"s, "blob");
  }

  TEST_CASE("a database in UTF-16 keeps the bytes, too") {
    const std::string bytes =
        "\xEF\xBB\xBF"
        "bom\n\xF0\x9F\x98\x80\n\xEF\xBF\xBE\n\xEF\xBF\xBF\n\xEF\xBF\xBD\nplain\n" +
        random_bytes(4, 50'000);
    CHECK(store(bytes, "PRAGMA encoding = 'UTF-16le'; CREATE TABLE other(x)").input == bytes);
  }

  TEST_CASE("a last line without newline is stored, and marked, so the file can be made again") {
    CHECK(store("a\nb").input == "a\nb");
    CHECK(store("a\nb\n").input == "a\nb\n");
    CHECK(store("b").input == "b");
    CHECK(store("\n").input == "\n");
    CHECK(store(std::string(1, '\0')).input == std::string(1, '\0'));
  }

  TEST_CASE("an empty file has no lines, and is no error") { CHECK(store("").rows.empty()); }

  TEST_CASE("the name of a source may be any bytes") {
    const TemporaryFolder folder;
    const std::string input = folder.write("caf\xE9 'quoted'; \n.log", "a\n");
    const std::string database = folder.path("lines.db");
    const Outcome outcome = run({"ingest", input, "--sink", "sqlite:" + database, "--json", "-"});
    CHECK(outcome.exit_code == 0);
    static_cast<void>(summary_of(outcome));  // it is JSON all the same
    CHECK(TestDatabase(database).rows() == std::vector<Row>{{input, 1, "a", "text"}});
  }

  TEST_CASE("a path that SQLite would take for something else is a file like any other") {
    const TemporaryFolder folder;
    for (const char* const name : {":memory:", "file:x?mode=memory", "a b%20c.db", "-"}) {
      CAPTURE(name);
      Child child({.arguments = {"ingest", "--sink", std::string("sqlite:") + name},
                   .folder = folder.path()});
      child.write_input("a\n");
      CHECK(child.wait().exit_code == 0);
      CHECK(contains(read_file(folder.path(name)), "SQLite format 3"));
    }
  }

  // Goal: a line as large as a file; its memory grows with it, and is given back.
  TEST_CASE("lines of 100 MB are stored and come back") {
    const std::size_t size = support::kHasSanitizer ? 10'000'000 : 100'000'000;
    std::string bytes = "before\n";
    bytes.append(size, 'x');
    bytes += "\nbetween\n";
    bytes.append(size, '\xFF');
    const Stored stored = store(bytes);
    REQUIRE(stored.rows.size() == 4);
    CHECK(stored.rows[1].text.size() == size);
    CHECK((stored.input == bytes));  // in parentheses: not to be printed
  }

  TEST_CASE("one input comes out of file: and stdout byte for byte") {
    using namespace std::string_literals;
    const TemporaryFolder folder;
    int number = 0;
    for (const std::string& bytes : {""s, "\n"s, "a"s, "a\n"s, "a\n\nb"s, random_bytes(5, 700'000),
                                     std::string(1'000'000, 'x'), std::string(300'000, '\n')}) {
      CAPTURE(number);
      const std::string input = folder.write("input", bytes);
      const std::string output = folder.path("output" + std::to_string(number++));
      CHECK(run({"ingest", input, "--sink", "file:" + output, "--max-size", "1000"}).exit_code ==
            0);
      CHECK((read_file(output) == bytes));
      const Outcome printed = run({"ingest", input, "--sink", "stdout", "--max-size", "1000"});
      CHECK(printed.exit_code == 0);
      CHECK((printed.out == bytes));
    }
  }

  TEST_CASE("file: appends, and keeps a line that lacked its newline apart from the next") {
    const TemporaryFolder folder;
    const std::string output = folder.path("output");
    const std::vector<std::string> words{"ingest", "--sink", "file:" + output};
    CHECK(run(words, "a\nb").exit_code == 0);
    CHECK(read_file(output) == "a\nb");
    CHECK(run(words, "c\n").exit_code == 0);
    CHECK(read_file(output) == "a\nb\nc\n");
    CHECK(run(words, "").exit_code == 0);
    CHECK(read_file(output) == "a\nb\nc\n");
    CHECK(run(words, "d\n").exit_code == 0);
    CHECK(read_file(output) == "a\nb\nc\nd\n");
  }

  TEST_CASE("several inputs without a last newline do not run into each other") {
    const TemporaryFolder folder;
    const Outcome outcome = run({"ingest", folder.write("a", "a1\na2"), folder.write("b", "b1\nb2"),
                                 "--producers", "1", "--sink", "stdout"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == "a1\na2\nb1\nb2");
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
