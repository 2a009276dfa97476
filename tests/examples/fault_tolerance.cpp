// Fault tolerance: a service that is down for a while, and an order it will never take.
//
// The handler asks for a retry, or names the items that failed. What finally fails goes to on_drop:
// here, to a list of dead letters. Nothing is lost on the way, and nothing is sent twice.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::Batch;
using databuffer::FlushContext;
using databuffer::FlushResult;
using examples::require;
using namespace std::chrono_literals;

// Down for its first two calls; refuses orders of nothing.
class Service {
 public:
  FlushResult accept(std::span<const int> orders) {
    if (++calls_ <= 2) return FlushResult::retry("the service is down");
    FlushResult result = FlushResult::ok();
    for (std::size_t index = 0; index < orders.size(); ++index) {
      if (orders[index] == 0) {
        result.fail_item(index, "an order of nothing");
      } else {
        accepted_.push_back(orders[index]);
      }
    }
    return result;
  }
  [[nodiscard]] int calls() const noexcept { return calls_; }
  [[nodiscard]] const std::vector<int>& accepted() const noexcept { return accepted_; }

 private:
  int calls_ = 0;
  std::vector<int> accepted_;
};

void a_service_that_is_down_and_an_item_that_is_bad() {
  Service service;
  std::vector<int> dead_letters;
  databuffer::Buffer<int> orders{
      {.name = "orders",
       .retry = {.attempts = 5, .initial_backoff = 1ms, .max_backoff = 10ms},
       .on_drop =
           [&](std::span<int> items, const databuffer::DropInfo& info) {
             for (std::size_t index = 0; index < items.size(); ++index) {
               std::cout << "dead letter " << items[index] << ": " << info.reason_of(index) << '\n';
             }
             dead_letters.insert(dead_letters.end(), items.begin(), items.end());
           }},
      [&](std::span<int> batch) { return service.accept(batch); }};

  require(orders.insert_batch(std::vector{7, 0, 9}).accepted == 3, "the orders are in");
  const auto reports = orders.sync_flush();
  require(reports[0].items == 3 && reports[0].failed_items == 1, "one of three failed");
  require(service.calls() == 3, "tried again until the service was up");
  require(service.accepted() == std::vector{7, 9}, "the good ones, in order, once");
  require(dead_letters == std::vector{0}, "the bad one is kept");
}

// A handler that cannot say which item is bad lets the buffer find out.
void an_item_that_poisons_its_batch() {
  std::vector<int> stored;
  std::vector<int> dead_letters;
  databuffer::Buffer<int> orders{
      {.name = "orders",
       .retry = {.isolate = true},
       .on_drop =
           [&](std::span<int> items, const databuffer::DropInfo&) {
             dead_letters.insert(dead_letters.end(), items.begin(), items.end());
           }},
      [&](std::span<int> batch) {
        for (const int order : batch) {
          if (order == 0) throw std::runtime_error("the transaction failed");  // all of it
        }
        stored.insert(stored.end(), batch.begin(), batch.end());
      }};

  const std::vector<int> orders_made{1, 2, 3, 0, 5, 6, 7, 8};
  require(orders.insert_batch(orders_made).accepted == 8, "the orders are in");
  require(orders.close().ledger.failed == 1, "only the bad one failed");
  require(stored == std::vector{1, 2, 3, 5, 6, 7, 8}, "all others are stored, in order");
  require(dead_letters == std::vector{0}, "the bad one is found");
}

}  // namespace

int main() {
  a_service_that_is_down_and_an_item_that_is_bad();
  an_item_that_poisons_its_batch();
}
