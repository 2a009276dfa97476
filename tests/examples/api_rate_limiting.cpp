// API rate limiting: the service takes at most 100 items in a call, and a call every 20 ms.
//
// `max_size` is the service's limit on a call. The handler keeps the pace by waiting, which is all
// it takes: while it waits the next batch grows, and when the buffer is full, inserts wait too.
#include <databuffer/databuffer.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <numeric>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::FlushResult;
using examples::require;
using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kItems = 1000;
constexpr std::size_t kLargestCall = 100;
constexpr std::chrono::milliseconds kPace = 20ms;

// Stands for the service, and remembers how it was called.
struct Service {
  std::vector<SteadyTime> calls;
  std::vector<std::size_t> sizes;
  std::vector<int> items;

  void post(std::span<const int> batch) {
    calls.push_back(std::chrono::steady_clock::now());
    sizes.push_back(batch.size());
    items.insert(items.end(), batch.begin(), batch.end());
  }
};

class PacedPoster {
 public:
  explicit PacedPoster(Service& service) : service_(&service) {}

  FlushResult operator()(databuffer::Batch<int>& batch, const databuffer::FlushContext& context) {
    if (!wait_until(next_call_, context.stop_token)) {
      return FlushResult::failed("gave up: overdue");
    }
    service_->post(batch.items());
    next_call_ = std::chrono::steady_clock::now() + kPace;
    return FlushResult::ok();
  }

 private:
  // A handler that waits listens to its stop token: it is set when the call is overdue.
  static bool wait_until(SteadyTime time, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_until(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  }

  Service* service_;  // borrowed; one partition, so one thread calls
  SteadyTime next_call_{};
};

}  // namespace

int main() {
  Service service;
  {
    auto posts = databuffer::Buffer<int>::per_partition(
        {.name = "posts",
         .max_size = kLargestCall,
         .flush_interval = 50ms,
         .flush_jitter = 0ms,
         .flush_timeout = 5s,
         .capacity = 3 * kLargestCall},
        [&service](std::size_t /*partition_index*/) { return PacedPoster(service); });
    for (int item = 0; item < kItems; ++item) {
      require(posts.insert(item) == databuffer::InsertStatus::kAccepted, "waited for, not refused");
    }
    require(posts.close().ledger.flushed == kItems, "every item is posted");
  }

  std::vector<int> expected(kItems);
  std::iota(expected.begin(), expected.end(), 0);
  require(service.items == expected, "in order, each once");
  require(*std::max_element(service.sizes.begin(), service.sizes.end()) <= kLargestCall,
          "no call is too large");
  for (std::size_t call = 1; call < service.calls.size(); ++call) {
    require(service.calls[call] - service.calls[call - 1] >= kPace, "no call is too early");
  }
  std::cout << kItems << " items in " << service.calls.size() << " calls\n";
}
