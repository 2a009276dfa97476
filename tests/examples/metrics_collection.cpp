// Metrics collection: samples are folded into one summary for each metric before they are reported.
//
// insert_keyed sends all samples of a metric to the same partition. So each consumer owns its
// metrics alone: its handler keeps their summaries between batches and needs no lock for them.
#include <databuffer/databuffer.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
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

constexpr std::size_t kThreads = 2;
constexpr int kSamples = 1000;  // of each metric and thread

struct Sample {
  std::string metric;
  double value = 0;
};

struct Summary {
  std::size_t count = 0;
  double sum = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();

  void add(double value) {
    ++count;
    sum += value;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
};

// Stands for the metrics server: the last summary of each metric, and who sent it.
class Server {
 public:
  void report(std::size_t partition_index, const std::map<std::string, Summary>& summaries) {
    const std::lock_guard lock(mutex_);
    for (const auto& [metric, summary] : summaries) {
      const auto [known, is_new] = senders_.emplace(metric, partition_index);
      require(is_new || known->second == partition_index, "a metric comes from one partition");
      summaries_[metric] = summary;
    }
  }
  [[nodiscard]] std::map<std::string, Summary> summaries() const {
    const std::lock_guard lock(mutex_);
    return summaries_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> senders_;
  std::map<std::string, Summary> summaries_;
};

class Aggregator {
 public:
  Aggregator(Server& server, std::size_t partition_index)
      : server_(&server), partition_index_(partition_index) {}

  void operator()(std::span<Sample> batch) {
    for (const Sample& sample : batch) summaries_[sample.metric].add(sample.value);
    server_->report(partition_index_, summaries_);
  }

 private:
  Server* server_;  // borrowed
  std::size_t partition_index_;
  std::map<std::string, Summary> summaries_;
};

}  // namespace

int main() {
  Server server;
  auto samples = databuffer::Buffer<Sample>::per_partition(
      {.name = "metrics", .partitions = 3, .max_size = 500, .flush_interval = 1s},
      [&server](std::size_t partition_index) { return Aggregator(server, partition_index); });

  const std::vector<std::string> metrics{"cpu", "memory", "requests", "errors", "latency"};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int value = 1; value <= kSamples; ++value) {
        for (const std::string& metric : metrics) {
          const auto status = samples.insert_keyed(metric, {metric, static_cast<double>(value)});
          require(status == databuffer::InsertStatus::kAccepted, "waited for room, not refused");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  samples.close();

  const auto summaries = server.summaries();
  require(summaries.size() == metrics.size(), "every metric is reported");
  for (const auto& [metric, summary] : summaries) {
    std::cout << metric << ": " << summary.count << " samples, " << summary.lowest << " to "
              << summary.highest << '\n';
    require(summary.count == kThreads * kSamples, "with every sample");
    require(summary.sum == static_cast<double>(kThreads) * kSamples * (kSamples + 1) / 2,
            "and their sum");
    require(summary.lowest == 1 && summary.highest == kSamples, "and their bounds");
  }
}
