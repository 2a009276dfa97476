// Several buffers: a group of them, of different item types, with one life.
#include <databuffer/databuffer.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::InsertStatus;
using examples::require;
using namespace std::chrono_literals;

struct Event {
  std::string type;
};
struct Metric {
  std::string name;
  double value = 0;
};

}  // namespace

int main() {
  std::atomic<std::size_t> delivered{0};
  const auto count = [&delivered](const auto& batch) { delivered += batch.size(); };

  databuffer::Supervisor app{"my_app"};
  auto& events = app.start<Event>({.name = "events", .max_size = 1000},
                                  [&](std::span<Event> batch) { count(batch); });
  auto& metrics = app.start<Metric>({.name = "metrics", .max_size = 5000},
                                    [&](std::span<Metric> batch) { count(batch); });
  app.start<std::string>({.name = "logs", .flush_interval = 1s},
                         [&](std::span<std::string> batch) { count(batch); });

  require(events.insert({"click"}) == InsertStatus::kAccepted, "the event is in");
  require(metrics.insert({"requests", 1}) == InsertStatus::kAccepted, "the metric is in");
  // Elsewhere in the program a buffer is found by its name and item type.
  auto* const logs = app.find<std::string>("logs");
  require(logs != nullptr, "the log buffer runs");
  require(logs->insert("started") == InsertStatus::kAccepted, "the line is in");
  require(app.find<int>("logs") == nullptr, "its items are strings, not integers");

  // A start that fails stops the whole group, and says whose it was. Tried on a group of its own.
  try {
    databuffer::Supervisor broken{"broken"};
    broken.start<int>({.name = "fine"}, [](std::span<int>) {});
    broken.start<int>({.name = "empty", .max_size = 0}, [](std::span<int>) {});
    require(false, "a buffer without room does not start");
  } catch (const databuffer::StartError& error) {
    std::cout << error.what() << '\n';
    require(error.buffer() == "empty", "the error names the buffer");
  }

  // Stopped in reverse order, all within one deadline.
  std::vector<std::string> order;
  for (const auto& [name, report] : app.stop(10s)) {
    require(report.status == databuffer::CallStatus::kDone, "stopped in time");
    require(report.ledger.flushed == 1, "with its item flushed");
    order.push_back(name);
  }
  require(order == std::vector<std::string>{"logs", "metrics", "events"}, "the last started first");
  require(delivered == 3, "every item was delivered");
}
