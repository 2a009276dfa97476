// Goal: threads and buffers come and go; slots stay few, and no item of a thread that has ended is
// lost.
// Method: very many threads, each of which inserts a little and ends; threads that use more buffers
// than they remember; buffers that are destroyed under threads that have used them.

#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::PartitionInfo;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::scaled;
using databuffer::stress::Witness;

/// A thread's items, in order. Any part of its end may insert the next one.
struct Sequence {
  Buffer<Item>* buffer = nullptr;
  Witness* witness = nullptr;
  Item next;

  void insert_next() {
    const Item item{next.producer, next.sequence++};
    if (buffer->insert(item, databuffer::kForever) == InsertStatus::kAccepted) witness->took(item);
  }
};

/// Inserts when its thread ends: before or after the thread's other objects go.
struct Epilogue {
  Sequence* sequence = nullptr;
  ~Epilogue() {
    if (sequence != nullptr) sequence->insert_next();
  }
};

// Rounds of the destructors of a thread's keys. In the last one a thread is gone for the thread
// sanitizer, which then cannot follow it.
constexpr int kKeyRounds =
    PTHREAD_DESTRUCTOR_ITERATIONS - (databuffer::support::kHasThreadSanitizer ? 1 : 0);

/// A thread-specific key whose destructor inserts, in every round.
class InsertingKey {
 public:
  InsertingKey() { REQUIRE(pthread_key_create(&key_, &at_end) == 0); }
  ~InsertingKey() { pthread_key_delete(key_); }
  InsertingKey(const InsertingKey&) = delete;
  InsertingKey& operator=(const InsertingKey&) = delete;

  struct Rounds {
    Sequence* sequence;
    pthread_key_t key;
    int round = 0;
  };
  /// For this thread; `rounds` outlives it.
  void set(Rounds& rounds) {
    rounds.key = key_;
    pthread_setspecific(key_, &rounds);
  }

 private:
  static void at_end(void* data) {
    Rounds& rounds = *static_cast<Rounds*>(data);
    rounds.sequence->insert_next();
    if (++rounds.round < kKeyRounds) pthread_setspecific(rounds.key, data);
  }

  pthread_key_t key_{};
};

}  // namespace

TEST_SUITE("thread churn") {
  TEST_CASE("100,000 short threads leave few slots and lose no item") {
    constexpr std::size_t kAtOnce = 8;
    constexpr std::size_t kPartitions = 3;
    const std::uint32_t threads = scaled(100'000 / kAtOnce);  // one after the other, in each lane
    Witness witness(kAtOnce, kPartitions, 2 * threads);
    Buffer<Item> buffer({.name = "churn", .partitions = kPartitions, .max_size = 100},
                        [&](std::span<Item> items, const FlushContext&) { witness.ended(items); });
    Crew lanes;
    lanes.add(kAtOnce, [&](std::size_t lane) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        std::thread([&] {
          for (std::uint32_t offset = 0; offset < 2; ++offset) {
            const Item item{static_cast<std::uint32_t>(lane), 2 * thread + offset};
            if (buffer.insert(item, databuffer::kForever) == InsertStatus::kAccepted) {
              witness.took(item);
            }
          }
        }).join();
      }
    });
    lanes.join();
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(witness.verdict() == "");
    CHECK(buffer.ledger().flushed == 2 * kAtOnce * threads);
    for (const PartitionInfo& info : buffer.info()) CHECK(info.producer_slots <= kAtOnce);
  }

  TEST_CASE("a thread that inserts from its objects' destructors keeps its order, and one seat") {
    const std::uint32_t threads = scaled(2'000);
    Witness witness(threads, 2, 3);
    Buffer<Item> buffer({.name = "epilogue", .partitions = 2, .max_size = 10},
                        [&](std::span<Item> items, const FlushContext& context) {
                          witness.saw(context.partition_index, items);
                          witness.ended(items);
                        });
    for (std::uint32_t index = 0; index < threads; ++index) {
      Sequence sequence{&buffer, &witness, {index, 0}};
      std::thread([&] {
        // One is constructed before the thread's first insert, the other after it.
        thread_local Epilogue last;
        last.sequence = &sequence;
        sequence.insert_next();
        thread_local Epilogue second_last;
        second_last.sequence = &sequence;
      }).join();
    }
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(witness.verdict() == "");
    CHECK(witness.taken_items() == 3 * threads);
    CHECK(buffer.info()[0].producer_slots == 1);
  }

  TEST_CASE("while nothing is delivered waves of threads hold what one wave needs") {
    constexpr std::size_t kThreads = 40;
    constexpr std::size_t kMost = 2 * (kThreads + 2 * 8);
    const std::uint32_t waves = scaled(200);
    enum class Drained { kByNobody, kByDropOldest, kByTake };
    for (const Drained drained : {Drained::kByNobody, Drained::kByDropOldest, Drained::kByTake}) {
      CAPTURE(static_cast<int>(drained));
      Options options{.name = "outage", .max_size = 100, .flush_interval = 1h};
      options.capacity = drained == Drained::kByNobody ? 1'000'000 : 100;
      options.overflow = databuffer::Overflow::kDropOldest;
      options.retry = {.attempts = 1000, .initial_backoff = 24h, .max_backoff = 24h};
      options.close_timeout = 0s;
      Buffer<std::uint64_t> buffer(options, [](std::span<std::uint64_t>) { return false; });
      for (std::uint64_t item = 0; item < 100; ++item) {
        REQUIRE(buffer.insert(std::uint64_t{item}) == InsertStatus::kAccepted);
      }
      // One batch waits for its retry from now on.
      REQUIRE(eventually([&] { return buffer.info()[0].in_flight == 100; }));
      std::size_t most_slots = 0;
      std::size_t most_bytes = 0;
      for (std::uint32_t wave = 0; wave < waves; ++wave) {
        Crew crew;
        crew.add(kThreads, [&](std::size_t) {
          CHECK(buffer.insert(std::uint64_t{wave}) == InsertStatus::kAccepted);
        });
        crew.join();
        if (drained == Drained::kByTake) CHECK(buffer.take().size() <= kThreads);
        const PartitionInfo info = buffer.info()[0];
        most_slots = std::max(most_slots, info.producer_slots);
        most_bytes = std::max(most_bytes, info.queue_bytes);
      }
      CHECK(most_slots <= kMost);
      const std::size_t most_segments =
          (std::size_t{waves} * kThreads + 100) / 1024 + 1 + 2 * most_slots;
      CHECK(most_bytes <= most_segments * (8192 + 512));
    }
  }

  TEST_CASE("a thread that inserts from its keys' destructors, to the last, keeps its order") {
    // Both sides of the library's own key, whose destructor gives the seat back: one key is older,
    // the other newer. And other threads, who take the seats that are given back.
    constexpr std::size_t kAtOnce = 4;
    constexpr std::uint32_t kKeyItems = 2 * kKeyRounds;
    const std::uint32_t threads = scaled(5'000);
    InsertingKey before;
    std::thread([] {  // The library's key is made now, if it has not been before.
      Buffer<int> any({.name = "any"}, [](std::span<int>) {});
      any.insert(1);
    })
        .join();
    InsertingKey after;
    for (const bool inserts_earlier : {true, false}) {
      CAPTURE(inserts_earlier);
      const std::uint32_t items = kKeyItems + (inserts_earlier ? 2 : 0);
      Witness witness(kAtOnce * threads, 1, items);
      Buffer<Item> buffer({.name = "keys", .max_size = 10}, [&](std::span<Item> batch) {
        witness.saw(0, batch);
        witness.ended(batch);
      });
      Crew lanes;
      lanes.add(kAtOnce, [&](std::size_t lane) {
        for (std::uint32_t index = 0; index < threads; ++index) {
          const auto producer = static_cast<std::uint32_t>(lane * threads + index);
          Sequence sequence{&buffer, &witness, {producer, 0}};
          InsertingKey::Rounds early{&sequence, {}};
          InsertingKey::Rounds late{&sequence, {}};
          std::thread([&] {
            before.set(early);
            after.set(late);
            if (!inserts_earlier) return;
            sequence.insert_next();
            sequence.insert_next();
          }).join();
        }
      });
      lanes.join();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(witness.verdict() == "");
      CHECK(witness.taken_items() == std::uint64_t{kAtOnce} * threads * items);
      CHECK(buffer.info()[0].producer_slots <= 3 * kAtOnce);
    }
  }

  TEST_CASE("waves of threads leave no slots behind, whoever looks meanwhile") {
    constexpr std::size_t kPartitions = 2;
    constexpr std::size_t kThreads = 100;  // at once
    constexpr std::uint32_t kItems = 5;
    const std::uint32_t waves = scaled(20);
    const std::uint32_t steady_items = 200'000;
    Witness witness(kThreads + 1, kPartitions, std::max(waves * kItems, steady_items));
    Buffer<Item> buffer({.name = "waves", .partitions = kPartitions, .max_size = 20},
                        [&](std::span<Item> items, const FlushContext& context) {
                          witness.saw(context.partition_index, items);
                          witness.ended(items);
                        });
    std::atomic<bool> is_over{false};
    Crew others;
    others.add([&] {  // A producer that stays: so that batches are made all the time.
      Sequence sequence{&buffer, &witness, {kThreads, 0}};
      while (!is_over && sequence.next.sequence < steady_items) {
        sequence.insert_next();
        if (sequence.next.sequence % 100 == 0) std::this_thread::yield();
      }
    });
    std::atomic<std::uint64_t> impossible{0};
    others.add([&] {
      while (!is_over) {
        const std::size_t pending = buffer.size();
        if (pending > steady_items) ++impossible;
        for (const PartitionInfo& info : buffer.info()) {
          if (info.producer_slots > 2 * (kThreads + 1 + 8)) ++impossible;
        }
        buffer.sync_flush();
        static_cast<void>(buffer.dump());
      }
    });
    for (std::uint32_t wave = 0; wave < waves; ++wave) {
      std::barrier<> all_have_inserted(kThreads);
      Crew crew;
      crew.add(kThreads, [&](std::size_t thread) {
        Sequence sequence{&buffer, &witness, {static_cast<std::uint32_t>(thread), wave * kItems}};
        for (std::uint32_t item = 0; item < kItems; ++item) sequence.insert_next();
        all_have_inserted.arrive_and_wait();
      });
      crew.join();
      // Kept for the next, and one in use.
      for (std::size_t index = 0; index < kPartitions; ++index) {
        CHECK(eventually([&] { return buffer.info()[index].producer_slots <= 8 + 1; }));
      }
      buffer.sync_flush();  // Of one thread's items in two waves none overtakes another.
    }
    is_over = true;
    others.join();
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(witness.verdict() == "");
    CHECK(impossible == 0);
    CHECK(buffer.ledger().accepted == witness.taken_items());
    CHECK(buffer.ledger().balances());
  }

  TEST_CASE("a thread uses more buffers than it remembers") {
    constexpr std::size_t kBuffers = 20;
    constexpr std::size_t kThreads = 4;
    const std::uint32_t items = scaled(5'000);
    struct Target {
      Target() : witness(kThreads, 1, 100'000) {}
      Witness witness;
      std::unique_ptr<Buffer<Item>> buffer;
    };
    std::vector<std::unique_ptr<Target>> targets;
    for (std::size_t index = 0; index < kBuffers; ++index) {
      Target& target = *targets.emplace_back(std::make_unique<Target>());
      target.buffer = std::make_unique<Buffer<Item>>(
          databuffer::Options{.name = "many", .max_size = 10}, [&target](std::span<Item> batch) {
            target.witness.saw(0, batch);
            target.witness.ended(batch);
          });
    }
    Crew crew;
    crew.add(kThreads, [&](std::size_t thread) {
      for (std::uint32_t sequence = 0; sequence < items; ++sequence) {
        for (const auto& target : targets) {
          const Item item{static_cast<std::uint32_t>(thread), sequence};
          if (target->buffer->insert(item, databuffer::kForever) == InsertStatus::kAccepted) {
            target->witness.took(item);
          }
        }
      }
    });
    crew.join();
    for (const auto& target : targets) {
      target->buffer->close(databuffer::kForever);
      REQUIRE(target->witness.verdict() == "");
      REQUIRE(target->buffer->ledger().flushed == kThreads * items);
      REQUIRE(target->buffer->info()[0].producer_slots == kThreads);
    }
  }

  TEST_CASE("buffers come and go while the threads that use them live") {
    const Budget budget(1s);
    std::mutex mutex;
    std::shared_ptr<Buffer<Item>> current;  // guarded by the mutex
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> handled{0};
    std::uint64_t buffers = 0;
    const auto renew = [&] {
      auto fresh = std::make_shared<Buffer<Item>>(
          databuffer::Options{.name = "current", .partitions = 2, .max_size = 5},
          [&](std::span<Item> items) { handled += items.size(); });
      const std::lock_guard lock(mutex);
      current.swap(fresh);  // The old one ends outside the lock, here or with its last user.
      return fresh;
    };
    renew();
    Crew crew;
    crew.add(4, [&](std::size_t) {
      while (budget.is_left()) {
        std::shared_ptr<Buffer<Item>> buffer;
        {
          const std::lock_guard lock(mutex);
          buffer = current;
        }
        for (int item = 0; item < 10; ++item) {
          if (buffer->insert(Item{}) == InsertStatus::kAccepted) ++accepted;
        }
      }
    });
    for (; budget.is_left(); ++buffers) renew();
    crew.join();
    current.reset();
    CHECK(handled == accepted);
    MESSAGE(buffers << " buffers, " << accepted.load() << " items");
  }
}
