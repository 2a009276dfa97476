// The progress line: what it says, and that only a terminal gets one.

#include "tools/databuffer/progress.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

using namespace std::chrono_literals;
using tools::progress_text;

TEST_SUITE("progress") {
  TEST_CASE("with a known size it shows per cent, a bar, lines, rate and time left") {
    CHECK(progress_text({.lines = 1000, .bytes = 250, .total_bytes = 1000, .elapsed = 2s}, 80) ==
          " 25 % [#######                       ] 1000 lines  500 lines/s  00:06 left");
    CHECK(progress_text({.lines = 7, .bytes = 1000, .total_bytes = 1000, .elapsed = 1s}, 80) ==
          "100 % [##############################] 7 lines  7 lines/s  00:00 left");
    CHECK(contains(progress_text({.lines = 1, .bytes = 1, .total_bytes = 7322, .elapsed = 1s}, 80),
                   "2:02:01 left"));
  }

  TEST_CASE("without a known size it shows lines and rate") {
    CHECK(progress_text({.lines = 1000, .bytes = 250, .total_bytes = {}, .elapsed = 2s}, 80) ==
          "1000 lines  500 lines/s");
  }

  TEST_CASE("a file that has grown since is at 100 %, an empty one too, and nothing overflows") {
    CHECK(contains(progress_text({.lines = 2, .bytes = 20, .total_bytes = 10, .elapsed = 1s}, 80),
                   "100 %"));
    CHECK(contains(progress_text({.lines = 0, .bytes = 0, .total_bytes = 0, .elapsed = 1s}, 80),
                   "100 %"));
    CHECK(contains(progress_text({.lines = 0, .bytes = 0, .total_bytes = 10, .elapsed = 0s}, 80),
                   "0 %"));
    CHECK(contains(
        progress_text({.lines = 1, .bytes = 1, .total_bytes = UINT64_MAX, .elapsed = 100h}, 80),
        "1 lines"));
  }

  TEST_CASE("it is never wider than the terminal") {
    for (std::size_t columns = 0; columns < 100; ++columns) {
      CAPTURE(columns);
      CHECK(progress_text({.lines = 123'456, .bytes = 5, .total_bytes = 9, .elapsed = 3s}, columns)
                .size() <= columns);
    }
  }

  TEST_CASE("a terminal gets a progress line, with a known size and without, and is left clean") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", "a\nb\n");
    const std::string fifo = folder.path("fifo");
    Child unknown({.arguments = {"ingest", "--sink", "null"}, .has_terminal = true});
    unknown.write_input("a\nb\n");
    unknown.wait_for_error("2 lines  ");
    const Outcome outcome = unknown.wait();
    CHECK(outcome.exit_code == 0);
    CHECK_FALSE(contains(outcome.err, "%"));
    CHECK(outcome.err.ends_with("\r\x1b[K"));

    // A known size, held up by a pipe that nobody reads.
    std::string text;
    for (int line = 0; line < 2'000; ++line) text += std::string(1'000, 'x') + "\n";
    const std::string large = folder.write("large", text);
    Child known(ChildSettings{
        .arguments = {"ingest", large, "--sink", "stdout", "--max-size", "10", "--capacity", "1k"},
        .has_terminal = true,
        .reads_output = false});
    known.wait_for_error(" % [");
    known.wait_for_error(" left");
    CHECK(known.wait().exit_code == 0);
  }

  TEST_CASE("--quiet shows no progress even to a terminal") {
    Child child({.arguments = {"ingest", "--sink", "null", "--quiet"}, .has_terminal = true});
    child.write_input("a\n");
    child.wait_until_input_is_read();
    std::this_thread::sleep_for(300ms);  // three looks
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
  }

  TEST_CASE("what is no terminal gets no progress") {
    Child child({"ingest", "--sink", "null"});
    child.write_input("a\n");
    child.wait_until_input_is_read();
    std::this_thread::sleep_for(300ms);  // three looks
    CHECK(child.wait().err.empty());
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
