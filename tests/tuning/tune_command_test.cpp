// `databuffer tune` as a whole, with budgets of a second or two. What wins is not asserted: that is
// for the search's own tests, where the truth is known.

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::tuning_tests {
namespace {

using ingest_tests::Child;
using ingest_tests::ChildSettings;
using ingest_tests::contains;
using ingest_tests::Outcome;
using ingest_tests::read_file;
using ingest_tests::run;
using ingest_tests::TemporaryFolder;
using Words = std::vector<std::string>;

// Five candidates with the defaults, for so many seconds.
Words small_search(const Words& more, int seconds = 3) {
  Words words{"tune",
              "--partitions",
              "1,2",
              "--max-size",
              "100,1000",
              "--run",
              "20ms",
              "--handler-fixed",
              "200us",
              "--budget",
              std::to_string(seconds) + "s"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Runs what `words_of` gives for so many seconds, longer each time, until that is enough: on a busy
// machine some milliseconds may pass without two batches.
template <class WordsOf>
Outcome run_until_measured(WordsOf words_of) {
  for (int seconds = 3;; seconds *= 2) {
    Outcome outcome = run(words_of(seconds));
    if (!contains(outcome.err, "the budget is too small")) return outcome;
  }
}

Outcome run_small_search(const Words& more) {
  return run_until_measured([&more](int seconds) { return small_search(more, seconds); });
}

std::set<std::string> names_in(const TemporaryFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST_SUITE("tune command") {
  TEST_CASE(
      "it prints the candidates and a recommendation, and writes every output that was asked for") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run_small_search({"--json", folder.path("a.json"), "--csv", folder.path("a.csv"), "--plot",
                          folder.path("a.svg"), "--report", folder.path("a.html")});
    INFO("standard error: ", outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    for (const char* const word :
         {"partitions", "winner", "default", "###", "Recommended: ", "What limits now: ",
          "const databuffer::Options options{", ".name = \"tuned\"", "--partitions "}) {
      CAPTURE(word);
      CHECK(contains(outcome.out, word));
    }
    const nlohmann::json json = nlohmann::json::parse(read_file(folder.path("a.json")));
    // On a machine that has no time for us some candidates may not be run: then it says so.
    CHECK(json.at("candidates").size() + json.at("not_run").get<std::size_t>() == 5);
    CHECK(contains(outcome.out, json.at("flags").get<std::string>()));
    CHECK_FALSE(contains(outcome.out, "close_timeout"));  // the trials', not the user's
    CHECK(contains(json.at("workload").get<std::string>(), "; handler waits 200us + 0s/item"));
    CHECK(contains(read_file(folder.path("a.csv")), "partitions,max_size"));
    CHECK(contains(read_file(folder.path("a.svg")), "</svg>"));
    CHECK(contains(read_file(folder.path("a.html")), "</html>"));
  }

  TEST_CASE("what is recommended has every option that the trials were given") {
    const Words given{"--name",
                      "my queue",
                      "--overflow",
                      "drop-newest",
                      "--flush-interval",
                      "250ms",
                      "--flush-jitter",
                      "0s",
                      "--insert-timeout",
                      "2s",
                      "--seed",
                      "7",
                      "--retry-attempts",
                      "3",
                      "--retry-backoff",
                      "1ms",
                      "--max-size-jitter",
                      "5"};
    Words words = given;
    words.insert(words.end(), {"--json", "-"});
    const Outcome outcome = run_small_search(words);
    REQUIRE(outcome.exit_code == 0);
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    const auto flags = json.at("flags").get<std::string>();
    CAPTURE(flags);
    for (std::size_t flag = 0; flag < given.size(); flag += 2) {
      const bool is_name = given[flag] == "--name";
      CHECK(contains(flags, given[flag] + " " + (is_name ? "'my queue'" : given[flag + 1])));
    }
    // As a shell reads them.
    const std::string bench = "'" DATABUFFER_CLI_PATH "' bench --seconds 10ms --warmup 0 ";
    CHECK(std::system((bench + flags + " >/dev/null").c_str()) == 0);
  }

  TEST_CASE("--json - has the whole standard output, and --quiet leaves it empty") {
    const Outcome json = run_small_search({"--json", "-"});
    CHECK(json.exit_code == 0);
    CHECK_FALSE(nlohmann::json::parse(json.out, nullptr, false).is_discarded());
    const Outcome quiet = run_small_search({"--quiet"});
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
  }

  TEST_CASE("Ctrl-C ends it with what was found so far, and exit code 130") {
    Child child(ChildSettings{.arguments = {"tune", "--budget", "300s", "--handler-fixed", "200us"},
                              .has_terminal = true});
    child.wait_for_error("best: ");  // something has been measured
    child.send(SIGINT);
    const Outcome outcome = child.wait();
    INFO("standard error: ", outcome.err);
    CHECK(outcome.exit_code == 130);
    CHECK(contains(outcome.err, "SIGINT: ends, with what was found so far"));
    CHECK(contains(outcome.out, "Stopped before its end: this is what was found so far."));
    CHECK(contains(outcome.out, "Recommended: "));
  }

  TEST_CASE("progress is for terminals: bar, race and time left") {
    Child child(ChildSettings{.arguments = small_search({}, 6), .has_terminal = true});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err, "/5 racing"));
    CHECK(contains(outcome.err, " left"));
    CHECK(contains(outcome.err, "best: "));
  }

  // Goal: the user's data is the user's, and a sweep leaves nothing behind, however it ends.
  TEST_CASE("a real sink is tuned in a scratch file, and the folder is as it was before") {
    for (const std::string kind : {"sqlite:", "file:"}) {
      CAPTURE(kind);
      const TemporaryFolder folder;
      const std::string data = folder.write("data", "the user's\n");
      const auto is_as_before = [&] {
        return names_in(folder) == std::set<std::string>{"data"} &&
               read_file(data) == "the user's\n";
      };
      const Outcome outcome = run({"tune", "--partitions", "1", "--max-size", "100,1000",
                                   "--budget", "2s", "--run", "20ms", "--sink", kind + data});
      INFO("standard error: ", outcome.err);
      // On a machine that has no time for us that budget may not do.
      CHECK((outcome.exit_code == 0 || contains(outcome.err, "the budget is too small")));
      CHECK(is_as_before());
      const std::vector<std::vector<int>> endings{{SIGINT}, {SIGQUIT}, {SIGINT, SIGTERM}};
      for (const std::vector<int>& signals : endings) {
        Child child({"tune", "--budget", "300s", "--sink", kind + data});
        child.wait_until("for the scratch file", [&] { return names_in(folder).size() > 1; });
        for (const int signal : signals) child.send(signal);  // a second ends it at once
        const Outcome ended = child.wait();
        INFO("standard error: ", ended.err);
        CHECK(
            (ended.exit_code == 128 + signals.front() || ended.exit_code == 128 + signals.back()));
        CHECK(is_as_before());
      }
      Child full(ChildSettings{.arguments = {"tune", "--sink", kind + data, "--budget", "10s"},
                               .max_file_bytes = 20'000});
      CHECK(full.wait().exit_code == 1);
      CHECK(is_as_before());
    }
  }

  TEST_CASE("where memory runs out in the middle it says so, and leaves no scratch file" *
            doctest::skip(ingest_tests::kHasNoMemoryLimit)) {
    for (const std::string kind : {"sqlite:", "file:"}) {
      CAPTURE(kind);
      const TemporaryFolder folder;
      Child child(ChildSettings{
          .arguments = {"tune", "--partitions", "1,64", "--max-size", "1000", "--run", "10ms",
                        "--budget", "6s", "--sink", kind + folder.path("data")},
          .max_memory_bytes = 300'000'000});
      const Outcome outcome = child.wait();
      INFO("standard error: ", outcome.err);
      CHECK(outcome.exit_code == 1);
      CHECK((contains(outcome.err, "tune: cannot start a buffer of 64 partitions: Resource") ||
             contains(outcome.err, "tune: out of memory")));
      CHECK(names_in(folder).empty());
    }
  }

  TEST_CASE("a real sink is tuned, and items are stored") {
    const TemporaryFolder folder;
    const Outcome outcome = run_until_measured([&folder](int seconds) {
      return Words{"tune",
                   "--partitions",
                   "1",
                   "--max-size",
                   "100,1000",
                   "--run",
                   "20ms",
                   "--budget",
                   std::to_string(seconds) + "s",
                   "--sink",
                   "sqlite:" + folder.path("a.db"),
                   "--json",
                   "-"};
    });
    INFO("standard error: ", outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    CHECK(json.at("is_within_limits") == true);
    CHECK(contains(json.at("workload").get<std::string>(), "; sink sqlite:" + folder.path("a.db")));
    CHECK(json.at("candidates").size() + json.at("not_run").get<std::size_t>() == 3);
  }

  TEST_CASE("a sink that cannot be opened, or fails on the way, is reported, with exit code 1") {
    const TemporaryFolder folder;
    const std::string results = folder.write("a.json", "an earlier run's");
    std::filesystem::create_directory(folder.path("sealed"));
    std::filesystem::permissions(
        folder.path("sealed"),
        std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);  // no new files
    const Outcome closed = run({"tune", "--sink", "sqlite:" + folder.path("sealed/a.db"),
                                "--budget", "10s", "--json", results});
    CHECK(closed.exit_code == 1);
    CHECK(read_file(results) == "an earlier run's");
    CHECK(contains(closed.err, "sealed/a.db: cannot create a scratch file next to it"));
    CHECK(closed.out.empty());

    Child full(ChildSettings{
        .arguments = {"tune", "--sink", "file:" + folder.path("lines"), "--budget", "10s"},
        .max_file_bytes = 20'000});
    const Outcome outcome = full.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "File too large"));
  }

  TEST_CASE("where the budget has no room for a run that says something, it says that") {
    const Outcome outcome = run({"tune", "--partitions", "1", "--max-size", "100", "--budget", "3s",
                                 "--run", "20ms", "--handler-fixed", "1h"});
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "the budget is too small"));
    CHECK(outcome.out.empty());
  }

  TEST_CASE("where every batch fails, nothing is recommended as if it were good") {
    const Outcome outcome = run_small_search({"--handler-fail", "100%"});
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "Nothing was flushed"));
  }

  TEST_CASE("limits that nothing keeps are said to be so") {
    const Outcome outcome = run_small_search({"--max-p99", "1ns", "--json", "-"});
    CHECK(outcome.exit_code == 0);
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    CHECK(json.at("is_within_limits") == false);
    CHECK(json.at("objective").at("max_p99_s").get<double>() == doctest::Approx(1e-9));
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
