// What `databuffer bench` says about its arguments, before it does anything.

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

using Words = std::vector<std::string>;

struct BadArgument {
  const char* flag;
  const char* value;
  const char* expected;  ///< A part of the accepted range or form.
};

constexpr BadArgument kBadArguments[] = {
    {"--producers", "0", "1 to 1024"},
    {"--producers", "1025", "1 to 1024"},
    {"--producers", "many", "whole number"},
    {"--batch", "0", "1 to 1000000"},
    {"--batch", "2M", "1 to 1000000"},
    {"--rate", "0", "1 to 1000000000"},
    {"--rate", "2G", "1 to 1000000000"},
    {"--rate", "fast", "whole number"},
    {"--rate", "10/s", "whole number"},
    {"--payload", "0", "8, 16"},
    {"--payload", "100", "8, 16"},
    {"--payload", "1T", "8, 16"},
    {"--payload", "string", "string:BYTES"},
    {"--payload", "string:", "string:BYTES"},
    {"--payload", "string:7", "8 to 1048576"},
    {"--payload", "string:2Mi", "8 to 1048576"},
    {"--handler-fixed", "100", "unit"},
    {"--handler-fixed", "2h", "0s to 3600s"},
    {"--handler-fixed", "forever", "0s to 3600s"},
    {"--handler-fixed", "-1ms", "0s or more"},
    {"--handler-per-item", "2s", "0s to 1s"},
    {"--handler-per-item", "5 us", "unit"},
    {"--handler-jitter", "101%", "0% to 100%"},
    {"--handler-jitter", "-5%", "0% to 100%"},
    {"--handler-jitter", "%", "0% to 100%"},
    {"--handler-fail", "1.2.3", "0% to 100%"},
    {"--handler-fail", "inf", "0% to 100%"},
    {"--handler-fail", "ten", "0% to 100%"},
    {"--handler-retry", "101%", "0% to 100%"},
    {"--retry-attempts", "0", "1 to 1000000"},
    {"--retry-backoff", "11s", "0s to 10s"},
    {"--sink", "stdout", "sqlite:PATH, file:PATH or null"},
    {"--sink", "postgres:x", "sqlite:PATH, file:PATH or null"},
    {"--sink", "sqlite:", "sqlite:PATH, file:PATH or null"},
    {"--seconds", "0", "10ms to 86400s"},
    {"--seconds", "25h", "10ms to 86400s"},
    {"--seconds", "soon", "10ms to 86400s"},
    {"--seconds", "forever", "10ms to 86400s"},
    {"--warmup", "2h", "0s to 3600s"},
    {"--warmup", "-1", "0s to 3600s"},
    {"--json", "", "path"},
    {"--csv", "", "path"},
    {"--partitions", "0", "1"},
    {"--partitions", "1025", "1024"},
    {"--max-size", "0", "1"},
    {"--capacity", "4999", "5000"},
    {"--flush-interval", "10", "unit"},
    {"--overflow", "drop", "drop-newest"},
    {"--wait", "sleep", "adaptive"},
};

TEST_SUITE("bench arguments") {
  TEST_CASE("a bad value is refused with exit code 2, naming flag, value and what is accepted") {
    for (const BadArgument& bad : kBadArguments) {
      CAPTURE(bad.flag);
      CAPTURE(bad.value);
      const Outcome outcome = run({"bench", bad.flag, bad.value});
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, bad.flag));
      CHECK(contains(outcome.err, bad.value));
      CHECK(contains(outcome.err, bad.expected));
      CHECK(contains(outcome.err, "databuffer bench --help"));
    }
  }

  TEST_CASE("a real sink and a simulated handler are refused together, whatever the order") {
    const Words flags[] = {{"--handler-fixed", "1ms"}, {"--handler-per-item", "1us"},
                           {"--handler-jitter", "5%"}, {"--handler-fail", "5%"},
                           {"--handler-retry", "5%"},  {"--handler-burn"}};
    for (const Words& flag : flags) {
      CAPTURE(flag.front());
      Words before{"bench"};
      before.insert(before.end(), flag.begin(), flag.end());
      before.insert(before.end(), {"--sink", "null"});
      Words after{"bench", "--sink", "null"};
      after.insert(after.end(), flag.begin(), flag.end());
      for (const Words& words : {before, after}) {
        const Outcome outcome = run(words);
        CHECK(outcome.exit_code == 2);
        CHECK(contains(outcome.err, flag.front()));
        CHECK(contains(outcome.err, "--sink null"));
      }
    }
  }

  TEST_CASE("combinations that make no sense are refused, naming the flag to blame") {
    struct Case {
      Words words;
      Words named;
    };
    const Case cases[] = {
        {{"bench", "--json", "-", "--csv", "-"}, {"--csv", "--json"}},
        {{"bench", "--json", "same", "--csv", "same"}, {"--csv", "'same'"}},
        {{"bench", "--max-size", "100", "--capacity", "50"}, {"--capacity", "'50'", "100"}},
        {{"bench", "--rate", "10", "--batch", "1k", "--seconds", "2"},
         {"--rate", "--batch 1000", "at least 500, or --seconds 100s"}},
        {{"bench", "--handler-fail", "60%", "--handler-retry", "50%"},
         {"--handler-retry", "--handler-fail", "100%"}},
        {{"bench", "--busy-timeout", "1s"}, {"--busy-timeout", "sqlite"}},
        {{"bench", "--busy-timeout", "1s", "--sink", "null"}, {"--busy-timeout", "sqlite"}},
        {{"bench", "--threads", "2"}, {"--threads"}},
        {{"bench", "file.log"}, {"file.log"}},
        {{"bench", "--producers", "1", "--producers", "2"}, {"--producers"}},
        {{"bank"}, {"'bank'", "ingest or bench"}},
    };
    for (const Case& bad : cases) {
      const Outcome outcome = run(bad.words);
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(outcome.out.empty());
      for (const std::string& word : bad.named) {
        CAPTURE(word);
        CHECK(contains(outcome.err, word));
      }
    }
  }

  TEST_CASE("bad arguments leave no trace") {
    const TemporaryFolder folder;
    const Outcome outcome =
        run({"bench", "--json", folder.path("out.json"), "--csv", folder.path("out.csv"), "--sink",
             "sqlite:" + folder.path("lines.db"), "--max-size", "0"});
    CHECK(outcome.exit_code == 2);
    CHECK(std::filesystem::is_empty(folder.path()));
  }

  TEST_CASE("an output or sink that cannot be written to is found before the run") {
    const TemporaryFolder folder;
    const std::string sealed = folder.write("sealed", "");
    std::filesystem::permissions(sealed, std::filesystem::perms::owner_read);
    for (const char* const flag : {"--json", "--csv"}) {
      const Outcome outcome = run({"bench", "--seconds", "1h", flag, sealed});
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.err, flag));
      CHECK(contains(outcome.err, sealed));
      CHECK(outcome.out.empty());
    }
    for (const std::string& sink : {"sqlite:" + sealed, "file:" + sealed}) {
      const Outcome outcome = run({"bench", "--seconds", "1h", "--sink", sink});
      CHECK(outcome.exit_code == 1);
      CHECK(contains(outcome.err, sealed));
      CHECK(outcome.out.empty());
    }
  }

  TEST_CASE("help goes to standard output, and names every flag") {
    const Outcome help = run({"bench", "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    for (const char* const word : {"--producers",      "--payload",        "--batch",
                                   "--rate",           "--handler-fixed",  "--handler-per-item",
                                   "--handler-jitter", "--handler-burn",   "--handler-fail",
                                   "--handler-retry",  "--retry-attempts", "--retry-backoff",
                                   "--sink",           "--busy-timeout",   "--seconds",
                                   "--warmup",         "--json",           "--csv",
                                   "--partitions",     "--max-size",       "--capacity",
                                   "--wait",           "Exit codes"}) {
      CAPTURE(word);
      CHECK(contains(help.out, word));
    }
    // Every figure of the table is explained.
    const Outcome table = run({"bench", "--seconds", "10ms", "--warmup", "0", "--rate", "1k"});
    REQUIRE(table.exit_code == 0);
    std::istringstream lines(table.out);
    for (std::string line; std::getline(lines, line);) {
      const std::string figure = line.substr(0, line.find("  "));
      if (figure.empty() || figure == "workload" || figure == "buffer") continue;
      CAPTURE(figure);
      CHECK(contains(help.out, "\n  " + figure + "  "));
    }
    CHECK(contains(run({"--help"}).out, "bench"));
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
