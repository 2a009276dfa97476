// Goal: no wake-up is ever lost, and none is wasted.
// Method: producers whose next step needs the consumer to have woken for their last item. Whatever
// is lost stops the test, which the waits below notice. Nothing helps the consumer: no flush, no
// other producer, no look.

#include <doctest/doctest.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
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
using databuffer::TimePoint;
using databuffer::WaitStrategy;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::Findings;
using databuffer::stress::Item;
using databuffer::stress::Random;
using databuffer::stress::spin_for;

/// Producers that insert one item each and wait until it has been handled, again and again.
class PatientProducers {
 public:
  PatientProducers(std::size_t producers, Options options)
      : handled_(producers), buffer_(std::move(options), [this](std::span<Item> items) {
          // release: pairs with the acquire below.
          for (const Item& item : items) {
            handled_[item.producer].store(item.sequence, std::memory_order_release);
          }
        }) {}

  /// `goes_on(sequence)`: whether there is another item. Threads: one for each index.
  template <class GoesOn>
  void run(std::size_t index, std::uint64_t seed, GoesOn goes_on) {
    Random random(seed);
    std::uint32_t sequence = 0;
    while (goes_on(sequence) && !is_stuck_) {
      spin_for(
          std::chrono::nanoseconds{random.number(0, random.pick<std::size_t>({100, 200'000}))});
      const Item item{static_cast<std::uint32_t>(index), ++sequence};
      if (buffer_.insert(item) != InsertStatus::kAccepted) findings_.add("refused");
      const auto is_handled = [&] {
        return handled_[index].load(std::memory_order_acquire) == sequence || is_stuck_;
      };
      for (int look = 0; look < 1000 && !is_handled(); ++look) sched_yield();
      if (!eventually(is_handled)) {
        is_stuck_ = true;
        findings_.add("item " + std::to_string(sequence) + " of producer " + std::to_string(index) +
                      " is not handled");
      }
    }
    items_ += sequence;
  }

  [[nodiscard]] std::string findings() const { return findings_.text(); }
  [[nodiscard]] std::uint64_t items() const { return items_; }
  [[nodiscard]] Buffer<Item>& buffer() noexcept { return buffer_; }

 private:
  std::vector<std::atomic<std::uint32_t>> handled_;  // by producer: its last item that was handled
  std::atomic<bool> is_stuck_{false};
  std::atomic<std::uint64_t> items_{0};
  Findings findings_;
  Buffer<Item> buffer_;
};

template <class GoesOn>
std::string run_patient_producers(std::size_t producers, const Options& options, Random& random,
                                  GoesOn goes_on) {
  PatientProducers patient(producers, options);
  Crew crew;
  for (std::size_t index = 0; index < producers; ++index) {
    crew.add([&, index, seed = random.seed()] { patient.run(index, seed, goes_on); });
  }
  crew.join();
  MESSAGE(patient.items() << " items, " << patient.buffer().info()[0].rings << " rings");
  return patient.findings();
}

Options patient_options(std::size_t max_size, databuffer::Duration flush_interval,
                        WaitStrategy strategy) {
  return {.name = "patient",
          .max_size = max_size,
          .flush_interval = flush_interval,
          .flush_jitter = 0ms,
          .wait_strategy = strategy};
}

void sleep_in_signal_handler(int /*signal*/) {
  const timespec nap{0, 300'000};
  nanosleep(&nap, nullptr);
}

/// Stops threads in the middle of anything, again and again, as a busy machine does too rarely.
class Interrupter {
 public:
  Interrupter() {
    struct sigaction action {};
    action.sa_handler = sleep_in_signal_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
  }
  void run(const std::vector<pthread_t>& threads, const std::atomic<bool>& is_over,
           std::uint64_t seed) const {
    Random random(seed);
    while (!is_over) {
      pthread_kill(threads[random.number(0, threads.size() - 1)], SIGUSR1);
      spin_for(std::chrono::nanoseconds{random.number(1'000, 60'000)});
    }
  }
};

/// Voluntary and other context switches of a thread so far.
std::uint64_t context_switches(const std::string& task) {
  std::ifstream file("/proc/self/task/" + task + "/status");
  std::uint64_t switches = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find("ctxt_switches:");
    if (colon != std::string::npos) switches += std::stoull(line.substr(line.find('\t')));
  }
  return switches;
}

}  // namespace

TEST_SUITE("doorbell") {
  TEST_CASE("a lone item that completes a batch is handled, at whatever phase of the sleep") {
    Random random = databuffer::stress::printed_random();
    for (const WaitStrategy strategy : {WaitStrategy::kPark, WaitStrategy::kAdaptive}) {
      CAPTURE(to_string(strategy));
      const Budget budget(400ms);
      CHECK(run_patient_producers(1, patient_options(1, 1h, strategy), random,
                                  [&](std::uint32_t) { return budget.is_left(); }) == "");
    }
  }

  TEST_CASE("a lone item is handled by its deadline, at whatever phase of the sleep") {
    Random random = databuffer::stress::printed_random();
    for (const WaitStrategy strategy : {WaitStrategy::kPark, WaitStrategy::kAdaptive}) {
      CAPTURE(to_string(strategy));
      const Budget budget(400ms);
      CHECK(run_patient_producers(1, patient_options(1000, 50us, strategy), random,
                                  [&](std::uint32_t) { return budget.is_left(); }) == "");
    }
  }

  TEST_CASE("the last of several producers completes the batch for all") {
    Random random = databuffer::stress::printed_random();
    for (const std::size_t producers : {2U, 3U, 8U}) {
      CAPTURE(producers);
      // As many each, for nobody may be left alone with a batch that the others do not complete.
      const std::uint32_t items = static_cast<std::uint32_t>(
          databuffer::stress::number_from_environment("DATABUFFER_STRESS_SECONDS", 1) *
          databuffer::stress::scaled(800));
      CHECK(run_patient_producers(producers, patient_options(producers, 1h, WaitStrategy::kPark),
                                  random,
                                  [&](std::uint32_t sequence) { return sequence < items; }) == "");
    }
  }

  TEST_CASE("a producer that is held up anywhere in its insert takes nobody's wake-up away") {
    Random random = databuffer::stress::printed_random();
    const Budget budget(2s);
    PatientProducers patient(4, patient_options(3, 100us, WaitStrategy::kPark));
    const Interrupter interrupter;
    std::vector<pthread_t> threads;
    std::atomic<bool> is_over{false};
    std::vector<std::thread> producers;
    for (std::size_t index = 0; index < 4; ++index) {
      producers.emplace_back([&, index, seed = random.seed()] {
        patient.run(index, seed, [&](std::uint32_t) { return budget.is_left(); });
      });
      threads.push_back(producers.back().native_handle());
    }
    std::thread interrupting([&] { interrupter.run(threads, is_over, random.seed()); });
    // The threads that get signals are joined only when none comes any more.
    static_cast<void>(eventually([&] { return !budget.is_left(); }));
    is_over = true;
    interrupting.join();
    for (std::thread& producer : producers) producer.join();
    MESSAGE(patient.items() << " items");
    CHECK(patient.findings() == "");
  }

  TEST_CASE("many producers blocked on a tiny buffer all get through") {
    Random random = databuffer::stress::printed_random();
    for (const std::size_t capacity : {1U, 2U, 4U}) {
      const std::size_t partitions = random.number(1, 3);
      const Budget budget(400ms);
      std::atomic<std::uint64_t> handled{0};
      std::atomic<std::uint64_t> inserted{0};
      std::atomic<std::uint64_t> refused{0};
      Buffer<Item> buffer(
          {.name = "tiny",
           .partitions = partitions,
           .max_size = random.number(1, capacity),
           .flush_interval = 1h,
           .capacity = capacity,
           .insert_timeout = databuffer::kForever,
           .wait_strategy = random.pick({WaitStrategy::kPark, WaitStrategy::kAdaptive})},
          [&](std::span<Item> items) { handled += items.size(); });
      Crew crew;
      crew.add(16, [&](std::size_t) {
        while (budget.is_left()) {
          if (buffer.insert(Item{}) == InsertStatus::kAccepted) {
            ++inserted;
          } else {
            ++refused;
          }
        }
      });
      // Progress: as long as they insert, the count moves.
      bool moves = true;
      while (budget.is_left() && moves) {
        const std::uint64_t before = inserted;
        moves = eventually([&] { return inserted != before || !budget.is_left(); });
      }
      CHECK(moves);
      crew.join();
      buffer.close();
      CHECK(refused == 0);
      CHECK(handled == inserted);
      MESSAGE("capacity " << capacity << ": " << inserted.load() << " items");
    }
  }

  TEST_CASE("a clock that stands still keeps nobody from flushing and closing") {
    for (const WaitStrategy wait : {WaitStrategy::kAdaptive, WaitStrategy::kPark,
                                    WaitStrategy::kYield, WaitStrategy::kSpin}) {
      CAPTURE(databuffer::to_string(wait));
      databuffer::ManualClock clock(TimePoint{1h});
      std::atomic<std::uint64_t> handled{0};
      Buffer<Item> buffer(
          {.name = "still", .max_size = 1000, .wait_strategy = wait, .clock = &clock},
          [&](std::span<Item> items) { handled += items.size(); });
      for (int round = 0; round < 100; ++round) {  // By this clock they pour in.
        for (int item = 0; item < 900; ++item) {
          REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
        }
        clock.advance(20us);
        buffer.flush();
      }
      CHECK(buffer.sync_flush(30s)[0].status == CallStatus::kDone);
      CHECK(handled == 90'000);
      CHECK(buffer.insert(Item{}) == InsertStatus::kAccepted);
      CHECK(buffer.close(30s).status == CallStatus::kDone);
      CHECK(handled == 90'001);
    }
  }

  TEST_CASE("an idle buffer's threads do not wake at all") {
    Buffer<Item> buffer({.name = "idle", .partitions = 3}, [](std::span<Item>) {});
    for (int item = 0; item < 100'000; ++item)
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
    static_cast<void>(buffer.sync_flush());
    const std::vector<std::string> tasks = databuffer::stress::tasks_named("idle.");
    REQUIRE(tasks.size() == 4);  // three consumers and the watch
    const auto count = [&] {
      std::vector<std::uint64_t> switches;
      for (const std::string& task : tasks) switches.push_back(context_switches(task));
      return switches;
    };
    // They come to rest, a few naps after the last item; and then they stay there.
    std::vector<std::uint64_t> before;
    REQUIRE(eventually([&] {
      before = count();
      std::this_thread::sleep_for(200ms);
      return count() == before;
    }));
    std::this_thread::sleep_for(2s);
    CHECK(count() == before);
  }

  TEST_CASE("short handler calls wake the watch once, not each") {
    std::atomic<int> handled{0};
    Buffer<Item> buffer({.name = "calls", .max_size = 1}, [&](std::span<Item>) { ++handled; });
    std::vector<std::string> watch;
    REQUIRE(eventually([&] {  // It gives itself its name.
      watch = databuffer::stress::tasks_named("calls.watch");
      return watch.size() == 1;
    }));
    const std::uint64_t before = context_switches(watch[0]);
    for (int call = 1; call <= 200; ++call) {
      REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
      REQUIRE(eventually([&] { return handled == call; }));
    }
    CHECK(context_switches(watch[0]) - before <= 20);  // its own few; the machine's in between
  }

  TEST_CASE("a consumer parks behind a single burst") {
    Options options{.name = "burst", .max_size = 100, .flush_interval = 1h};
    std::atomic<std::uint64_t> handled{0};
    Buffer<Item> buffer(std::move(options),
                        [&](std::span<Item> items) { handled += items.size(); });
    std::uint64_t fewest = 1000;
    for (std::uint64_t burst = 1; burst <= 20; ++burst) {  // The quietest: the machine has others.
      const std::uint64_t before = buffer.info()[0].wake_ups;
      for (int item = 0; item < 100; ++item) buffer.insert(Item{});
      REQUIRE(eventually([&] { return handled == burst * 100; }));
      std::this_thread::sleep_for(10ms);
      fewest = std::min(fewest, buffer.info()[0].wake_ups - before);
    }
    CHECK(fewest <= 4);  // for the first item and for the last, and a nap or two in between
  }

  TEST_CASE("a cold partition is rung at most twice a batch") {
    for (const WaitStrategy strategy : {WaitStrategy::kPark, WaitStrategy::kAdaptive}) {
      CAPTURE(to_string(strategy));
      Buffer<Item> buffer(patient_options(5, 1h, strategy), [](std::span<Item>) {});
      for (int item = 0; item < 200; ++item) {
        REQUIRE(buffer.insert(Item{}) == InsertStatus::kAccepted);
        std::this_thread::sleep_for(2ms);  // slower than what is polled for
      }
      REQUIRE(eventually([&] { return buffer.ledger().flushed == 200; }));
      const databuffer::PartitionInfo info = buffer.info()[0];
      CHECK(info.batches == 40);
      CHECK(info.rings <= 2 * info.batches + 1);
      if (strategy == WaitStrategy::kPark) CHECK(info.wake_ups <= 2 * info.batches + 1);
    }
  }

  // Hot is a partition whose consumer sees items pour in. Whenever the machine stops the producer
  // for a moment it is a cold one, and rung for the first item of a batch and for the last. So one
  // round out of several is enough. (A consumer that parks is rung 600 times or more in each.)
  TEST_CASE("a hot partition is rung for one batch in ten at most") {
    constexpr std::uint64_t kBatches = 1000;
    constexpr std::size_t kMaxSize = 1000;
    constexpr std::uint32_t kItems = kBatches * kMaxSize;
    constexpr int kMostRounds = 20;
    bool is_quiet = false;
    for (int round = 0; round < kMostRounds && !is_quiet; ++round) {
      Options options = patient_options(kMaxSize, 1h, WaitStrategy::kAdaptive);
      options.capacity = kItems;  // Whoever waits for room rings as well, once for each wait.
      Buffer<Item> buffer(std::move(options), [](std::span<Item>) {});
      for (std::uint32_t sequence = 0; sequence < kItems; ++sequence) {
        if (buffer.insert(Item{0, sequence}) != InsertStatus::kAccepted) FAIL("refused");
      }
      // Whoever flushes or closes rings, too: the last batch must complete itself.
      REQUIRE(eventually([&] { return buffer.ledger().flushed == kItems; }));
      const databuffer::PartitionInfo info = buffer.info()[0];
      MESSAGE(info.rings << " rings, " << info.batches << " batches, " << info.wake_ups
                         << " wake-ups");
      CHECK(info.batches == kBatches);
      is_quiet = info.rings <= info.batches / 10;
    }
    CHECK(is_quiet);
  }
}
