// Custom flush metadata: one handler for several buffers; each tells it where its items go.
#include <databuffer/databuffer.hpp>

#include <any>
#include <iostream>
#include <string>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;

enum class Priority { kLow, kHigh };

struct Destination {
  std::string database;
  Priority priority = Priority::kLow;
};

struct Stores {
  std::vector<int> analytics;
  std::vector<int> metrics;
};

// With the context as second parameter a handler learns why it is called, how often, and for whom.
class Dispatch {
 public:
  explicit Dispatch(Stores& stores) : stores_(&stores) {}

  databuffer::FlushResult operator()(databuffer::Batch<int>& batch,
                                     const databuffer::FlushContext& context) const {
    const auto& destination = std::any_cast<const Destination&>(*context.meta);
    std::cout << context.size << " items for " << destination.database << " ("
              << to_string(context.reason) << ")\n";
    if (destination.database == "analytics_db") {
      stores_->analytics.insert(stores_->analytics.end(), batch.begin(), batch.end());
    } else if (destination.database == "metrics_db") {
      stores_->metrics.insert(stores_->metrics.end(), batch.begin(), batch.end());
    } else {
      return databuffer::FlushResult::failed("no database is called " + destination.database);
    }
    return databuffer::FlushResult::ok();
  }

 private:
  Stores* stores_;  // borrowed; each buffer has one partition and fills its own vector
};

}  // namespace

int main() {
  Stores stores;
  const Dispatch dispatch(stores);
  databuffer::Buffer<int> events{
      {.name = "events", .flush_meta = Destination{"analytics_db", Priority::kHigh}}, dispatch};
  databuffer::Buffer<int> metrics{{.name = "metrics", .flush_meta = Destination{"metrics_db"}},
                                  dispatch};
  databuffer::Buffer<int> strays{{.name = "strays", .flush_meta = Destination{"nowhere"}},
                                 dispatch};
  require(events.insert_batch(std::vector{1, 2, 3}).accepted == 3, "the events are in");
  require(metrics.insert(4) == databuffer::InsertStatus::kAccepted, "the metric is in");
  require(strays.insert(5) == databuffer::InsertStatus::kAccepted, "the stray is in");

  require(events.close().ledger.flushed == 3, "the events are flushed");
  require(metrics.close().ledger.flushed == 1, "the metric is flushed");
  require(strays.close().ledger.failed == 1, "the stray failed, and is counted as that");
  require(stores.analytics == std::vector{1, 2, 3}, "the events are where their buffer said");
  require(stores.metrics == std::vector{4}, "so is the metric");
}
