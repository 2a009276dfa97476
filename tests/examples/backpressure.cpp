// Backpressure: what an insert does when the handler cannot follow.
//
// The handlers here wait until they are let go, so that the buffers are full for certain. Each has
// room for two items; a third is in the handler's hands.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::Buffer;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::Overflow;
using examples::require;
using namespace std::chrono_literals;

// A handler that is busy with its first batch until somebody lets it go.
class Busy {
 public:
  [[nodiscard]] auto handler() {
    return [this](const auto&) {
      entered_.set_value_at_first();
      released_.wait();
    };
  }
  void await() { entered_.future.wait(); }
  void let_go() { release_.set_value(); }

 private:
  struct Once {
    std::promise<void> promise;
    std::future<void> future = promise.get_future();
    bool is_set = false;
    void set_value_at_first() {
      if (!is_set) promise.set_value();
      is_set = true;
    }
  };
  Once entered_;  // set by the one consumer
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

// Fills the buffer: 1 with the handler, 2 and 3 waiting.
void fill(Buffer<int>& buffer, Busy& busy) {
  require(buffer.insert(1) == InsertStatus::kAccepted, "room for the handler's");
  busy.await();
  require(buffer.insert(2) == InsertStatus::kAccepted, "room for one");
  require(buffer.insert(3) == InsertStatus::kAccepted, "and for another");
}

Options options(Overflow overflow) {
  return {.name = "full", .max_size = 1, .capacity = 2, .overflow = overflow};
}

void waiting_ends_with_room_or_with_the_timeout() {
  Busy busy;
  Buffer<int> buffer{options(Overflow::kBlock), busy.handler()};
  fill(buffer, busy);
  require(buffer.insert(4, 20ms) == InsertStatus::kTimedOut, "full for 20 ms");

  std::thread producer([&] {
    require(buffer.insert(5, 60s) == InsertStatus::kAccepted, "accepted when there is room");
  });
  busy.let_go();
  producer.join();
  require(buffer.close().ledger.flushed == 4, "all that were accepted");
}

// What is refused is still the caller's. Here it is kept aside, and offered again later; the ledger
// counts each refusal, so that a monitor sees them without the producers' help.
void refused_at_once_and_offered_again() {
  Busy busy;
  Buffer<std::string> buffer{options(Overflow::kReject), busy.handler()};
  std::vector<std::string> kept_aside;
  const auto offer = [&](std::string item) {
    switch (buffer.insert(std::move(item))) {
      case InsertStatus::kAccepted:
      case InsertStatus::kDropped:  // on_drop has it
        return;
      case InsertStatus::kFull:
      case InsertStatus::kTimedOut:
      case InsertStatus::kNoMemory:
      case InsertStatus::kClosed:               // the end: it must go elsewhere, or be lost
        kept_aside.push_back(std::move(item));  // NOLINT: it was not moved from
        return;
    }
  };
  offer("1");
  busy.await();
  for (const char* const item : {"2", "3", "4", "5"}) offer(item);
  require(kept_aside == std::vector<std::string>{"4", "5"}, "untouched");
  require(buffer.ledger().refused_full == 2, "and counted");

  busy.let_go();
  buffer.sync_flush();
  for (std::string& item : std::exchange(kept_aside, {})) offer(std::move(item));
  const databuffer::Ledger ledger = buffer.close().ledger;
  require(kept_aside.empty() && ledger.flushed == 5, "all are flushed");
  std::cout << ledger.flushed << " flushed, " << ledger.refused() << " refused on the way\n";
}

void something_is_given_up(Overflow overflow, const std::vector<int>& expected) {
  Busy busy;
  std::vector<int> lost;
  Options given = options(overflow);
  given.on_drop = [&lost](std::span<int> items, const databuffer::DropInfo&) {
    lost.insert(lost.end(), items.begin(), items.end());
  };
  Buffer<int> buffer{given, busy.handler()};
  fill(buffer, busy);
  const InsertStatus status = buffer.insert(4);
  std::cout << to_string(overflow) << ": " << to_string(status) << '\n';
  require(lost == expected, "on_drop has the item");
  busy.let_go();
}

}  // namespace

int main() {
  waiting_ends_with_room_or_with_the_timeout();
  refused_at_once_and_offered_again();
  something_is_given_up(Overflow::kDropNewest, {4});
  something_is_given_up(Overflow::kDropOldest, {2});
}
