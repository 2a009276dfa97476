// Goal: on_drop receives every item the buffer gives up, once, with the reason, whatever it does
// itself.
// Method: each way of giving up, with an on_drop that notes, throws, or calls back.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CountedItem;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// What on_drop was told, with copies of what it only borrows.
struct Dropped {
  std::vector<int> items;
  DropReason reason;
  std::string buffer;
  std::size_t partition_index;
  std::uint64_t batch_id;
  std::string error;
};

auto note_in(std::vector<Dropped>& drops) {
  return [&drops](std::span<int> items, const DropInfo& info) {
    drops.push_back({{items.begin(), items.end()},
                     info.reason,
                     std::string(info.buffer),
                     info.partition_index,
                     info.batch_id,
                     std::string(info.error)});
  };
}

void keep_quiet(std::span<int>, const DropInfo&) {}

}  // namespace

TEST_SUITE("on_drop") {
  TEST_CASE("a failed batch goes to on_drop with its number and its error") {
    std::vector<Dropped> drops;
    ManualBuffer<int> buffer({.name = "named", .max_size = 3, .on_drop = note_in(drops)},
                             [](Batch<int>&, const FlushContext& context) {
                               if (context.batch_id == 2) return FlushResult::failed("disk full");
                               return FlushResult::ok();
                             });
    buffer->insert_batch(numbers(0, 9));
    buffer.work_all();
    REQUIRE(drops.size() == 1);
    CHECK(drops[0].items == numbers(3, 3));
    CHECK(drops[0].reason == DropReason::kFailed);
    CHECK(drops[0].buffer == "named");
    CHECK(drops[0].batch_id == 2);
    CHECK(drops[0].error == "disk full");
    CHECK(buffer->ledger() == Ledger{.accepted = 9, .flushed = 6, .failed = 3});
  }

  TEST_CASE("it names the partition that gave up") {
    std::vector<Dropped> drops;
    ManualBuffer<int> buffer(
        {.partitions = 3, .max_size = 2, .on_drop = note_in(drops)},
        [](Batch<int>&, const FlushContext&) { return FlushResult::failed(""); });
    for (int item = 0; item < 6; ++item) buffer->insert(item);
    buffer.work_all();
    REQUIRE(drops.size() == 3);
    for (std::size_t index = 0; index < 3; ++index) CHECK(drops[index].partition_index == index);
  }

  TEST_CASE("what close could not flush goes to on_drop as kClosed") {
    std::vector<Dropped> drops;
    ManualBuffer<int> buffer({.max_size = 3, .capacity = 100, .on_drop = note_in(drops)});
    buffer->insert_batch(numbers(0, 10));
    const CloseReport report = buffer->close(0s);
    CHECK(report.status == CallStatus::kTimedOut);
    REQUIRE(drops.size() == 1);
    CHECK(drops[0].reason == DropReason::kClosed);
    CHECK(drops[0].items == numbers(3, 7));
    CHECK(drops[0].batch_id == 0);
    CHECK(report.dropped == 7);
  }

  TEST_CASE("an on_drop that throws is counted, and nothing else breaks") {
    int calls = 0;
    Options options{.max_size = 1, .capacity = 1, .overflow = Overflow::kDropNewest};
    options.on_drop = [&](std::span<int>, const DropInfo&) {
      ++calls;
      throw std::runtime_error("no");
    };
    ManualBuffer<int> buffer(
        options, [](Batch<int>&, const FlushContext&) { return FlushResult::failed(""); });
    buffer->insert(0);
    CHECK(buffer->insert(1) == InsertStatus::kDropped);
    CHECK(buffer->insert(2) == InsertStatus::kDropped);
    CHECK(buffer->telemetry().hook_failures() == 2);
    buffer.work_all();
    CHECK(calls == 3);
    CHECK(buffer->telemetry().hook_failures() == 3);
    CHECK(buffer->ledger() == Ledger{.accepted = 3, .failed = 1, .dropped_newest = 2});
  }

  TEST_CASE("the items may be moved out of, and what is left of them is destroyed") {
    CountedItem::reset();
    std::vector<CountedItem> kept;
    kept.reserve(10);
    {
      Options options{.max_size = 10};
      options.on_drop = [&](std::span<CountedItem> items, const DropInfo&) {
        for (CountedItem& item : items) kept.push_back(std::move(item));
      };
      ManualBuffer<CountedItem> buffer(options, [](Batch<CountedItem>&, const FlushContext&) {
        return FlushResult::failed("");
      });
      for (int value = 0; value < 10; ++value) buffer->insert(CountedItem(value));
      CountedItem::copies = 0;
      buffer.work_all();
      REQUIRE(kept.size() == 10);
      for (int value = 0; value < 10; ++value) {
        CHECK(kept[static_cast<std::size_t>(value)].value == value);
      }
    }
    kept.clear();
    CHECK(CountedItem::alive == 0);
  }

  TEST_CASE("items that a failing handler moved out of reach on_drop as it left them") {
    std::vector<std::unique_ptr<int>> stored;
    std::size_t empty = 0;
    Options options{.max_size = 3};
    options.on_drop = [&](std::span<std::unique_ptr<int>> items, const DropInfo&) {
      for (const auto& item : items) empty += item == nullptr ? 1U : 0U;
    };
    ManualBuffer<std::unique_ptr<int>> buffer(
        options, [&](Batch<std::unique_ptr<int>>& batch, const FlushContext&) {
          stored.push_back(std::move(batch[0]));
          return FlushResult::failed("after the first");
        });
    for (int value = 0; value < 3; ++value) buffer->insert(std::make_unique<int>(value));
    buffer.work_all();
    CHECK(empty == 1);
    CHECK(stored.size() == 1);
    CHECK(buffer->ledger().failed == 3);
  }

  TEST_CASE("an on_drop that inserts again does not run for ever, under any policy") {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      CAPTURE(to_string(overflow));
      Buffer<int>* self = nullptr;
      int calls = 0;
      std::vector<InsertStatus> answers;
      Options options{.max_size = 2, .capacity = 2, .overflow = overflow};
      options.on_drop = [&](std::span<int> items, const DropInfo&) {
        REQUIRE(++calls < 100);
        for (const int item : items) answers.push_back(self->insert(item, kForever));
      };
      ManualBuffer<int> buffer(options,
                               [](Batch<int>&, const FlushContext&) { return FlushResult(); });
      self = &*buffer;
      for (int item = 0; item < 5; ++item) buffer->insert(item, 0s);
      // Inside on_drop the buffer is full: the item is refused, and the call returns.
      for (const InsertStatus answer : answers) CHECK(answer == InsertStatus::kFull);
      CHECK(buffer->size() == 2);
      CHECK(buffer->ledger().balances());
    }
  }

  TEST_CASE("an on_drop that retries a failed batch by inserting it has it delivered") {
    Buffer<int>* self = nullptr;
    bool is_down = true;
    Options options{.max_size = 5, .capacity = 10};
    options.on_drop = [&](std::span<int> items, const DropInfo& info) {
      CHECK(info.reason == DropReason::kFailed);
      CHECK(self->insert_batch(items).accepted == items.size());
    };
    ManualBuffer<int> buffer(options, [&](Batch<int>&, const FlushContext&) {
      return std::exchange(is_down, false) ? FlushResult::failed("down") : FlushResult::ok();
    });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 5));
    buffer.work_all();
    CHECK(buffer.batches().back().items == numbers(0, 5));
    CHECK(buffer->ledger() == Ledger{.accepted = 10, .flushed = 5, .failed = 5});
  }

  TEST_CASE("inside on_drop the calls that would wait are refused, and the others work") {
    Buffer<int>* self = nullptr;
    int calls = 0;
    Options options{.max_size = 2, .capacity = 2, .overflow = Overflow::kDropOldest};
    options.on_drop = [&](std::span<int>, const DropInfo&) {
      ++calls;
      CHECK(self->sync_flush(kForever)[0].status == CallStatus::kReentrant);
      CHECK(self->close(kForever).status == CallStatus::kReentrant);
      CHECK(self->dump() == std::vector{1, 2});
      CHECK(self->size() == 2);
      CHECK(self->info().size() == 1);
      CHECK(self->ledger().dropped_oldest == 1);
      self->flush();
    };
    ManualBuffer<int> buffer(options);
    self = &*buffer;
    for (int item = 0; item < 3; ++item) buffer->insert(item);
    CHECK(calls == 1);
    buffer.work_all();  // The flush that it asked for.
    CHECK(buffer.handled() == std::vector{1, 2});
  }

  TEST_CASE("a function, a function object and a shared one are accepted") {
    Options options{.max_size = 1, .capacity = 1, .overflow = Overflow::kDropNewest};
    options.on_drop = &keep_quiet;
    ManualBuffer<int> with_function(options);
    with_function->insert(0);
    CHECK(with_function->insert(1) == InsertStatus::kDropped);

    int drops = 0;
    struct Counter {
      int* drops;
      void operator()(std::span<int> items, const DropInfo&) {
        *drops += static_cast<int>(items.size());
      }
    };
    options.on_drop = Counter{&drops};
    ManualBuffer<int> one(options);
    ManualBuffer<int> other(options);
    for (auto* buffer : {&one, &other}) {
      (*buffer)->insert(0);
      (*buffer)->insert(1);
    }
    CHECK(drops == 2);
  }
}
