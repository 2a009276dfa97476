// What the command says about its arguments, before it does anything.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "databuffer/version.hpp"
#include "ingest/bad_argument.hpp"
#include "ingest/child.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

constexpr BadArgument kBadArguments[] = {
    {"--partitions", "0", "1"},
    {"--partitions", "1025", "1024"},
    {"--partitions", "two", "whole number"},
    {"--partitions", "-1", "whole number"},
    {"--max-size", "0", "1"},
    {"--max-size", "3G", "2147483648"},
    {"--max-size", "1.5", "whole number"},
    {"--max-size", "", "whole number"},
    {"--max-size-jitter", "3G", "2147483648"},
    {"--max-size-jitter", "x", "whole number"},
    {"--capacity", "4999", "5000"},
    {"--capacity", "2000G", "1099511627776"},
    {"--capacity", "lots", "whole number"},
    {"--seed", "18446744073709551616", "18446744073709551615"},
    {"--seed", "-1", "whole number"},
    {"--flush-interval", "10", "unit"},
    {"--flush-interval", "-1s", "0s or more"},
    {"--flush-interval", "300y", "unit"},
    {"--flush-jitter", "ms", "unit"},
    {"--flush-timeout", "0s", "more than 0"},
    {"--flush-timeout", "1 s", "unit"},
    {"--insert-timeout", "never", "forever"},
    {"--close-timeout", "3000000h", "292 years"},
    {"--busy-timeout", "5", "unit"},
    {"--overflow", "drop", "drop-newest"},
    {"--wait", "sleep", "adaptive"},
    {"--name", "", "empty"},
    {"--producers", "0", "1 to 1024"},
    {"--producers", "1025", "1 to 1024"},
    {"--producers", "many", "whole number"},
    {"--memory", "1T", "bytes"},
    {"--max-line", "0", "1 or more"},
    {"--max-line", "1KB", "bytes"},
    {"--json", "", "path"},
    {"--sink", "sqlite:", "path"},
    {"--sink", "file:", "path"},
    {"--sink", "postgres:x", "sqlite:PATH"},
    {"--sink", "stdout:", "stdout"},
};

TEST_SUITE("arguments") {
  TEST_CASE("a bad value is refused with exit code 2, naming flag, value and what is accepted") {
    for (const BadArgument& bad : kBadArguments) {
      Words words{"ingest"};
      if (std::string(bad.flag) != "--sink") words.insert(words.end(), {"--sink", "null"});
      Words in_one_word = words;
      words.insert(words.end(), {bad.flag, bad.value});
      check_refused(words, bad);
      if (*bad.value == '\0') continue;  // "--flag=" is no value at all
      in_one_word.push_back(std::string(bad.flag) + "=" + bad.value);
      check_refused(in_one_word, bad);
    }
  }

  TEST_CASE("a value that a default contradicts is refused, too, naming the flag to blame") {
    const Outcome outcome = run({"ingest", "--sink", "null", "--capacity", "10"});
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.err, "--capacity: '10': "));
    CHECK(contains(outcome.err, "5000"));
  }

  TEST_CASE("a flag that does not exist, lacks its value, or lacks altogether is named") {
    struct Case {
      Words words;
      const char* named;
    };
    const Case cases[] = {
        {{}, "subcommand"},
        {{"gather"}, "'gather': expected a subcommand"},
        {{"ingest"}, "--sink"},
        {{"ingest", "--sink"}, "--sink"},
        {{"ingest", "--sink", "null", "--partition", "2"}, "--partition"},
        {{"ingest", "--sink", "null", "--max-size"}, "--max-size"},
        {{"ingest", "--sink", "null", "-x"}, "-x"},
        {{"ingest", "--sink", "null", "--sink", "file:x"},
         "--sink: given 2 times, as 'null', 'file:x'; expected once"},
        {{"ingest", "--sink", "null", "--name", "a", "--name=b", "--name", "c"},
         "--name: given 3 times, as 'a', 'b', 'c'; expected once"},
        {{"bench", "--seconds", "1", "--seconds", "1"}, "--seconds: given 2 times, as '1', '1'"},
        {{"tune", "--wait", "park", "--wait", "spin"}, "--wait: given 2 times, as 'park', 'spin'"},
    };
    for (const Case& bad : cases) {
      CAPTURE(bad.named);
      const Outcome outcome = run(bad.words);
      CAPTURE(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, bad.named));
    }
  }

  TEST_CASE("combinations that make no sense are refused") {
    const Outcome twice = run({"ingest", "--sink", "null", "a.log", "b.log", "a.log"});
    CHECK(twice.exit_code == 2);
    CHECK(contains(twice.err, "'a.log' is given twice"));

    const Outcome terminator = run({"ingest", "--sink", "null", "++"});
    CHECK(terminator.exit_code == 2);
    CHECK(contains(terminator.err, "'++': expected ./++"));

    const Outcome both = run({"ingest", "--sink", "stdout", "--json", "-"});
    CHECK(both.exit_code == 2);
    CHECK(contains(both.err, "--json"));
    CHECK(contains(both.err, "--sink stdout"));

    const Outcome capacity = run({"ingest", "--sink", "null", "--max-size", "10",
                                  "--max-size-jitter", "5", "--capacity", "14"});
    CHECK(capacity.exit_code == 2);
    CHECK(contains(capacity.err, "--capacity: '14': capacity = 14"));
    CHECK(contains(capacity.err, "15"));
  }

  TEST_CASE("bad arguments leave no trace: the database is not even created") {
    const TemporaryFolder folder;
    const std::string database = folder.path("lines.db");
    const Outcome outcome = run({"ingest", "--sink", "sqlite:" + database, "--max-size", "0"});
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(std::filesystem::exists(database));
  }

  TEST_CASE("a FILE is a name, whatever its characters") {
    const TemporaryFolder folder;
    const Words names{"[x]", "[]", "[a,b]", "{}", "%%", "a b", "bench", "--", "-x", "++"};
    for (const std::string& name : names) folder.write(name, "in " + name + "\n");
    folder.write("x", "in x\n");
    for (const std::string& name : names) {
      CAPTURE(name);
      const std::string word = name == "++" ? "./++" : name;
      Child child({.arguments = {"ingest", "--sink", "stdout", "--quiet", "x", "--", word},
                   .folder = folder.path()});
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.err.empty());
      CHECK((outcome.out == "in x\nin " + name + "\n" || outcome.out == "in " + name + "\nin x\n"));
    }
    Child child({.arguments = {"ingest", "[x]", "[]", "--sink", "stdout", "{}", "--quiet"},
                 .folder = folder.path()});
    CHECK(child.wait().out.size() == std::string("in [x]\nin []\nin {}\n").size());
  }

  TEST_CASE("every buffer option is accepted, with units") {
    const Outcome outcome = run({"ingest", "--sink",           "null",        "--json",
                                 "-",      "--name",           "all.options", "--partitions",
                                 "3",      "--max-size",       "1k",          "--max-size-jitter",
                                 "10",     "--flush-interval", "500us",       "--flush-jitter",
                                 "1ms",    "--flush-timeout",  "1m",          "--capacity",
                                 "5k",     "--overflow",       "block",       "--insert-timeout",
                                 "2s",     "--close-timeout",  "forever",     "--wait",
                                 "park",   "--seed",           "7",           "--producers",
                                 "2",      "--memory",         "1Mi",         "--max-line",
                                 "1k",     "--busy-timeout",   "10ms",        "-"},
                                "a\nb\n");
    CHECK(outcome.exit_code == 0);
    CHECK(summary_of(outcome).at("flushed") == 2);
  }

  TEST_CASE("every wait strategy and every overflow policy has its name") {
    for (const char* const wait : {"adaptive", "spin", "yield", "park"}) {
      for (const char* const overflow : {"block", "reject", "drop-newest", "drop-oldest"}) {
        CAPTURE(wait);
        CAPTURE(overflow);
        const Outcome outcome =
            run({"ingest", "--sink", "null", "--json", "-", "--wait", wait, "--overflow", overflow},
                "a\n");
        CHECK(outcome.exit_code == 0);
        CHECK(summary_of(outcome).at("flushed") == 1);
      }
    }
  }

  TEST_CASE("help and version go to standard output, with exit code 0") {
    const Outcome help = run({"ingest", "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.err.empty());
    for (const char* const word : {"--sink",           "--producers",    "--name",
                                   "--partitions",     "--max-size",     "--max-size-jitter",
                                   "--flush-interval", "--flush-jitter", "--flush-timeout",
                                   "--capacity",       "--overflow",     "--insert-timeout",
                                   "--close-timeout",  "--wait",         "--seed",
                                   "--json",           "--quiet",        "--busy-timeout",
                                   "--memory",         "--max-line",     "lines_unterminated",
                                   "Exit codes"}) {
      CAPTURE(word);
      CHECK(contains(help.out, word));
    }
    CHECK(contains(run({"--help"}).out, "ingest"));

    const Outcome version = run({"--version"});
    CHECK(version.exit_code == 0);
    CHECK(version.out == std::string("databuffer ") + kVersion + "\n");
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
