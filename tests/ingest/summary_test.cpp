// The summary, for programs and for people, and the overflow policies that it counts.

#include "tools/databuffer/summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/lines.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

std::set<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

TEST_SUITE("summary") {
  TEST_CASE("the JSON summary is one object with all its fields") {
    const Outcome outcome =
        run({"ingest", "--sink", "null", "--json", "-", "--max-size", "4"}, numbered_lines(10));
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    const nlohmann::json summary = summary_of(outcome);
    for (const char* const key : {"lines", "accepted", "flushed", "failed", "dropped", "batches",
                                  "mean_batch", "seconds", "rows_per_s"}) {
      CAPTURE(key);
      REQUIRE(summary.contains(key));
      CHECK(summary.at(key).is_number());
    }
    CHECK(summary.at("lines") == 10);
    CHECK(summary.at("batches") == 3);
    CHECK(summary.at("mean_batch").get<double>() == doctest::Approx(10.0 / 3.0));
    CHECK(summary.at("seconds").get<double>() > 0.0);
    CHECK(summary.at("signal").is_null());
    CHECK(summary.at("errors").empty());
    CHECK(summary.at("sources") == nlohmann::json::array({{{"source", "-"},
                                                           {"lines", 10},
                                                           {"stored_up_to", 10},
                                                           {"complete", true},
                                                           {"error", ""}}}));
  }

  TEST_CASE("the JSON summary replaces what a file held, and goes with the one for people") {
    const TemporaryFolder folder;
    const std::string json = folder.write("summary.json", std::string(10'000, 'x'));
    const Outcome outcome = run({"ingest", "--sink", "null", "--json", json}, "a\n");
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "flushed    1\n"));
    CHECK(nlohmann::json::parse(read_file(json)).at("flushed") == 1);
  }

  TEST_CASE("the summary for people goes to standard output, or, where lines go there, to stderr") {
    const Outcome stored = run({"ingest", "--sink", "null"}, "a\nb\n");
    for (const char* const line :
         {"lines      2\n", "accepted   2\n", "flushed    2\n", "failed     0\n", "dropped    0\n",
          "batches    1, 2.0 lines", " rows/s\n"}) {
      CAPTURE(line);
      CHECK(contains(stored.out, line));
    }
    CHECK(stored.err.empty());

    const Outcome printed = run({"ingest", "--sink", "stdout"}, "a\nb\n");
    CHECK(printed.out == "a\nb\n");
    CHECK(contains(printed.err, "flushed    2\n"));
  }

  TEST_CASE("--quiet prints no summary but --json, and errors all the same") {
    const TemporaryFolder folder;
    const Outcome quiet = run({"ingest", "--sink", "null", "--quiet"}, "a\n");
    CHECK(quiet.exit_code == 0);
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
    const Outcome with_json = run({"ingest", "--sink", "null", "--quiet", "--json", "-"}, "a\n");
    CHECK(summary_of(with_json).at("flushed") == 1);
    const Outcome failed = run({"ingest", "--sink", "null", "--quiet", folder.path("missing")});
    CHECK(failed.exit_code == 1);
    CHECK(contains(failed.err, "No such file or directory"));
  }

  TEST_CASE("a reader that goes away early is an error, not a silent death, and it adds up") {
    const TemporaryFolder folder;
    const std::string json = folder.path("summary.json");
    const std::string input = folder.write("input", numbered_lines(200'000));
    Child child(ChildSettings{.arguments = {"ingest", input, "--sink", "stdout", "--json", json},
                              .reads_output = false});
    child.close_output();
    Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "standard output: cannot write to it: Broken pipe"));
    outcome.out = read_file(json);
    const nlohmann::json summary = summary_of(outcome);
    CHECK(summary.at("flushed") == 0);
    CHECK(summary.at("failed").get<int>() > 0);

    Child other(ChildSettings{.arguments = {"ingest", "--sink", "null", "--json", json},
                              .reads_output = false});
    other.close_output();
    Outcome unheard = other.wait();
    CHECK(unheard.exit_code == 1);
    const std::string error = "standard output: cannot write the summary: Broken pipe";
    CHECK(contains(unheard.err, error));
    unheard.out = read_file(json);
    CHECK(summary_of(unheard).at("errors") == nlohmann::json::array({error}));  // and its exit_code
  }

  // Goal: whatever the policy gives up is counted, and what is left is in order.
  // Method: nobody reads standard output until all input is read, so the buffer must overflow.
  TEST_CASE("what an overflow policy gives up is counted") {
    const TemporaryFolder folder;
    const std::string input = folder.write("input", numbered_lines(100'000));
    const std::string json = folder.path("summary.json");
    struct Case {
      std::vector<std::string> words;
      const char* counted_as;
    };
    const Case cases[] = {{{"--overflow", "reject"}, "refused_full"},
                          {{"--overflow", "drop-newest"}, "dropped"},
                          {{"--overflow", "drop-oldest"}, "dropped"},
                          {{"--insert-timeout", "0s"}, "refused_timed_out"}};
    for (const Case& policy : cases) {
      CAPTURE(policy.words[1]);
      ChildSettings settings{.arguments = {"ingest", input, "--sink", "stdout", "--json", json,
                                           "--quiet", "--max-size", "10", "--capacity", "20"},
                             .reads_output = false};
      settings.arguments.insert(settings.arguments.end(), policy.words.begin(), policy.words.end());
      Child child(std::move(settings));
      // Something is out, so the input was open; now it no longer is.
      child.wait_until("until the input is read",
                       [&] { return child.output_waiting() > 0 && !child.has_open(input); });
      Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 1);  // it did what it was told, and that is not all
      const std::string lines = std::move(outcome.out);
      outcome.out = read_file(json);
      const nlohmann::json summary = summary_of(outcome);
      CHECK(summary.at("lines") == 100'000);
      CHECK(summary.at("failed") == 0);
      CHECK(summary.at(policy.counted_as).get<int>() > 0);
      CHECK(std::count(lines.begin(), lines.end(), '\n') == summary.at("flushed").get<int>());
      const std::set<std::string> stored = split(lines);
      CHECK(stored.size() == summary.at("flushed").get<std::size_t>());  // none twice
      const std::set<std::string> all = split(numbered_lines(100'000));
      CHECK(std::includes(all.begin(), all.end(), stored.begin(), stored.end()));
      CHECK(contains(outcome.err, "lines stored; lost: "));
      CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
  }

  TEST_CASE("an exit code says first what was lost, then what stopped the run") {
    tools::Summary summary;
    CHECK(summary.exit_code() == 0);
    for (std::uint64_t tools::Summary::*const lost :
         {&tools::Summary::failed, &tools::Summary::dropped, &tools::Summary::not_accepted}) {
      summary.*lost = 1;
      CHECK(summary.exit_code() == 1);
      summary.signal = SIGTERM;
      CHECK(summary.exit_code() == 1);
      summary.signal = 0;
      summary.*lost = 0;
    }
    summary.signal = SIGTERM;
    CHECK(summary.exit_code() == 143);
    summary.errors.emplace_back("x: No such file or directory");
    CHECK(summary.exit_code() == 1);
    summary.is_aborted = true;
    CHECK(summary.exit_code() == 143);
  }

  TEST_CASE("the summary for people names the reasons for which lines were refused") {
    tools::Summary summary;
    CHECK_FALSE(contains(to_text(summary), "refused"));
    summary.not_accepted = 6;
    summary.refused_full = 1;
    CHECK(contains(to_text(summary), "refused    6 (full 1)\n"));
    summary.refused_timed_out = summary.refused_closed = 2;
    summary.refused_no_memory = 1;
    CHECK(
        contains(to_text(summary), "refused    6 (full 1, timed out 2, closed 2, no memory 1)\n"));
  }

  TEST_CASE("nothing stored makes means of 0, not of not-a-number") {
    const tools::Summary summary;
    CHECK(summary.mean_batch() == 0.0);
    CHECK(summary.rows_per_second() == 0.0);
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
