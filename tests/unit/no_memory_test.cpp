// Goal: where memory is refused, at whatever point, nothing is lost and everything goes on.
// Method: every call is tried with its first, second, … request for memory refused, and all that
// follow, until it asks no more (support/counted_memory.hpp).

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/detail/memory.hpp"
#include "support/by_hand.hpp"
#include "support/counted_memory.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::by_hand;
using databuffer::support::grant_memory;
using databuffer::support::numbers;
using databuffer::support::Outcome;
using databuffer::support::refuse_from;
using databuffer::support::refuse_memory_from;
using databuffer::support::refuse_memory_once;
using databuffer::support::still_clock;
using databuffer::support::work_all;

TEST_SUITE("without memory") {
  TEST_CASE("a buffer that cannot be made throws std::bad_alloc and leaves nothing behind") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      const Outcome outcome = refuse_from(request, [] {
        const Buffer<int> buffer(by_hand({.partitions = 2}), [](std::span<int>) {});
      });
      CHECK(outcome.has_thrown == outcome.was_refused);
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("an item that there is no memory for stays with the caller, and later ones go in") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      Buffer<std::unique_ptr<int>> buffer(by_hand({.partitions = 2}),
                                          [](std::span<std::unique_ptr<int>>) {});
      auto item = std::make_unique<int>(7);
      InsertStatus status{};
      const Outcome outcome =
          refuse_from(request, [&] { status = buffer.insert(std::move(item)); });
      if (status == InsertStatus::kAccepted) {
        CHECK(item == nullptr);
      } else {
        CHECK(status == InsertStatus::kNoMemory);
        REQUIRE(item != nullptr);
        CHECK(*item == 7);
      }
      CHECK(buffer.ledger().balances());
      CHECK(buffer.size() == (status == InsertStatus::kAccepted ? 1 : 0));
      CHECK(buffer.ledger().refused_no_memory == (status == InsertStatus::kAccepted ? 0 : 1));
      CHECK(buffer.insert(std::make_unique<int>(8)) == InsertStatus::kAccepted);
      CHECK(buffer.close().status == CallStatus::kDone);
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("what there is no memory for takes no place, where a look takes one") {
    for (const std::size_t partitions : {1U, 3U}) {
      for (std::size_t request = 1;; ++request) {
        CAPTURE(partitions);
        CAPTURE(request);
        Buffer<int> buffer(by_hand({.partitions = partitions,
                                    .max_size = 4,
                                    .capacity = 4,
                                    .overflow = Overflow::kReject}),
                           [](std::span<int>) {});
        std::size_t accepted = 0;
        const Outcome outcome = refuse_from(request, [&] {
          for (int item = 0; item < 3; ++item) {
            if (buffer.insert(item) == InsertStatus::kAccepted) ++accepted;
            if (buffer.insert_keyed(item, 0) == InsertStatus::kAccepted) ++accepted;
          }
        });
        while (buffer.insert(0) == InsertStatus::kAccepted) ++accepted;
        CHECK(accepted == 4 * partitions);
        CHECK(buffer.size() == 4 * partitions);
        if (!outcome.was_refused) break;
      }
    }
  }

  TEST_CASE("of a batch the first ones are in, as the result says, and nothing is reserved") {
    for (const bool is_linked : {false, true}) {
      for (std::size_t request = 1;; ++request) {
        CAPTURE(is_linked);
        CAPTURE(request);
        constexpr std::size_t kItems = 3000;
        Buffer<int> buffer(by_hand({.max_size = kItems, .capacity = kItems}),
                           [](std::span<int>) {});
        const std::vector<int> vector = numbers(0, kItems);
        const std::list<int> list(vector.begin(), vector.end());
        std::size_t accepted = kItems + 1;
        const Outcome outcome = refuse_from(request, [&] {
          const InsertBatchResult result =
              is_linked ? buffer.insert_batch(list, 0s) : buffer.insert_batch(vector, 0s);
          accepted = result.accepted;
        });
        CHECK_FALSE(outcome.has_thrown);
        const Ledger ledger = buffer.ledger();
        CHECK(ledger.balances());
        CHECK(ledger.accepted == accepted);
        CHECK(ledger.refused_no_memory == kItems - accepted);
        CHECK(buffer.dump() == numbers(0, buffer.size()));
        // What is not taken by items is free.
        const std::size_t room = kItems - buffer.size();
        CHECK(buffer.insert_batch(vector, 0s).accepted == room);
        if (!outcome.was_refused) break;
      }
    }
  }

  TEST_CASE("a queue that has run out of memory in the middle of batches keeps its order") {
    std::optional<Buffer<int>> buffer;
    int refusals = 0;
    for (int round = 0; round < 300; ++round) {
      // What a buffer has it need not ask for: so a new one.
      if (round % 4 == 0) buffer.emplace(by_hand({.max_size = 100'000}), [](std::span<int>) {});
      CAPTURE(round);
      const std::vector<int> batch = numbers(0, 200 + static_cast<std::size_t>(round) * 37 % 5000);
      std::size_t accepted = 0;
      const auto request = static_cast<std::size_t>(round % 7 + 1);
      const Outcome outcome =
          refuse_from(request, [&] { accepted = buffer->insert_batch(batch, 0s).accepted; });
      CHECK(outcome.was_refused == (accepted < batch.size()));
      if (outcome.was_refused) ++refusals;
      std::vector<int> expected = numbers(0, accepted);
      if (round % 3 != 0) {
        CHECK(buffer->insert_batch(batch, 0s).accepted == batch.size());
        expected.insert(expected.end(), batch.begin(), batch.end());
      }
      CHECK(buffer->take() == expected);
    }
    CHECK(refusals > 60);
  }

  TEST_CASE("of a list that gives its items each is in, dropped, or still in the list") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      constexpr std::size_t kItems = 100;
      std::size_t dropped = 0;
      Options options = by_hand({.max_size = 40, .capacity = 40, .max_bytes = 20});
      options.weigh = [](const std::unique_ptr<int>&) { return std::size_t{1}; };
      options.overflow = Overflow::kReject;
      options.on_drop = [&](std::span<std::unique_ptr<int>> items, const DropInfo&) {
        dropped += items.size();
      };
      Buffer<std::unique_ptr<int>> buffer(options, [](std::span<std::unique_ptr<int>>) {});
      std::list<std::unique_ptr<int>> items;
      for (const int number : numbers(0, kItems)) items.push_back(std::make_unique<int>(number));
      std::size_t accepted = 0;
      const Outcome outcome = refuse_from(
          request, [&] { accepted = buffer.insert_batch(std::move(items), 0s).accepted; });
      CHECK_FALSE(outcome.has_thrown);
      std::size_t left = 0;
      for (const auto& item : items) {  // NOLINT: not moved as such
        if (item != nullptr) ++left;
      }
      CHECK(accepted + left == kItems);
      CHECK(buffer.ledger().accepted == accepted);
      CHECK(buffer.size() + dropped == accepted);
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("a batch that there is no memory for waits, and is flushed when there is") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      ManualClock clock(TimePoint{1h});
      std::vector<int> handled;
      handled.reserve(100);
      Buffer<int> buffer(by_hand({.max_size = 10, .clock = &clock}), [&](std::span<int> items) {
        handled.insert(handled.end(), items.begin(), items.end());
      });
      buffer.insert_batch(numbers(0, 10));
      TimePoint next{};
      const Outcome outcome = refuse_from(request, [&] { next = buffer.do_work(clock.now()); });
      CHECK(handled.size() + buffer.size() == 10);
      if (buffer.size() > 0) CHECK(next > clock.now());  // not at once: no spinning
      clock.advance(1s);
      work_all(buffer, clock.now());
      buffer.close();
      CHECK(handled == numbers(0, 10));
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("a batch that there is no memory for is made smaller, until there is") {
    std::vector<int> handled;
    std::vector<std::size_t> sizes;
    handled.reserve(1000);
    sizes.reserve(1000);
    Buffer<int> buffer(by_hand({.max_size = 64}), [&](std::span<int> items) {
      handled.insert(handled.end(), items.begin(), items.end());
      sizes.push_back(items.size());
    });
    CHECK(buffer.insert_batch(numbers(0, 64)).accepted == 64);
    refuse_memory_once(1);
    buffer.do_work(still_clock().now());
    CHECK(grant_memory());
    CHECK(sizes == std::vector<std::size_t>{32});
    buffer.flush();
    work_all(buffer, still_clock().now());
    CHECK(handled == numbers(0, 64));
  }

  TEST_CASE("a batch that fails without memory is counted and dropped like any other") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      std::size_t dropped = 0;
      Options options = by_hand({.max_size = 10});
      options.on_drop = [&](std::span<int> items, const DropInfo&) { dropped += items.size(); };
      Buffer<int> buffer(options, [&](std::span<int>) {
        const std::string text(1000, 'x');
        refuse_memory_from(request);  // From here on: what the buffer does with the failure.
        return FlushResult::failed(text);
      });
      buffer.insert_batch(numbers(0, 10));
      buffer.do_work(still_clock().now());
      const bool was_refused = grant_memory();
      CHECK(dropped == 10);
      CHECK(buffer.ledger() == Ledger{.accepted = 10, .failed = 10});
      if (!was_refused) break;
    }
  }

  TEST_CASE("take throws std::bad_alloc with nothing removed") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      Buffer<int> buffer(by_hand({.partitions = 3, .max_size = 100}), [](std::span<int>) {});
      for (int item = 0; item < 60; ++item) buffer.insert(item);
      std::vector<int> taken;
      const Outcome outcome = refuse_from(request, [&] { taken = buffer.take(); });
      if (outcome.has_thrown) CHECK(outcome.was_refused);
      CHECK(taken.size() + buffer.size() == 60);
      CHECK(buffer.ledger().taken == taken.size());
      CHECK(buffer.take().size() == 60 - taken.size());
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("dump throws std::bad_alloc with nothing changed") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      Buffer<int> buffer(by_hand({.max_size = 100}), [](std::span<int>) {});
      buffer.insert_batch(numbers(0, 60));
      std::vector<int> seen = numbers(0, 60);
      const Outcome outcome = refuse_from(request, [&] { seen = buffer.dump(); });
      if (outcome.has_thrown) CHECK(outcome.was_refused);
      CHECK(seen == numbers(0, 60));
      CHECK(buffer.dump() == numbers(0, 60));
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("under the dropping policies an item is dropped, accepted, or stays with the caller") {
    for (const Overflow overflow : {Overflow::kDropNewest, Overflow::kDropOldest}) {
      for (std::size_t request = 1;; ++request) {
        CAPTURE(to_string(overflow));
        CAPTURE(request);
        std::size_t dropped = 0;
        Options options = by_hand({.max_size = 1, .capacity = 1, .overflow = overflow});
        options.on_drop = [&](std::span<std::unique_ptr<int>> items, const DropInfo&) {
          dropped += items.size();
        };
        Buffer<std::unique_ptr<int>> buffer(options, [](std::span<std::unique_ptr<int>>) {});
        buffer.insert(std::make_unique<int>(1));
        auto item = std::make_unique<int>(2);
        InsertStatus status{};
        const Outcome outcome =
            refuse_from(request, [&] { status = buffer.insert(std::move(item), 0s); });
        const bool is_taken = status == InsertStatus::kAccepted || status == InsertStatus::kDropped;
        CHECK((is_taken || status == InsertStatus::kNoMemory));
        CHECK((item == nullptr) == is_taken);
        CHECK(dropped + buffer.size() == (is_taken ? 2 : 1));
        CHECK(buffer.ledger().balances());
        if (!outcome.was_refused) break;
      }
    }
  }

  TEST_CASE("close without memory reports what it could not even give up, and loses nothing") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      std::size_t dropped = 0;
      Options options = by_hand({.max_size = 5, .capacity = 100});
      options.on_drop = [&](std::span<int> items, const DropInfo&) { dropped += items.size(); };
      Buffer<int> buffer(options, [](std::span<int>) {});
      buffer.insert_batch(numbers(0, 23));
      CloseReport report;
      const Outcome outcome = refuse_from(request, [&] { report = buffer.close(0s); });
      CHECK(report.ledger.balances());
      CHECK(report.ledger.flushed + report.ledger.pending + dropped == 23);
      CHECK(report.dropped == dropped);
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("what close had no memory for has its end with the buffer") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      std::size_t ended = 0;
      Options options = by_hand({.max_size = 10, .capacity = 100});
      options.retry = {.attempts = 10, .initial_backoff = 1h, .max_backoff = 1h};
      options.on_drop = [&](std::span<int> items, const DropInfo&) { ended += items.size(); };
      bool was_refused = false;
      {
        Buffer<int> buffer(options, [](std::span<int>) { return false; });
        buffer.insert_batch(numbers(0, 60));
        buffer.do_work(still_clock().now());
        was_refused = refuse_from(request, [&] { buffer.close(0s); }).was_refused;
      }
      CHECK(ended == 60);
      if (!was_refused) break;
    }
  }

  TEST_CASE("sync_flush without memory throws or answers, and the next one works") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      ManualClock clock(TimePoint{1h});
      Buffer<int> buffer(by_hand({.partitions = 2, .max_size = 5, .clock = &clock}),
                         [](std::span<int>) { return FlushResult::ok(std::string(100, 'x')); });
      for (int item = 0; item < 20; ++item) buffer.insert(item);
      const Outcome outcome =
          refuse_from(request, [&] { static_cast<void>(buffer.sync_flush(0s)); });
      if (outcome.has_thrown) CHECK(outcome.was_refused);
      clock.advance(1s);
      work_all(buffer, clock.now());
      CHECK(buffer.sync_flush()[1].status == CallStatus::kDone);
      CHECK(buffer.size() == 0);
      CHECK(buffer.ledger().balances());
      if (!outcome.was_refused) break;
    }
  }

  TEST_CASE("attach and detach without memory throw, and change nothing") {
    for (std::size_t request = 1;; ++request) {
      CAPTURE(request);
      Buffer<int> buffer(by_hand({.max_size = 1}), [](std::span<int>) {});
      Telemetry telemetry = buffer.telemetry();
      int heard = 0;
      bool is_attached = false;
      const Outcome outcome = refuse_from(request, [&] {
        is_attached =
            telemetry.attach("an id too long to be kept in the string object itself",
                             Event::kFlushStop, [&heard](const TelemetryEvent&) { ++heard; });
      });
      if (outcome.has_thrown) CHECK(outcome.was_refused);
      buffer.insert(1);
      buffer.do_work(still_clock().now());
      CHECK(heard == (is_attached ? 1 : 0));
      if (!outcome.was_refused) break;
    }
  }
}
