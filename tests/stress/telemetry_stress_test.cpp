// Goal: hooks may come, go, throw and call the buffer at any time, and no item notices.
// Method: threads that attach and detach at random, on one buffer and on the process, while others
// insert; a hook that stays must hear of everything.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::Event;
using databuffer::EventSet;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::Telemetry;
using databuffer::TelemetryEvent;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::Witness;

constexpr std::uint32_t kMostItems = 200'000;  // of one producer

void attach_and_detach(Telemetry telemetry, const std::string& id, std::uint64_t seed,
                       const Budget& budget, std::atomic<std::uint64_t>& events) {
  Random random(seed);
  while (budget.is_left()) {
    const EventSet set =
        random.pick({EventSet(Event::kInsertStop), EventSet(Event::kFlushStart), EventSet::all()});
    const bool throws = random.one_in(4);
    telemetry.attach(id, set, [&events, throws](const TelemetryEvent&) {
      ++events;
      if (throws) throw std::runtime_error("no");
    });
    std::this_thread::sleep_for(std::chrono::microseconds{random.number(0, 300)});
    telemetry.detach(id);
  }
}

}  // namespace

TEST_SUITE("telemetry") {
  TEST_CASE(
      "hooks that come, go and throw during traffic cost no item, and one that stays hears all") {
    Random random = databuffer::stress::printed_random();
    constexpr std::size_t kProducers = 3;
    const Budget budget(1200ms);
    Witness witness(kProducers, 2, kMostItems);
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> started{0};
    std::atomic<std::uint64_t> inserted{0};
    std::atomic<std::uint64_t> flushed{0};
    Buffer<Item> buffer({.name = "hooks", .partitions = 2, .max_size = 50},
                        [&](std::span<Item> items, const FlushContext& context) {
                          witness.saw(context.partition_index, items);
                          witness.ended(items);
                        });
    REQUIRE(buffer.telemetry().attach("stays", EventSet::all(), [&](const TelemetryEvent& event) {
      if (event.event == Event::kInsertStart) ++started;
      if (event.event == Event::kInsertStop) inserted += event.size;
      if (event.event == Event::kFlushStop) flushed += event.size;
    }));
    Crew crew;
    for (int index = 0; index < 2; ++index) {
      crew.add([&, index, seed = random.seed()] {
        attach_and_detach(buffer.telemetry(), "b" + std::to_string(index), seed, budget, events);
      });
      crew.add([&, index, seed = random.seed()] {
        attach_and_detach(databuffer::telemetry(), "p" + std::to_string(index), seed, budget,
                          events);
      });
    }
    crew.add(kProducers, [&](std::size_t producer) {
      for (std::uint32_t sequence = 0; sequence < kMostItems && budget.is_left(); ++sequence) {
        const Item item{static_cast<std::uint32_t>(producer), sequence};
        if (buffer.insert(item, databuffer::kForever) == InsertStatus::kAccepted)
          witness.took(item);
      }
    });
    crew.join();
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(witness.verdict() == "");
    const databuffer::Ledger ledger = buffer.ledger();
    CHECK(ledger.accepted == witness.taken_items());
    CHECK(ledger.balances());
    CHECK(started == ledger.accepted);
    CHECK(inserted == ledger.accepted);
    CHECK(flushed == ledger.flushed);
    MESSAGE(ledger.accepted << " items, " << events.load() << " other events");
  }

  TEST_CASE("once nobody listens, nobody is called") {
    std::atomic<std::uint64_t> events{0};
    Buffer<Item> buffer({.name = "quiet", .max_size = 10}, [](std::span<Item>) {});
    for (int round = 0; round < 100; ++round) {
      buffer.telemetry().attach("b", EventSet::all(), [&](const TelemetryEvent&) { ++events; });
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
      buffer.telemetry().detach("b");
    }
    static_cast<void>(buffer.sync_flush());
    const std::uint64_t heard = events;
    CHECK(heard >= 200);
    for (int item = 0; item < 100; ++item)
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    static_cast<void>(buffer.sync_flush());
    CHECK(events == heard);
  }

  TEST_CASE("a hook may insert into its own buffer, whatever the event and the policy") {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      CAPTURE(to_string(overflow));
      std::latch may_return{1};
      std::atomic<std::uint64_t> handled{0};
      Options options{.name = "echo", .max_size = 4, .capacity = 4, .overflow = overflow};
      options.insert_timeout = 1ms;
      Buffer<Item> buffer(std::move(options), [&](std::span<Item> items) {
        may_return.wait();
        handled += items.size();
      });
      std::atomic<std::uint64_t> echoes{0};
      buffer.telemetry().attach("echo", EventSet::all(), [&](const TelemetryEvent&) {
        ++echoes;
        static_cast<void>(buffer.insert(Item{}));
      });
      // The handler is stuck, so soon it is full: each insert then drops, waits or is refused.
      for (int item = 0; item < 30; ++item) static_cast<void>(buffer.insert(Item{}));
      CHECK(echoes >= 60);
      may_return.count_down();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(buffer.ledger().balances());
      CHECK(buffer.ledger().flushed == handled);
    }
  }

  TEST_CASE("hooks on the process come and go while buffers do") {
    Random random = databuffer::stress::printed_random();
    const Budget budget(1s);
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint64_t> buffers{0};
    Crew crew;
    crew.add([&, seed = random.seed()] {
      attach_and_detach(databuffer::telemetry(), "p", seed, budget, events);
    });
    crew.add(3, [&](std::size_t) {
      while (budget.is_left()) {
        Buffer<Item> buffer({.name = "brief", .max_size = 2}, [](std::span<Item>) {});
        for (int item = 0; item < 5; ++item) static_cast<void>(buffer.insert(Item{}));
        ++buffers;
      }
    });
    crew.join();
    CHECK(buffers > 0);
    MESSAGE(buffers.load() << " buffers, " << events.load() << " events");
  }
}
