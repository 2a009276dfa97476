// Goal: looking at a buffer and taking from it, in the middle of traffic, loses and doubles
// nothing. Method: numbered items; each that was inserted is either handled or taken, once; no dump
// shows one twice or out of order.

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Findings;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

constexpr std::uint32_t kMostItems = 300'000;  // of one producer

/// Within one partition: each producer's items in order, so none of them twice.
void check_order(const std::vector<Item>& items, std::size_t producers, const std::string& what,
                 Findings& findings) {
  std::vector<std::int64_t> last(producers, -1);
  for (const Item& item : items) {
    if (item.sequence <= last[item.producer]) findings.add(what + ": out of order");
    last[item.producer] = item.sequence;
  }
}

/// Traffic through one partition, while `meddle(buffer)` is called again and again by `meddlers`
/// threads; every item must have its one end.
template <class Meddle>
void run_traffic(Options options, std::size_t producers, std::size_t meddlers, Witness& witness,
                 Meddle meddle) {
  const Budget budget(1s);
  Buffer<Item> buffer(std::move(options), [&](std::span<Item> items, const FlushContext& context) {
    witness.saw(context.partition_index, items);
    witness.ended(items);
  });
  Crew crew;
  crew.add(producers, [&](std::size_t producer) {
    for (std::uint32_t sequence = 0; sequence < kMostItems && budget.is_left(); ++sequence) {
      const Item item{static_cast<std::uint32_t>(producer), sequence};
      if (buffer.insert(item, databuffer::kForever) != InsertStatus::kAccepted) {
        witness.findings().add("refused");
      }
      witness.took(item);
    }
  });
  Crew meddling;
  meddling.add(meddlers, [&](std::size_t) {
    while (budget.is_left()) meddle(buffer);
  });
  crew.join();
  meddling.join();
  const databuffer::CloseReport report = buffer.close(databuffer::kForever);
  CHECK(report.status == CallStatus::kDone);
  CHECK(report.ledger.balances());
  CHECK(report.ledger.accepted == witness.taken_items());
  CHECK(report.ledger.flushed + report.ledger.taken == witness.ended_items());
  CHECK(witness.verdict() == "");
  MESSAGE(report.ledger.flushed << " flushed, " << report.ledger.taken << " taken");
}

}  // namespace

TEST_SUITE("inspection") {
  TEST_CASE("dump shows each item once and in order, and takes none") {
    constexpr std::size_t kProducers = 3;
    Witness witness(kProducers, 1, kMostItems);
    run_traffic({.name = "dump", .max_size = 100}, kProducers, 2, witness,
                [&](Buffer<Item>& buffer) {
                  check_order(buffer.dump(), kProducers, "dump", witness.findings());
                });
  }

  TEST_CASE("take and flush share the items out, each to one of them") {
    constexpr std::size_t kProducers = 3;
    Witness witness(kProducers, 1, kMostItems);
    run_traffic({.name = "take", .max_size = 100}, kProducers, 2, witness,
                [&](Buffer<Item>& buffer) {
                  const std::vector<Item> items = buffer.take();
                  check_order(items, kProducers, "take", witness.findings());
                  witness.ended(items);
                  std::this_thread::sleep_for(50us);
                });
  }

  TEST_CASE("take returns what its own thread inserted before, whatever others insert") {
    const Budget budget(1s);
    Buffer<Item> buffer({.name = "own", .max_size = 1 << 20, .flush_interval = 1h},
                        [](std::span<Item>) {});
    Crew crew;
    crew.add(3, [&](std::size_t) {
      while (budget.is_left()) {
        buffer.insert(Item{1, 0}, databuffer::kForever);
        if (buffer.size() > 100'000) std::this_thread::sleep_for(1ms);
      }
    });
    std::uint64_t missed = 0;
    for (std::uint32_t sequence = 0; budget.is_left(); ++sequence) {
      REQUIRE(buffer.insert(Item{0, sequence}) == InsertStatus::kAccepted);
      const std::vector<Item> items = buffer.take();
      missed += std::none_of(items.begin(), items.end(), [&](const Item& item) {
        return item.producer == 0 && item.sequence == sequence;
      });
    }
    crew.join();
    CHECK(missed == 0);
  }

  TEST_CASE("an item that is gone is in flight, wherever its consumer is held up") {
    // A signal holds the consumer up at any instruction, near those that gather the batch.
    constexpr int kHoldUp = SIGUSR2;
    struct sigaction action {};
    action.sa_handler = [](int) { databuffer::stress::spin_for(5us); };
    action.sa_flags = SA_RESTART;
    REQUIRE(sigaction(kHoldUp, &action, nullptr) == 0);

    pthread_t consumer{};
    Options options{.name = "held", .max_size = 1};
    options.wait_strategy = databuffer::WaitStrategy::kSpin;
    options.on_thread_start = [&](std::size_t) {
      consumer = pthread_self();
      sigset_t signals;
      sigemptyset(&signals);
      sigaddset(&signals, kHoldUp);
      pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    };
    const auto spin_until = [](auto is_so) {
      for (int turn = 1; !is_so(); ++turn) {
        if (turn % 1000 == 0)
          sched_yield();  // On a busy machine the other side may not be running.
      }
    };
    std::atomic<std::uint32_t> seen{0};
    Buffer<std::uint32_t> buffer(options, [&](std::span<std::uint32_t> batch) {
      spin_until([&] { return seen == batch[0]; });  // It is in flight until it was looked for.
    });
    Random random = databuffer::stress::printed_random();
    std::uint32_t missed = 0;
    std::uint32_t round = 0;
    const std::uint32_t rounds = scaled(40'000);
    while (round < rounds) {
      pthread_kill(consumer, kHoldUp);  // It arrives in a moment.
      databuffer::stress::spin_for(std::chrono::nanoseconds{random.number(0, 4000)});
      if (buffer.insert(++round) != InsertStatus::kAccepted) ++missed;
      spin_until([&] { return buffer.size() == 0; });
      if (buffer.ledger().in_flight != 1) ++missed;
      seen = round;
      spin_until([&] { return buffer.ledger().flushed == round; });
    }
    CHECK(missed == 0);
  }

  TEST_CASE("size is never negative nor far above the capacity, and 0 at the end") {
    const Budget budget(1s);
    constexpr std::size_t kProducers = 4;
    constexpr std::size_t kCapacity = 1000;
    constexpr std::size_t kUnasked = kCapacity / 64;  // of each producer: see Options::capacity
    constexpr std::size_t kBatch = 100;
    Buffer<Item> buffer({.name = "size", .max_size = kBatch, .capacity = kCapacity},
                        [](std::span<Item>) {});
    Crew crew;
    crew.add(kProducers, [&](std::size_t) {
      while (budget.is_left()) buffer.insert(Item{}, databuffer::kForever);
    });
    std::size_t largest = 0;
    while (budget.is_left()) {
      largest = std::max(largest, buffer.size());
      const databuffer::Ledger ledger = buffer.ledger();
      REQUIRE(ledger.accepted >= ledger.flushed + ledger.pending);
    }
    crew.join();
    // Unsigned: a negative one would be enormous. A batch that is just leaving counts until its
    // room is free, and others may use that room already.
    CHECK(largest <= kCapacity + kProducers * kUnasked + kBatch);
    static_cast<void>(buffer.sync_flush());
    CHECK(buffer.size() == 0);
  }
}
