#include "tools/databuffer/bench_report.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace databuffer::tools {
namespace {

using namespace std::chrono_literals;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BenchResult example() {
  BenchResult result;
  result.settings.buffer.name = "bench";
  result.settings.buffer.partitions = 2;
  result.settings.workload.workload.producers = 4;
  result.settings.workload.workload.rate = 50'000;
  result.settings.workload.handler = {.fixed = 500us, .per_item = 200ns, .jitter = 0.2};
  tuning::Measurement& measured = result.measurement;
  measured.seconds = 2;
  measured.inserted = 1'234'567;
  measured.flushed = 1'200'000;
  measured.failed = 1'000;
  measured.dropped = 500;
  measured.refused = 200;
  measured.backlog = 33'267;
  measured.overdue = 42;
  measured.items_per_s = 600'123;
  measured.insert_latency = {.p50 = 5e-9, .p99 = 1.25e-6, .p999 = 3.4e-3, .max = 2};
  measured.latency_step = 1e-8;
  measured.batches = 200;
  measured.mean_batch = 4998.25;
  measured.size_flushes = 150;
  measured.interval_flushes = 49;
  measured.other_flushes = 1;
  measured.blocked_seconds = 0.8;
  measured.handler_seconds = 3;
  measured.cpu_seconds = 1.5;
  measured.wake_ups = 12'345;
  measured.peak_bytes = 12 * 1024 * 1024;
  return result;
}

TEST_SUITE("bench report") {
  TEST_CASE("the table says what was run and what was measured") {
    const std::string text = to_text(example());
    for (const char* const part :
         {"4 producers, items of 8 bytes, one a call, 50.0 k/s",
          "handler waits 500us + 200ns/item +- 20.0 %",
          "2 partitions, max_size 5000, capacity 20000, wait adaptive, when full block",
          "600 k items/s",
          "1,234,567 inserted, 1,200,000 flushed, 1,000 failed, 500 dropped (200 of them refused), "
          "42 due but not offered",
          "p50 < 10 ns, p99 1.25 us, p99.9 3.40 ms, max 2.00 s",
          "200 of 4998.2 items: 75.0 % by size, 24.5 % by interval, 0.5 % otherwise",
          "800 ms, 10.0 % of the producers' time", "3.00 s, 75.0 % of the consumers' time",
          "1.50 s, 0.75 cores", "12,345", "12.0 MiB", "woken late"}) {
      CAPTURE(part);
      CAPTURE(text);
      CHECK(contains(text, part));
    }
    CHECK_FALSE(contains(text, "early"));
  }

  TEST_CASE("a run without any batch has no shares, and no division by zero") {
    BenchResult result;
    result.measurement.is_cut_short = true;
    const std::string text = to_text(result);
    CHECK(contains(text, "ended early"));
    CHECK(contains(text, "0 of 0.0 items"));
    CHECK_FALSE(contains(text, "nan"));
    CHECK_FALSE(contains(text, "inf "));
  }

  TEST_CASE("JSON has every figure, and what ended the run") {
    BenchResult result = example();
    nlohmann::json json = nlohmann::json::parse(to_json(result));
    CHECK(json.at("items_per_s") == 600'123);
    CHECK(json.at("insert_latency_p50_s") == 5e-9);
    CHECK(json.at("insert_latency_max_s") == 2);
    CHECK(json.at("backlog") == 33'267);
    CHECK(json.at("peak_bytes") == 12 * 1024 * 1024);
    CHECK(json.at("sink").is_null());
    CHECK(json.at("signal").is_null());
    result.signal = 2;
    result.settings.workload.sink = SinkSpec{SinkSpec::Kind::kFile, "a\xFF"};
    json = nlohmann::json::parse(to_json(result));
    CHECK(json.at("signal") == "SIGINT");
    CHECK(json.at("sink") == "file:a\xEF\xBF\xBD");  // what is no UTF-8 is replaced
  }

  TEST_CASE("CSV quotes what needs it, and has a value for each name") {
    BenchResult result = example();
    result.settings.workload.sink = SinkSpec{SinkSpec::Kind::kFile, "a,\"b\""};
    const std::string csv = to_csv(result);
    CHECK(contains(csv, ",\"file:a,\"\"b\"\"\","));
    CHECK(csv.rfind("producers,payload,batch,rate,sink,", 0) == 0);
    CHECK(contains(csv, "\n4,8,1,50000.0,"));
    CHECK(csv.back() == '\n');
  }
}

}  // namespace
}  // namespace databuffer::tools
