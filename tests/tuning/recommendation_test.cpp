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
      "1?\?/ ü\xC3";
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
        "  return options.name == std::string(\"a \\042b\\042\\134 \\012\\0011\\077\\077/ ü\\303\")"
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

  TEST_CASE("the flags say what the C++ says, and leave out what is at its default") {
    const Candidate candidate{
        .partitions = 4, .max_size = 100, .capacity = 900, .wait = WaitStrategy::kYield};
    Options base;
    base.name = kUsualName;
    CHECK(flags_text(base, candidate) ==
          "--partitions 4 --max-size 100 --capacity 900 --wait yield");
    base = unusual();
    base.name = "it's";
    base.retry = {.attempts = 3, .initial_backoff = 20ms};
    CHECK(flags_text(base, candidate) ==
          "--name 'it'\\''s' --partitions 4 --max-size 100 --max-size-jitter 7 --flush-interval "
          "forever --flush-jitter 1500us --flush-timeout 90s --capacity 900 --retry-attempts 3 "
          "--retry-backoff 20ms --overflow drop-oldest --insert-timeout 1ns --close-timeout 20ms "
          "--wait yield --seed 18446744073709551615");
  }

  // Goal: a flag for every value that the C++ has and that a flag can set.
  // Method: change one option at a time: where the C++ differs, so do the flags.
  TEST_CASE("what changes the C++ changes the flags") {
    const auto differs = [](auto change) {
      Options base;
      change(base);
      CHECK(cpp_text(base, {}) != cpp_text({}, {}));
      CHECK(flags_text(base, {}) != flags_text({}, {}));
    };
    differs([](Options& base) { base.name = "other"; });
    differs([](Options& base) { base.max_size_jitter = 1; });
    differs([](Options& base) { base.flush_interval = 1ms; });
    differs([](Options& base) { base.flush_jitter = 1ms; });
    differs([](Options& base) { base.flush_timeout = 1ms; });
    differs([](Options& base) { base.overflow = Overflow::kReject; });
    differs([](Options& base) { base.insert_timeout = 1ms; });
    differs([](Options& base) { base.close_timeout = 1ms; });
    differs([](Options& base) { base.retry.attempts = 2; });
    differs([](Options& base) { base.retry.initial_backoff = 1ms; });
    differs([](Options& base) { base.seed = 1; });
  }

  TEST_CASE("a clear win is stated with interval and chance") {
    const SearchResult result = usual_findings().result;
    const std::string text = win_text(result);
    CAPTURE(text);
    CHECK(contains(text, "times that of the defaults (95 % interval "));
    CHECK(contains(text, "better in " + std::to_string(result.over_default.rounds) + " of " +
                             std::to_string(result.over_default.rounds) + " rounds"));
    CHECK(contains(text, "that would happen with a chance of less than 0.01 %"));
  }

  TEST_CASE("what is clear: nearly every round, or two rounds where it is obvious, and 1 %") {
    const auto is_clear = [](std::size_t rounds, std::size_t won, Interval ratio) {
      return Comparison{
          .rounds = rounds, .won = won, .ratio = ratio, .chance = chance_of_heads(won, rounds)}
          .is_clear();
    };
    const Interval some{.low = 1.01, .median = 1.1, .high = 1.2, .is_range = false};
    CHECK_FALSE(is_clear(0, 0, {}));
    CHECK_FALSE(is_clear(9, 9, some));
    CHECK(is_clear(10, 10, some));
    CHECK_FALSE(is_clear(10, 9, some));
    CHECK(is_clear(30, 24, some));
    CHECK_FALSE(is_clear(30, 23, some));
    CHECK_FALSE(is_clear(30, 30, {.low = 1.004, .median = 1.009, .high = 1.01, .is_range = false}));
    const Interval obvious{.low = 3.1, .median = 4, .high = 5, .is_range = true};
    CHECK_FALSE(is_clear(1, 1, obvious));
    CHECK(is_clear(2, 2, obvious));
    CHECK_FALSE(is_clear(2, 2, {.low = 2.9, .median = 4, .high = 5, .is_range = true}));
  }

  TEST_CASE("where the defaults are no choice it says why another wins") {
    SearchResult result = usual_findings().result;
    REQUIRE_FALSE(result.is_winner_default());
    result.over_default = {.rounds = 30,
                           .won = 2,
                           .ratio = {.low = 0.5, .median = 0.6, .high = 0.7, .is_range = false},
                           .chance = 1};
    Entry& defaults = result.entries[result.default_entry];
    defaults.excess = 1.5;
    defaults.measured.flushed = 1;
    CHECK(contains(win_text(result), "40.0 % below that of the defaults"));
    CHECK(contains(win_text(result), "but they are over the limits asked for"));
    defaults.measured.flushed = 0;
    CHECK(contains(win_text(result), "but they flushed nothing"));
    result.over_default = {};
    CHECK(win_text(result) == "The defaults flushed nothing.");
    defaults.measured.flushed = 1;
    CHECK(win_text(result) == "The defaults are over the limits asked for.");
  }

  TEST_CASE("where the defaults win it says so, and why") {
    Findings findings = flat_findings();
    SearchResult& result = findings.result;
    REQUIRE(result.is_winner_default());
    CHECK(title_text(result) ==
          "Recommended: 1 partition, max_size 5000, capacity 20000, adaptive (the defaults)");
    CHECK(win_text(result) == "The defaults are kept: nothing that was tried is clearly better.");
    CHECK(contains(runner_up_text(result), "No clear difference from the runner-up. "));
    result.over_runner_up = {};
    CHECK(contains(win_text(result), "there was no time to compare"));
    CHECK(runner_up_text(result).empty());
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
