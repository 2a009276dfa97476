// The recommendation: text that a user pastes, and sentences that say how sure it is.

#include "tools/tuning/recommendation.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "ingest/temporary_folder.hpp"
#include "tuning/findings.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace std::chrono_literals;
using namespace tuning;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Every value that is not code differs from its default.
Options unusual() {
  Options options;
  options.name =
      "a \"b\"\\ \n\x01"
      "1?\?/ ü";
  options.max_size_jitter = 7;
  options.flush_interval = kForever;
  options.flush_jitter = 1500us;
  options.flush_timeout = 90s;
  options.overflow = Overflow::kDropOldest;
  options.insert_timeout = 1ns;
  options.close_timeout = 20ms;
  options.seed = UINT64_MAX;
  return options;
}

TEST_SUITE("recommendation") {
  // Goal: what is pasted compiles, and says what was measured.
  // Method: a program that compares it, field by field, with what it was made from; compiled and
  // run.
  TEST_CASE("the C++ text compiles as it stands, and has the values it was made from") {
    const Options base = unusual();
    const Candidate candidate{
        .partitions = 3, .max_size = 700, .capacity = 2900, .wait = WaitStrategy::kPark};
    const std::string program =
        "#include <databuffer/options.hpp>\n" + cpp_text(base, candidate) +
        "int main() {\n"
        "  using namespace std::chrono_literals;\n"
        "  return options.name == std::string(\"a \\042b\\042\\134 \\012\\0011\\077\\077/ ü\")"
        " && options.partitions == 3 && options.max_size == 700 && options.capacity == 2900"
        " && options.wait_strategy == databuffer::WaitStrategy::kPark"
        " && options.max_size_jitter == 7 && options.flush_interval == databuffer::kForever"
        " && options.flush_jitter == 1500us && options.flush_timeout == 90s"
        " && options.overflow == databuffer::Overflow::kDropOldest"
        " && options.insert_timeout == 1ns && options.close_timeout == 20ms"
        " && options.seed == 18446744073709551615U ? 0 : 1;\n}\n";
    const ingest_tests::TemporaryFolder folder;
    const std::string source = folder.write("paste.cpp", program);
    const std::string output = folder.path("paste");
    const std::string compile =
        std::string(DATABUFFER_COMPILE) + " -o '" + output + "' '" + source + "' 2>&1";
    INFO(program);
    REQUIRE(std::system(compile.c_str()) == 0);
    CHECK(std::system(("'" + output + "'").c_str()) == 0);
  }

  TEST_CASE("what is at its default is left out, but for the values that were searched") {
    Options base;
    base.name = "events";
    CHECK(cpp_text(base, {}) ==
          "const databuffer::Options options{\n"
          "    .name = \"events\",\n"
          "    .partitions = 1,\n"
          "    .max_size = 5000,\n"
          "    .capacity = 20000,\n"
          "    .wait_strategy = databuffer::WaitStrategy::kAdaptive,\n"
          "};\n");
  }

  TEST_CASE("the flags are those of the command") {
    CHECK(flags_text(
              {.partitions = 4, .max_size = 100, .capacity = 900, .wait = WaitStrategy::kYield}) ==
          "--partitions 4 --max-size 100 --capacity 900 --wait yield");
  }

  TEST_CASE("a clear win is stated with interval and chance") {
    const SearchResult result = usual_findings().result;
    const std::string text = win_text(result);
    CAPTURE(text);
    CHECK(contains(text, "times that of the defaults (95 % interval "));
    CHECK(contains(text, "better in " + std::to_string(result.over_default.rounds) + " of " +
                             std::to_string(result.over_default.rounds) + " rounds"));
    CHECK(contains(text, "that would happen with a chance of 0."));
  }

  TEST_CASE("what is not clear is not claimed") {
    SearchResult result = usual_findings().result;
    result.over_default = {.rounds = 8,
                           .won = 5,
                           .ratio = {.low = 0.9, .median = 1.05, .high = 1.2, .is_range = false},
                           .chance = 0.36};
    CHECK(contains(win_text(result),
                   "No clear difference from the defaults. Its score is 5.0 % "
                   "above that of the defaults (95 % interval -10.0 % … +20.0 %"));
    result.over_default.ratio = {.low = 1.2, .median = 1.3, .high = 1.4, .is_range = true};
    CHECK(contains(win_text(result), "No clear difference"));
    CHECK(contains(win_text(result), "too few rounds for an interval"));
    result.over_default = {};
    CHECK(contains(win_text(result), "not compared with the defaults"));
    result.over_default.rounds = 8;
    result.over_default.ratio = {.low = 0.5, .median = 0.6, .high = 0.7, .is_range = false};
    CHECK(contains(win_text(result), "It led the race by luck"));
    CHECK(contains(win_text(result), "40.0 % below that of the defaults"));
    CHECK(contains(win_text(result), "keep the defaults"));
    // Unless the defaults are no choice: they break a limit, or flush nothing.
    Entry& defaults = result.entries[*result.default_entry];
    defaults.excess = 1.5;
    defaults.measured.flushed = 1;
    CHECK(contains(win_text(result), "40.0 % below that of the defaults"));
    CHECK(contains(win_text(result), "but they are over the limits asked for"));
    defaults.measured.flushed = 0;
    CHECK(contains(win_text(result), "but they flushed nothing"));
  }

  TEST_CASE("where the defaults win it says so") {
    const auto flat = [](const Candidate&) {
      Measurement measured;
      measured.items_per_s = 1e6;
      return measured;
    };
    SyntheticMachine machine(flat, {});
    SearchSettings settings;
    settings.clock = &machine.clock();
    const SearchResult result =
        search(candidates_of(default_space(2)), machine.measure(), settings);
    CHECK(contains(win_text(result), "The defaults are it"));
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
