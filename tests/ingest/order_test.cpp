// Every line is there, once, and in its source's order, however many threads and partitions work.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"
#include "support/sanitizers.hpp"

namespace databuffer::ingest_tests {
namespace {

// All of it where the code is optimised, less where it would only take long.
#ifdef __OPTIMIZE__
constexpr std::uint64_t kManyLines = support::kHasSanitizer ? 100'000 : 1'000'000;
#else
constexpr std::uint64_t kManyLines = 100'000;
#endif

/// Lines of mixed lengths: most as in a log, some empty, a few of thousands of bytes.
std::string make_lines(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);  // NOLINT: a test is to be the same each time
  std::string text;
  for (std::uint64_t number = 1; number <= count; ++number) {
    const auto kind = random() % 1000;
    std::size_t size = 20 + random() % 180;
    if (kind < 50) size = 0;
    if (kind == 999) size = 1000 + random() % 9000;
    const std::size_t begin = text.size();
    if (size > 0) text += std::to_string(number) + ":";
    while (text.size() < begin + size) text += static_cast<char>(' ' + (number + text.size()) % 95);
    text += '\n';
  }
  return text;
}

std::vector<std::string> write_files(const TemporaryFolder& folder, int count,
                                     std::uint64_t lines_each) {
  std::vector<std::string> paths;
  for (int index = 0; index < count; ++index) {
    const auto seed = static_cast<std::uint32_t>(index + 1);
    paths.push_back(folder.write("file" + std::to_string(index), make_lines(lines_each, seed)));
  }
  return paths;
}

/// Real system logs, which are not part of the project: the files in the folder that
/// DATABUFFER_REAL_LOGS names, or in the one where they lie beside it. There may be none.
std::vector<std::string> real_logs() {
  const char* const named = std::getenv("DATABUFFER_REAL_LOGS");
  const std::filesystem::path folder =
      named != nullptr
          ? std::filesystem::path(named)
          : std::filesystem::path(__FILE__).parent_path() / "../../../shared/data/logs";
  std::vector<std::string> paths;
  if (named == nullptr && !std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().lexically_normal().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::size_t count_lines_of(const std::vector<std::string>& paths) {
  std::size_t count = 0;
  for (const std::string& path : paths) {
    const std::string bytes = read_file(path);
    count += static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    if (!bytes.empty() && bytes.back() != '\n') ++count;
  }
  return count;
}

TEST_SUITE("order") {
  TEST_CASE(
      "a million lines of mixed lengths arrive complete, in order, in batches near max_size") {
    const TemporaryFolder folder;
    const std::string bytes = make_lines(kManyLines, 42);
    const std::string input = folder.write("input", bytes);
    const std::string database = folder.path("lines.db");
    const Outcome outcome = run({"ingest", input, "--sink", "sqlite:" + database, "--json", "-"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("lines") == kManyLines);
    CHECK(summary.at("flushed") == kManyLines);
    CHECK(summary.at("mean_batch").get<double>() >= 0.95 * 5000);
    CHECK(summary.at("mean_batch").get<double>() <= 5000);
    CHECK(summary.at("batches").get<double>() * summary.at("mean_batch").get<double>() ==
          doctest::Approx(static_cast<double>(kManyLines)));
    CHECK(summary.at("rows_per_s").get<double>() * summary.at("seconds").get<double>() ==
          doctest::Approx(static_cast<double>(kManyLines)));
    TestDatabase opened(database);
    CHECK(is_in_order(opened.rows()));
    CHECK((opened.inputs().at(input) == bytes));
  }

  TEST_CASE("several files by several producers through several partitions keep their order") {
    const TemporaryFolder folder;
    std::vector<std::string> inputs = write_files(folder, 5, 4'000);
    const std::vector<std::string> logs = real_logs();
    inputs.insert(inputs.end(), logs.begin(), logs.end());
    const std::size_t lines = count_lines_of(inputs);
    MESSAGE("5 files and " << logs.size() << " real logs, " << lines << " lines");
    for (const char* const partitions : {"1", "4"}) {
      for (const char* const producers : {"1", "3", "16"}) {
        CAPTURE(partitions);
        CAPTURE(producers);
        const std::string database =
            folder.path(std::string("lines") + partitions + "-" + producers + ".db");
        std::vector<std::string> words{"ingest",      "--sink",     "sqlite:" + database,
                                       "--producers", producers,    "--partitions",
                                       partitions,    "--max-size", "300",
                                       "--json",      "-"};
        words.insert(words.end(), inputs.begin(), inputs.end());
        const Outcome outcome = run(words);
        CHECK(outcome.exit_code == 0);
        CHECK(summary_of(outcome).at("flushed") == lines);
        CHECK(outcome.err.empty());
        TestDatabase opened(database);
        CHECK(is_in_order(opened.rows()));
        const std::map<std::string, std::string> stored = opened.inputs();
        for (const std::string& input : inputs) CHECK((stored.at(input) == read_file(input)));
      }
    }
  }

  TEST_CASE("ingest of an existing table appends behind its rows") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    const std::string first = folder.write("first", "a\nb\n");
    const std::string second = folder.write("second", "c\nd");
    CHECK(run({"ingest", first, "--sink", "sqlite:" + database}).exit_code == 0);
    CHECK(run({"ingest", second, "--sink", "sqlite:" + database}).exit_code == 0);
    CHECK(run({"ingest", first, "--sink", "sqlite:" + database}).exit_code == 0);
    CHECK(TestDatabase(database).rows() == std::vector<Row>{{first, 1, "a", "text"},
                                                            {first, 2, "b", "text"},
                                                            {second, 1, "c", "text"},
                                                            {second, 2, "d", "text"},
                                                            {first, 1, "a", "text"},
                                                            {first, 2, "b", "text"}});
  }

  TEST_CASE("ingest appends to a table of the same columns that somebody else made") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    TestDatabase(database).execute(
        "CREATE TABLE lines(Source, Line, Text); INSERT INTO lines VALUES('old', 1, 'x')");
    CHECK(run({"ingest", "--sink", "sqlite:" + database}, "007\n").exit_code == 0);
    CHECK(TestDatabase(database).rows() ==
          std::vector<Row>{{"old", 1, "x", "text"}, {"-", 1, "007", "text"}});
  }

  TEST_CASE("each batch is one transaction: a reader sees whole batches only") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    Child child({"ingest", "--sink", "sqlite:" + database, "--max-size", "7", "--json", "-"});
    std::string text;
    for (int number = 0; number < 200; ++number) text += std::to_string(number) + "\n";
    child.write_input(text);
    child.wait_until("for rows", [&] {
      const std::uint64_t count = count_lines(database);
      CHECK(count % 7 == 0);
      return count == 196;  // the last four wait for more
    });
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(summary_of(outcome).at("batches") == 29);
    CHECK(TestDatabase(database).count("lines") == 200);
  }

  TEST_CASE("an incomplete batch is stored after flush_interval, without more input") {
    const TemporaryFolder folder;
    const std::string output = folder.path("output");
    Child child(
        {"ingest", "--sink", "file:" + output, "--flush-interval", "20ms", "--flush-jitter", "0s"});
    child.write_input("a\nb\n");
    child.wait_until("for the two lines", [&] {
      return std::filesystem::exists(output) && read_file(output) == "a\nb\n";
    });
    CHECK(child.wait().exit_code == 0);
  }

  TEST_CASE("a FIFO is read as its writers come and go, until the last has closed it") {
    const TemporaryFolder folder;
    const std::string fifo = folder.path("fifo");
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    Child child({"ingest", fifo, "--sink", "stdout"});
    FileDescriptor writer(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));  // waits for the child
    REQUIRE(writer.is_open());
    REQUIRE(::write(writer.get(), "a\nb", 3) == 3);
    FileDescriptor other(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
    writer.close();
    REQUIRE(::write(other.get(), "c\n", 2) == 2);
    other.close();
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out == "a\nbc\n");
  }

  // Goal: a writer may fill inputs in any order, however few producers there are.
  // Method: no FIFO is closed, and no line comes, before each has a reader, and the file is stored.
  TEST_CASE("FIFOs and standard input are all read at once, beside files, by any --producers") {
    const TemporaryFolder folder;
    const std::string output = folder.path("output");
    const std::string file = folder.write("file", "file\n");
    std::vector<std::string> words{"ingest",      "--sink", "file:" + output, "--max-size", "1",
                                   "--producers", "1",      "--json",         "-",          "-"};
    std::vector<std::string> fifos;
    for (const char* const name : {"a", "b", "c", "d"}) {
      fifos.push_back(folder.path(name));
      REQUIRE(mkfifo(fifos.back().c_str(), 0600) == 0);
      words.push_back(fifos.back());
    }
    words.push_back(file);
    Child child(words);
    std::vector<FileDescriptor> writers;
    for (const std::string& fifo : fifos) {
      FileDescriptor& writer = writers.emplace_back();
      child.wait_until("for a reader of " + fifo, [&] {
        writer = FileDescriptor(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        return writer.is_open();
      });
    }
    std::string stored = "file\n";
    const auto wait_for_stored = [&] {
      child.wait_until("for a line", [&] {
        return std::filesystem::exists(output) && read_file(output) == stored;
      });
    };
    wait_for_stored();
    child.write_input("input\n");
    stored += "input\n";
    wait_for_stored();
    for (auto writer = writers.rbegin(); writer != writers.rend(); ++writer) {
      REQUIRE(::write(writer->get(), "fifo\n", 5) == 5);
      stored += "fifo\n";
      wait_for_stored();
    }
    writers.clear();
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(summary_of(outcome).at("flushed") == 6);
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
