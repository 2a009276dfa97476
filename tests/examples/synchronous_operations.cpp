// Synchronous operations: wait for a flush and get its results; look at what is pending; take it.
#include <databuffer/databuffer.hpp>

#include <any>
#include <chrono>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "examples/require.hpp"

namespace {

using examples::require;
using namespace std::chrono_literals;

}  // namespace

int main() {
  // What the handler returns reaches whoever waits for it.
  databuffer::Buffer<int> numbers{{.name = "numbers", .flush_interval = databuffer::kForever},
                                  [](std::span<int> batch) {
                                    const int sum = std::accumulate(batch.begin(), batch.end(), 0);
                                    return databuffer::FlushResult::ok(sum);
                                  }};

  // dump() copies what is pending and leaves it there.
  require(numbers.insert_batch(std::vector{1, 2, 3}).accepted == 3, "they are in");
  require(numbers.dump() == std::vector{1, 2, 3}, "a copy of the pending items, in order");
  require(numbers.size() == 3, "they are still there");

  // sync_flush() waits until everything inserted before it has been handled: one report for each
  // partition.
  const std::vector<databuffer::FlushReport> reports = numbers.sync_flush(10s);
  require(reports.size() == 1, "one partition, one report");
  require(reports[0].status == databuffer::CallStatus::kDone, "done within the timeout");
  require(reports[0].items == 3, "three items");
  require(std::any_cast<int>(reports[0].result->value()) == 6, "the handler's value");
  std::cout << "flushed " << reports[0].items << " items, their sum is "
            << std::any_cast<int>(reports[0].result->value()) << '\n';

  // take() removes what is pending and hands it to the caller instead of the handler.
  require(numbers.insert_batch(std::vector{4, 5}).accepted == 2, "they are in");
  require(numbers.take() == std::vector{4, 5}, "the pending items themselves");
  require(numbers.size() == 0, "nothing is left");

  const databuffer::Ledger ledger = numbers.close().ledger;
  require(ledger.accepted == 5 && ledger.flushed == 3 && ledger.taken == 2, "the books show it");
}
