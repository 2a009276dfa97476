// Stream processing: readings flow through two stages, each of which works on chunks.
//
//   sensors → readings (averages each chunk) → averages (stores) → store
//
// Each stage is a buffer whose handler inserts into the next one. The last is started first, so
// that it is stopped last: what the stage before still has reaches it, and nothing is lost.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::Buffer;
using databuffer::FlushResult;
using databuffer::InsertStatus;
using examples::require;
using namespace std::chrono_literals;

constexpr std::size_t kSensors = 2;
constexpr std::size_t kReadings = 10'000;  // of each

struct Average {
  double value = 0;
  std::size_t readings = 0;
};

}  // namespace

int main() {
  std::vector<Average> store;  // filled by one consumer thread, read when it has ended

  databuffer::Supervisor pipeline{"pipeline"};
  Buffer<Average>& averages =
      pipeline.start<Average>({.name = "averages", .max_size = 16, .flush_interval = 100ms},
                              [&store](std::span<Average> chunk) {
                                store.insert(store.end(), chunk.begin(), chunk.end());
                              });

  Buffer<double>& readings = pipeline.start<double>(
      {.name = "readings", .max_size = 250, .flush_interval = 100ms},
      [&averages](std::span<double> chunk) {
        const double sum = std::accumulate(chunk.begin(), chunk.end(), 0.0);
        const auto count = static_cast<double>(chunk.size());
        // When the next stage is full this waits, and so holds the stages before it back as well.
        const InsertStatus status = averages.insert({sum / count, chunk.size()});
        return status == InsertStatus::kAccepted
                   ? FlushResult::ok()
                   : FlushResult::failed("the next stage answered " +
                                         std::string(to_string(status)));
      });

  std::vector<std::thread> sensors;
  sensors.reserve(kSensors);
  for (std::size_t sensor = 0; sensor < kSensors; ++sensor) {
    sensors.emplace_back([&readings] {
      for (std::size_t reading = 0; reading < kReadings; ++reading) {
        require(readings.insert(20.0 + static_cast<double>(reading % 2)) == InsertStatus::kAccepted,
                "accepted");
      }
    });
  }
  for (std::thread& sensor : sensors) sensor.join();

  for (const auto& [name, report] : pipeline.stop(10s)) {
    require(report.status == databuffer::CallStatus::kDone, "stopped in time");
    std::cout << name << ": " << report.ledger.flushed << " flushed\n";
  }

  std::size_t seen = 0;
  double sum = 0;
  for (const Average& average : store) {
    seen += average.readings;
    sum += average.value * static_cast<double>(average.readings);
  }
  require(seen == kSensors * kReadings, "every reading is in exactly one average");
  const double mean = sum / static_cast<double>(seen);
  require(mean > 20.499 && mean < 20.501, "and the averages are right");
}
