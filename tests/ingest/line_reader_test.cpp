#include "tools/databuffer/line_reader.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/temporary_folder.hpp"

namespace databuffer::tools {
namespace {

using ingest_tests::TemporaryFolder;

struct ReadLine {
  std::string text;
  std::uint64_t number = 0;
  bool is_terminated = false;
  friend bool operator==(const ReadLine&, const ReadLine&) = default;
};

/// A reader's surroundings, and a loop over it.
struct Reading {
  TextMemory memory{1U << 30U};
  RunControl control;
  std::uint64_t max_line_bytes = 1U << 30U;
  Source source{.name = "test"};

  [[nodiscard]] ReaderContext context() {
    return {memory, control, max_line_bytes, [] { FAIL("there was no need to flush"); }};
  }

  std::vector<ReadLine> read(FileDescriptor input) {
    const ReaderContext shared = context();
    LineReader reader(std::move(input), source, shared);
    std::vector<ReadLine> lines;
    Line line;
    while (reader.fill()) {
      while (reader.next(line)) {
        lines.push_back({std::string(line.text()), line.number(), line.is_terminated()});
      }
    }
    CHECK(reader.is_at_end());
    return lines;
  }

  std::vector<ReadLine> read(std::string_view bytes) {
    const TemporaryFolder folder;
    return read(open_input(folder.write("input", bytes)));
  }
};

std::string put_together(const std::vector<ReadLine>& lines) {
  std::string bytes;
  for (const ReadLine& line : lines) bytes += line.text + (line.is_terminated ? "\n" : "");
  return bytes;
}

TEST_SUITE("line_reader") {
  TEST_CASE("lines end before their newline, and are numbered from 1") {
    Reading reading;
    CHECK(reading.read("a\n\nbc\r\n") ==
          std::vector<ReadLine>{{"a", 1, true}, {"", 2, true}, {"bc\r", 3, true}});
  }

  TEST_CASE("an empty input has no lines, a newline alone is one empty line") {
    Reading reading;
    CHECK(reading.read("").empty());
    CHECK(reading.read("\n") == std::vector<ReadLine>{{"", 1, true}});
  }

  TEST_CASE("a last line without newline is a line, and is known to lack it") {
    Reading reading;
    CHECK(reading.read("a\nb") == std::vector<ReadLine>{{"a", 1, true}, {"b", 2, false}});
    CHECK(reading.read("b") == std::vector<ReadLine>{{"b", 1, false}});
  }

  // Goal: no byte is lost or doubled where a line crosses chunks, whatever the lengths.
  TEST_CASE("random bytes of random line lengths come out as they went in") {
    std::mt19937 random(20240607);  // NOLINT: a test is to be the same each time
    for (int round = 0; round < 20; ++round) {
      CAPTURE(round);
      std::string bytes;
      while (bytes.size() < (1U << 20U)) {
        const std::size_t size = random() % 8 == 0 ? random() % 600'000 : random() % 200;
        for (std::size_t index = 0; index < size; ++index) {
          bytes += static_cast<char>(random() % 4 == 0 ? random() % 256 : 'x');
        }
        if (random() % 16 != 0) bytes += '\n';
      }
      Reading reading;
      CHECK(put_together(reading.read(bytes)) == bytes);
      CHECK(reading.memory.held_bytes() == 0);
    }
  }

  TEST_CASE("lines stay as they are while their reader goes on") {
    const TemporaryFolder folder;
    std::string bytes;
    for (int index = 0; index < 100'000; ++index) bytes += "line " + std::to_string(index) + "\n";
    Reading reading;
    const ReaderContext shared = reading.context();
    std::vector<Line> kept;
    {
      LineReader reader(open_input(folder.write("input", bytes)), reading.source, shared);
      Line line;
      while (reader.fill()) {
        while (reader.next(line)) kept.push_back(std::move(line));
      }
    }
    REQUIRE(kept.size() == 100'000);
    std::string copy;
    for (const Line& line : kept) copy += std::string(line.text()) + "\n";
    CHECK(copy == bytes);
    CHECK(reading.memory.held_bytes() > 0);
    kept.clear();
    CHECK(reading.memory.held_bytes() == 0);
  }

  TEST_CASE("a line that arrives in pieces is one line") {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    FileDescriptor write_end(ends[1]);
    Reading reading;
    const ReaderContext shared = reading.context();
    FileDescriptor read_end(ends[0]);
    LineReader reader(std::move(read_end), reading.source, shared);
    Line line;
    for (const std::string_view piece : {"ab", "cd", "e\nf"}) {
      REQUIRE(write(write_end.get(), piece.data(), piece.size()) ==
              static_cast<ssize_t>(piece.size()));
      REQUIRE(reader.fill());
      if (piece != "e\nf") CHECK_FALSE(reader.next(line));
    }
    REQUIRE(reader.next(line));
    CHECK(line.text() == "abcde");
    CHECK_FALSE(reader.next(line));
    write_end.close();
    REQUIRE(reader.fill());
    REQUIRE(reader.next(line));
    CHECK(line.text() == "f");
    CHECK_FALSE(reader.next(line));
    CHECK_FALSE(reader.fill());
  }

  TEST_CASE("after a stop nothing more is read, and what is unfinished can be had as a line") {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const FileDescriptor write_end(ends[1]);
    Reading reading;
    const ReaderContext shared = reading.context();
    FileDescriptor read_end(ends[0]);
    LineReader reader(std::move(read_end), reading.source, shared);
    Line line;
    REQUIRE(write(write_end.get(), "a\nb", 3) == 3);
    REQUIRE(reader.fill());
    REQUIRE(reader.next(line));
    REQUIRE_FALSE(reader.next(line));
    REQUIRE(write(write_end.get(), "c\n", 2) == 2);
    reading.control.stop_for_signal(SIGTERM);
    CHECK_FALSE(reader.fill());
    CHECK_FALSE(reader.is_at_end());
    CHECK_FALSE(reader.is_rereadable());
    REQUIRE(reader.next_cut_line(line));
    CHECK(line.text() == "b");
    CHECK_FALSE(line.is_terminated());
    CHECK_FALSE(reader.next_cut_line(line));
  }

  TEST_CASE("a line of exactly max_line_bytes is read, a longer one refused by its number") {
    Reading reading;
    reading.max_line_bytes = 5;
    CHECK(reading.read("12345\n12345").size() == 2);
    CHECK_THROWS_WITH_AS(static_cast<void>(reading.read("1\n123456\n")),
                         "line 2 is longer than 5 bytes (--max-line)", ReadError);
    CHECK_THROWS_AS(static_cast<void>(reading.read("123456")), ReadError);
  }

  TEST_CASE("an endless line is refused before memory runs out") {
    Reading reading;
    reading.max_line_bytes = 1U << 20U;
    CHECK_THROWS_AS(static_cast<void>(reading.read(open_input("/dev/zero"))), ReadError);
    CHECK(reading.memory.held_bytes() == 0);
  }

  TEST_CASE("a missing file and a folder are refused with the system's reason") {
    const TemporaryFolder folder;
    CHECK_THROWS_WITH_AS(static_cast<void>(open_input(folder.path("missing"))),
                         "No such file or directory", ReadError);
    CHECK_THROWS_WITH_AS(static_cast<void>(open_input(folder.path())), "Is a directory", ReadError);
  }
}

TEST_SUITE("text_memory") {
  TEST_CASE("there is room up to the limit, and it is waited for above it, with flushes") {
    TextMemory memory(100);
    const std::stop_source never;
    memory.add(100);
    CHECK(memory.wait_for_room(never.get_token(), [] { FAIL("no need to flush"); }));
    memory.add(1);
    int flushes = 0;
    CHECK(memory.wait_for_room(never.get_token(), [&] {
      if (++flushes == 2) memory.remove(1);
    }));
    CHECK(flushes == 2);
  }

  TEST_CASE("a stop ends the wait for room") {
    TextMemory memory(100);
    memory.add(101);
    std::stop_source stop;
    CHECK_FALSE(memory.wait_for_room(stop.get_token(), [&stop] { stop.request_stop(); }));
  }
}

}  // namespace
}  // namespace databuffer::tools
