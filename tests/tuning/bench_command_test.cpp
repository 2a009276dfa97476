// `databuffer bench` as a whole. Runs take some milliseconds; counts are asserted, never times.

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ingest/child.hpp"
#include "ingest/database.hpp"
#include "ingest/temporary_folder.hpp"

namespace databuffer::ingest_tests {
namespace {

using Words = std::vector<std::string>;

/// A run with these flags, as JSON: of some milliseconds, and longer if in these nothing was
/// counted under `key`, as may be on a busy machine. Checks that it adds up.
nlohmann::json measured(const Words& flags, const char* key = "flushed") {
  for (int milliseconds = 20;; milliseconds *= 2) {
    Words words{"bench",  "--seconds", std::to_string(milliseconds) + "ms", "--warmup", "5ms",
                "--json", "-"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    INFO("standard error: ", outcome.err);
    REQUIRE(outcome.exit_code == 0);
    nlohmann::json json = nlohmann::json::parse(outcome.out, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    const auto count = [&json](const char* name) { return json.at(name).get<std::int64_t>(); };
    CHECK(count("inserted") == count("flushed") + count("failed") + count("dropped") -
                                   count("refused") + count("backlog"));
    CHECK(count("batches") ==
          count("size_flushes") + count("interval_flushes") + count("other_flushes"));
    CHECK(json.at("signal").is_null());
    CHECK(json.at("cut_short") == false);
    if (count(key) > 0) return json;
  }
}

std::size_t count_of(const std::string& text, char wanted) {
  std::size_t count = 0;
  for (const char character : text) count += character == wanted ? 1 : 0;
  return count;
}

TEST_SUITE("bench command") {
  TEST_CASE("without arguments but the time it measures the defaults, and prints a table") {
    const Outcome outcome = run({"bench", "--seconds", "50ms", "--warmup", "0"});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    for (const char* const word : {"1 producer,", "max_size 5000", "capacity 20000", "throughput",
                                   "items/s", "insert latency", "p99.9", "age", "batches",
                                   "by size", "blocked", "CPU", "wake-ups", "peak memory"}) {
      CAPTURE(word);
      CHECK(contains(outcome.out, word));
    }
  }

  TEST_CASE("where memory runs out it says so, with exit code 1" *
            doctest::skip(kHasNoMemoryLimit)) {
    Child child({.arguments = {"bench", "--seconds", "20ms", "--payload", "string:1000000",
                               "--max-size", "1M", "--capacity", "10M"},
                 .max_memory_bytes = 200'000'000});
    const Outcome outcome = child.wait();
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err == "databuffer bench: out of memory\n");
    CHECK(outcome.out.empty());
  }

  TEST_CASE("every flag is accepted, and shows in the result") {
    const nlohmann::json json = measured({"--producers",
                                          "3",
                                          "--payload",
                                          "string:40",
                                          "--batch",
                                          "5",
                                          "--rate",
                                          "20k",
                                          "--handler-fixed",
                                          "50us",
                                          "--handler-per-item",
                                          "100ns",
                                          "--handler-jitter",
                                          "20%",
                                          "--handler-fail",
                                          "50%",
                                          "--partitions",
                                          "2",
                                          "--max-size",
                                          "50",
                                          "--capacity",
                                          "400",
                                          "--wait",
                                          "park",
                                          "--flush-interval",
                                          "2ms",
                                          "--flush-jitter",
                                          "1ms",
                                          "--seed",
                                          "3"});
    CHECK(json.at("producers") == 3);
    CHECK(json.at("payload") == "string:40");
    CHECK(json.at("batch") == 5);
    CHECK(json.at("rate") == 20'000.0);
    CHECK(json.at("handler_fixed_s") == 50e-6);
    CHECK(json.at("handler_per_item_s") == 100e-9);
    CHECK(json.at("handler_jitter") == 0.2);
    CHECK(json.at("handler_failing_share") == 0.5);
    CHECK(json.at("handler_burns_cpu") == false);
    CHECK(json.at("partitions") == 2);
    CHECK(json.at("max_size") == 50);
    CHECK(json.at("capacity") == 400);
    CHECK(json.at("wait_strategy") == "park");
    CHECK(json.at("flush_interval_s") == 0.002);
  }

  TEST_CASE("a handler that asks for a retry is called again, as often as is allowed") {
    const Words flags{"--handler-retry", "50%", "--retry-backoff", "0s", "--max-size", "50"};
    const auto with_attempts = [&flags](const char* attempts) {
      Words words = flags;
      words.insert(words.end(), {"--retry-attempts", attempts});
      return words;
    };
    const nlohmann::json patient = measured(with_attempts("1000"));
    CHECK(patient.at("failed") == 0);
    CHECK(patient.at("handler_retrying_share") == 0.5);
    CHECK(patient.at("retry_attempts") == 1000);
    CHECK(measured(with_attempts("2"), "failed").at("failed") > 0);
    // One attempt: what asks for a retry has failed.
    CHECK(measured({"--handler-retry", "100%", "--max-size", "50"}, "failed").at("flushed") == 0);
  }

  TEST_CASE("a handler that computes is told so by either name") {
    CHECK(measured({"--handler-fixed", "10us", "--handler-burn"}).at("handler_burns_cpu") == true);
    CHECK(measured({"--handler-fixed", "10us", "--handler-cpu"}).at("handler_burns_cpu") == true);
  }

  TEST_CASE("every payload can be inserted, one by one and in batches") {
    for (const std::string payload : {"8", "64", "1024", "1Ki", "string:8", "string:100"}) {
      for (const std::string batch : {"1", "10"}) {
        CAPTURE(payload);
        CHECK(
            measured({"--payload", payload, "--batch", batch, "--max-size", "50"}).at("payload") ==
            (payload == "1Ki" ? "1024" : payload));
      }
    }
  }

  TEST_CASE("what is stored in a database is what the handler has taken") {
    const TemporaryFolder folder;
    const std::string path = folder.path("lines.db");
    const nlohmann::json json = measured({"--sink", "sqlite:" + path, "--payload", "string:20",
                                          "--max-size", "100", "--producers", "2"});
    CHECK(json.at("sink") == "sqlite:" + path);
    TestDatabase database(path);
    const auto rows = static_cast<std::uint64_t>(database.count("lines"));
    CHECK(rows >= json.at("flushed").get<std::uint64_t>());
    CHECK(rows > 0);
    CHECK(
        static_cast<std::uint64_t>(database.count("lines WHERE length(text) = 20 AND typeof(text) "
                                                  "= 'text'")) == rows);
  }

  TEST_CASE("what is stored in a file is a line for each item") {
    const TemporaryFolder folder;
    const std::string path = folder.path("lines");
    const nlohmann::json json = measured({"--sink", "file:" + path, "--max-size", "100"});
    const std::string text = read_file(path);
    CHECK(count_of(text, '\n') >= json.at("flushed").get<std::size_t>());
    CHECK(text.size() == count_of(text, '\n') * 9);  // eight bytes, and the newline
  }

  TEST_CASE("the null sink takes everything") {
    const nlohmann::json json = measured({"--sink", "null", "--max-size", "50"});
    CHECK(json.at("sink") == "null");
    CHECK(json.at("failed") == 0);
  }

  TEST_CASE("JSON and CSV go to their files, with the same values, and the table to people") {
    const TemporaryFolder folder;
    const std::string json_path = folder.path("out.json");
    const std::string csv_path = folder.write("out.csv", std::string(10'000, 'x'));
    const Outcome outcome = run(
        {"bench", "--seconds", "20ms", "--warmup", "0", "--json", json_path, "--csv", csv_path});
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "throughput"));
    const nlohmann::json json = nlohmann::json::parse(read_file(json_path));
    const std::string csv = read_file(csv_path);
    CHECK(count_of(csv, '\n') == 2);
    CHECK(contains(csv, "," + json.at("seconds").dump() + ","));
    CHECK(count_of(csv.substr(0, csv.find('\n')), ',') == json.size() - 1);
  }

  TEST_CASE("results that cannot be written are an error") {
    const Outcome outcome =
        run({"bench", "--seconds", "10ms", "--warmup", "0", "--json", "/dev/full"});
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "--json /dev/full: cannot write"));
  }

  TEST_CASE("a sink that fails ends the run with its error") {
    const Outcome outcome = run({"bench", "--seconds", "1h", "--sink", "file:/dev/full"});
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "/dev/full"));
    CHECK(outcome.out.empty());
  }

  TEST_CASE("a signal ends the run early, with what was measured") {
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(signal);
      Child child({"bench", "--seconds", "1h", "--warmup", "0", "--json", "-"});
      child.wait_until_it_heeds_signals();
      child.send(signal);
      child.wait_for_exit();
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 128 + signal);
      CHECK(contains(outcome.err, "ends early"));
      const nlohmann::json json = nlohmann::json::parse(outcome.out);
      CHECK(json.at("cut_short") == true);
      CHECK(json.at("signal") == (signal == SIGINT ? "SIGINT" : "SIGTERM"));
    }
  }

  TEST_CASE(
      "a signal ends even what waits for an hour: a handler, a full buffer, the next insert") {
    const Words slow[] = {{"--handler-fixed", "1h", "--insert-timeout", "forever"},
                          {"--handler-fixed", "1h", "--handler-burn"},
                          {"--rate", "1", "--seconds", "2h"}};
    for (const Words& flags : slow) {
      CAPTURE(flags.front());
      Words words{"bench", "--warmup", "0", "--close-timeout", "forever"};
      words.insert(words.end(), flags.begin(), flags.end());
      if (flags.back() != "2h") words.insert(words.end(), {"--seconds", "1h"});
      Child child(words);
      child.wait_until_it_heeds_signals();
      child.send(SIGINT);
      child.wait_for_exit();
      const Outcome outcome = child.wait();
      CHECK(outcome.exit_code == 130);
      CHECK(contains(outcome.out, "ended early"));
    }
  }
}

}  // namespace
}  // namespace databuffer::ingest_tests
