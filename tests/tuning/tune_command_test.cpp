// `databuffer tune` as a whole, with budgets of a second or two. What wins is not asserted: that is
// for the search's own tests, where the truth is known.

#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
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

// Five candidates with the defaults, for two seconds.
Words small_search(const Words& more) {
  Words words{"tune", "--partitions", "1,2",  "--max-size",      "100,1000", "--budget",
              "2s",   "--run",        "20ms", "--handler-fixed", "200us"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_SUITE("tune command") {
  TEST_CASE(
      "it prints the candidates and a recommendation, and writes every output that was asked for") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run(small_search({"--json", folder.path("a.json"), "--csv", folder.path("a.csv"), "--plot",
                          folder.path("a.svg"), "--report", folder.path("a.html")}));
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

  TEST_CASE("--json - has the whole standard output, and --quiet leaves it empty") {
    const Outcome json = run(small_search({"--json", "-"}));
    CHECK(json.exit_code == 0);
    CHECK_FALSE(nlohmann::json::parse(json.out, nullptr, false).is_discarded());
    const Outcome quiet = run(small_search({"--quiet"}));
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
  }

  TEST_CASE("Ctrl-C ends it with the best so far, and exit code 130") {
    Child child(ChildSettings{.arguments = {"tune", "--budget", "300s", "--handler-fixed", "200us"},
                              .has_terminal = true});
    child.wait_for_error("best: ");  // something has been measured
    child.send(SIGINT);
    const Outcome outcome = child.wait();
    INFO("standard error: ", outcome.err);
    CHECK(outcome.exit_code == 130);
    CHECK(contains(outcome.err, "SIGINT: ends, with the best so far"));
    CHECK(contains(outcome.out, "Stopped before its end: this is the best so far."));
    CHECK(contains(outcome.out, "Recommended: "));
  }

  TEST_CASE("progress is for terminals: bar, race and time left") {
    Child child(ChildSettings{.arguments = small_search({}), .has_terminal = true});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.err, "/5 racing"));
    CHECK(contains(outcome.err, " left"));
    CHECK(contains(outcome.err, "best: "));
  }

  TEST_CASE("a real sink is tuned, and every item that was flushed is in it") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run({"tune", "--partitions", "1", "--max-size", "100,1000", "--budget", "2s", "--run",
             "50ms", "--sink", "sqlite:" + folder.path("a.db"), "--json", "-"});
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
    const Outcome closed = run({"tune", "--sink", "sqlite:" + folder.path("missing/a.db"),
                                "--budget", "10s", "--json", results});
    CHECK(closed.exit_code == 1);
    CHECK(read_file(results) == "an earlier run's");
    CHECK(contains(closed.err, "missing/a.db"));
    CHECK(closed.out.empty());

    Child full(ChildSettings{
        .arguments = {"tune", "--sink", "file:" + folder.path("lines"), "--budget", "10s"},
        .max_file_bytes = 1'000'000});
    const Outcome outcome = full.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "File too large"));
  }

  TEST_CASE("where every batch fails, nothing is recommended as if it were good") {
    const Outcome outcome = run(small_search({"--handler-fail", "100%"}));
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "Nothing was flushed"));
  }

  TEST_CASE("limits that nothing keeps are said to be so") {
    const Outcome outcome = run(small_search({"--max-p99", "1ns", "--json", "-"}));
    CHECK(outcome.exit_code == 0);
    const nlohmann::json json = nlohmann::json::parse(outcome.out);
    CHECK(json.at("is_within_limits") == false);
    CHECK(json.at("objective").at("max_p99_s").get<double>() == doctest::Approx(1e-9));
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
