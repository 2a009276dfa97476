// Quick start: write a handler, start a buffer, insert, look, close.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;
using namespace std::chrono_literals;

struct Event {
  std::string type;
  int user_id = 0;
};

// Stands for a database that likes many rows at once. With several partitions several threads call
// the handler at the same time, so what it shares has to be safe for that.
class Table {
 public:
  void insert_all(std::span<const Event> rows) {
    const std::lock_guard lock(mutex_);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return rows_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Event> rows_;
};

}  // namespace

int main() {
  Table table;

  // 1. The handler is any callable that takes a batch.
  // 2. The buffer runs when its constructor returns.
  databuffer::Buffer<Event> events{
      {.name = "events", .partitions = 4, .max_size = 1000, .flush_interval = 5s},
      [&table](std::span<Event> batch) { table.insert_all(batch); }};

  // 3. Insert from any thread: one by one …
  require(events.insert({"click", 123}) == databuffer::InsertStatus::kAccepted, "accepted");

  // … or many at a time.
  std::vector<Event> more{{"view", 123}, {"click", 456}, {"purchase", 789}};
  const databuffer::InsertBatchResult result = events.insert_batch(std::move(more));
  require(result.accepted == 3, "all three are in");

  // Look.
  std::cout << events.size() << " pending, in " << events.info().size() << " partitions\n";

  // Ask for a flush now. It returns at once; close() below waits.
  events.flush();

  // Stop: nothing more is accepted, everything pending is flushed. The destructor would do it too.
  const databuffer::CloseReport report = events.close();
  require(report.status == databuffer::CallStatus::kDone, "closed in time");
  require(report.ledger.flushed == 4 && report.ledger.balances(), "every item has its end");
  require(table.size() == 4, "all rows are in the table");
  require(events.insert({"late", 1}) == databuffer::InsertStatus::kClosed, "closed is closed");
  std::cout << report.ledger.flushed << " rows flushed\n";
}
