// What `databuffer tune` says about its arguments, before it measures anything.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"
#include "tools/databuffer/quantities.hpp"
#include "tools/databuffer/space_cli.hpp"
#include "tools/databuffer/tune_progress.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace std::chrono_literals;
using namespace tools;
using ingest_tests::contains;
using ingest_tests::Outcome;
using ingest_tests::read_file;
using ingest_tests::run;
using ingest_tests::TemporaryFolder;
using Words = std::vector<std::string>;
using Counts = std::vector<std::size_t>;

struct BadArgument {
  const char* flag;
  const char* value;
  const char* expected;  ///< A part of the accepted range or form.
};

constexpr BadArgument kBadArguments[] = {
    {"--partitions", "0", "1 to 1024"},
    {"--partitions", "1,2,1025", "1 to 1024"},
    {"--partitions", "1,,2", "a list such as 1,2,4"},
    {"--partitions", "8..2", "from the lower to the higher"},
    {"--partitions", "1...4", "whole number"},
    {"--partitions", "", "whole number"},
    {"--max-size", "0..10", "1 to 2147483648"},
    {"--max-size", "100..", "whole number"},
    {"--max-size", "big", "100..20k"},
    {"--capacity", "50", "expected 100 or more"},
    {"--capacity", "0x", "1 to 1000000"},
    {"--capacity", "x", "whole number"},
    {"--capacity", "4x..8x", "4x,16x"},
    {"--wait", "adaptive,sleep", "adaptive, spin, yield or park"},
    {"--wait", "", "adaptive, spin, yield or park"},
    {"--objective", "speed", "throughput, latency, memory or balanced"},
    {"--max-p99", "0s", "1ns"},
    {"--max-p99", "10", "unit"},
    {"--max-memory", "0", "1 byte or more"},
    {"--max-memory", "many", "bytes"},
    {"--budget", "6100ms", "6200ms to"},  // 32 candidates and 30
    {"--budget", "60", "unit"},
    {"--budget", "25h", "86400s"},
    {"--budget", "forever", "86400s"},
    {"--run", "9ms", "10ms"},
    {"--run", "0s", "10ms"},
    {"--json", "", "path"},
    {"--plot", "plot.pdf", ".svg or .png"},
    {"--report", "-", "path of a file"},
    {"--producers", "0", "1 to 1024"},
    {"--payload", "9", "bytes"},
    {"--rate", "0", "1 to"},
    {"--handler-fixed", "2", "unit"},
    {"--flush-interval", "10", "unit"},
    {"--max-size-jitter", "2147483649", "0 to 2147483648"},
};

TEST_SUITE("tune arguments") {
  TEST_CASE("a bad value is refused with exit code 2, naming flag and what is accepted") {
    for (const BadArgument& bad : kBadArguments) {
      CAPTURE(bad.flag);
      CAPTURE(bad.value);
      const Outcome outcome = run({"tune", bad.flag, bad.value});
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, bad.expected));
      CHECK((contains(outcome.err, bad.flag) || contains(outcome.err, "--capacity")));
    }
  }

  TEST_CASE("combinations that make no sense are refused") {
    const auto refused = [](Words words, const char* flag, const char* expected) {
      words.insert(words.begin(), "tune");
      const Outcome outcome = run(words);
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(contains(outcome.err, flag));
      CHECK(contains(outcome.err, expected));
    };
    refused({"--budget", "5s", "--run", "1s"}, "--budget", "62s to 86400s");
    refused({"--budget", "1s", "--partitions", "1", "--max-size", "100", "--run", "500ms"},
            "--budget", "16s to 86400s: a --run of 500ms for each of 2 candidates, and 30 more");
    refused({"--json", "-", "--csv", "-"}, "--csv", "that is where --json writes to");
    refused({"--report", "a.html", "--json", "a.html"}, "--report", "expected another");
    // The defaults flush after 10 to 12 s and an item of 5/s: three times in 36.6 s.
    refused({"--rate", "5", "--partitions", "1", "--max-size", "10"}, "--budget",
            "'60s': expected 1464s to 86400s: a run of 45750ms for each of 2 candidates");
    refused({"--rate", "100k", "--budget", "1s", "--partitions", "1"}, "--budget",
            "a shorter --flush-interval");
    // What is blamed can be changed so that there is a budget.
    refused({"--rate", "1", "--batch", "1000", "--flush-interval", "100ms", "--budget", "10s",
             "--partitions", "1", "--max-size", "10"},
            "--rate: '1': ", "expected a higher --rate, or a --batch smaller than 1000");
    refused({"--rate", "100", "--batch", "1000", "--flush-interval", "100ms", "--partitions", "1",
             "--max-size", "10"},
            "--budget: '60s': expected ", "a higher --rate or a smaller --batch needs less");
    refused({"--rate", "1", "--flush-interval", "10h", "--partitions", "1", "--max-size", "10"},
            "--flush-interval: '36000s': ", "expected a shorter --flush-interval");
    refused({"--run", "1h"}, "--run: '3600s': ", "expected a shorter --run, or fewer candidates");
    refused({"--sink", "null", "--handler-fixed", "1ms"}, "--handler-fixed", "only one of the two");
    refused({"--max-size", "2000..4000", "--capacity", "1k"}, "--capacity", "2000 or more");
    refused({"--max-size-jitter", "15001", "--capacity", "15k"}, "--capacity", "15101 or more");
    refused({"--partitions", "1..1024", "--max-size", "1..2G", "--capacity",
             "1x,2x,3x,4x,5x,6x,7x,8x,9x", "--wait", "adaptive,spin,yield,park"},
            "--max-size", "10000 combinations");
  }

  TEST_CASE("an output that cannot be written is found before anything is measured") {
    const TemporaryFolder folder;
    for (const char* const flag : {"--json", "--csv", "--plot", "--report"}) {
      CAPTURE(flag);
      const std::string path = folder.write("out.svg", "");
      std::filesystem::permissions(path, std::filesystem::perms::owner_read);
      const std::string sink = folder.write("lines", "an earlier run's\n");
      const Outcome outcome = run({"tune", "--sink", "file:" + sink, flag, path});
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 1);
      CHECK(read_file(sink) == "an earlier run's\n");
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, flag));
      CHECK(contains(outcome.err, path));
      CHECK(contains(outcome.err, "Permission denied"));
    }
  }

  TEST_CASE("lists and ranges are read as they are meant") {
    CHECK(parse_counts("4,1,2,2", 1, 100) == Counts{1, 2, 4});
    CHECK(parse_counts("100..20k", 1, 1 << 20) ==
          Counts{100, 200, 500, 1000, 2000, 5000, 10'000, 20'000});
    CHECK(parse_counts("3,10..50,7", 1, 100) == Counts{3, 7, 10, 20, 50});
    CHECK(counts_text(parse_counts("1..8", 1, 8)) == "1,2,5,8");
    using Rules = std::vector<tuning::CapacityRule>;
    CHECK(parse_capacities("4x,16x,50k") == Rules{{4, true}, {16, true}, {50'000, false}});
    CHECK(parse_capacities("1k..5k") == Rules{{1000, false}, {2000, false}, {5000, false}});
    using Waits = std::vector<WaitStrategy>;
    CHECK(parse_waits("park,adaptive,park") == Waits{WaitStrategy::kPark, WaitStrategy::kAdaptive});
    CHECK(parse_goal("balanced") == tuning::Goal::kBalanced);
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_counts("1,x", 1, 9)), doctest::Contains("at 'x'"),
                         BadQuantity);
  }

  TEST_CASE("the help names every argument, its default, and the objectives") {
    const Outcome outcome = run({"tune", "--help"});
    CHECK(outcome.exit_code == 0);
    for (const char* const word : {"--partitions LIST",
                                   "1,2,4,8",
                                   "--max-size LIST",
                                   "100..20k",
                                   "--capacity LIST",
                                   "4x",
                                   "--wait LIST",
                                   "--objective",
                                   "--max-p99",
                                   "--max-memory",
                                   "--budget",
                                   "60s",
                                   "--run",
                                   "--json",
                                   "--csv",
                                   "--plot",
                                   "--report",
                                   "--quiet",
                                   "--producers",
                                   "--handler-fixed",
                                   "--flush-interval",
                                   "balanced"}) {
      CAPTURE(word);
      CHECK(contains(outcome.out, word));
    }
    CHECK_FALSE(contains(outcome.out, "--partitions COUNT"));
  }

  TEST_CASE("the progress line shows per cent, bar, race, best and time left, within its width") {
    tuning::SearchProgress progress{.is_final = false,
                                    .runs = 100,
                                    .candidates = 32,
                                    .kept = 5,
                                    .elapsed = 14s,
                                    .budget = 60s,
                                    .best = tuning::Candidate{.partitions = 4, .max_size = 1000},
                                    .best_measured = {}};
    progress.best_measured.items_per_s = 3.41e6;
    progress.best_measured.age.p99 = 0.0045;
    CHECK(tune_progress_text(progress, 15s, 120) ==
          " 25 % [#######                       ] 5/32 racing  best: 4 x 1000, 3.41 M/s, p99 4.50 "
          "ms  00:45 left");
    progress.is_final = true;
    CHECK(contains(tune_progress_text(progress, 70s, 120),
                   "100 % [##############################] final"));
    CHECK(contains(tune_progress_text(progress, 70s, 120), "00:00 left"));
    for (std::size_t columns = 0; columns < 130; ++columns) {
      CHECK(tune_progress_text(progress, 15s, columns).size() <= columns);
    }
    CHECK(contains(tune_progress_text({}, 0s, 80), "100 %"));
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
