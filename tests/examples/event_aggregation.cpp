// Event aggregation: events are collected, counted by what they have in common, and sent to an
// analytics service in one request for each batch.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;
using namespace std::chrono_literals;

constexpr int kUsers = 3;
constexpr std::size_t kClicks = 4000;  // of each
constexpr std::size_t kEvents = kUsers * kClicks;

struct Event {
  std::string type;
  int user_id = 0;
};

using Counts = std::map<std::pair<std::string, int>, std::size_t>;

// Stands for the service: a request costs the same, however much is in it.
class Analytics {
 public:
  void track_batch(const Counts& counts) {
    const std::lock_guard lock(mutex_);
    ++requests_;
    for (const auto& [key, count] : counts) totals_[key] += count;
  }
  [[nodiscard]] std::size_t requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] Counts totals() const {
    const std::lock_guard lock(mutex_);
    return totals_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t requests_ = 0;
  Counts totals_;
};

}  // namespace

int main() {
  Analytics analytics;
  databuffer::Buffer<Event> events{
      {.name = "events", .partitions = 2, .max_size = 2000, .flush_interval = 1s},
      [&analytics](std::span<Event> batch) {
        Counts counts;
        // The batch is the handler's: what is not needed any more can be moved out of it.
        for (Event& event : batch) ++counts[{std::move(event.type), event.user_id}];
        analytics.track_batch(counts);
      }};

  std::vector<std::thread> threads;
  threads.reserve(kUsers);
  for (int user = 0; user < kUsers; ++user) {
    threads.emplace_back([&events, user] {
      for (std::size_t click = 0; click < kClicks; ++click) {
        const char* const type = click % 10 == 0 ? "purchase" : "click";
        require(events.insert({type, user}) == databuffer::InsertStatus::kAccepted, "accepted");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  require(events.close().ledger.flushed == kEvents, "every event is flushed");

  const Counts totals = analytics.totals();
  for (int user = 0; user < kUsers; ++user) {
    require(totals.at({"purchase", user}) == kClicks / 10, "every purchase is counted");
    require(totals.at({"click", user}) == kClicks - kClicks / 10, "and every click");
  }
  std::cout << kEvents << " events in " << analytics.requests() << " requests\n";
  require(analytics.requests() < 100, "few requests");
}
