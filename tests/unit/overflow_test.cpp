// Goal: what each policy does with a full partition.
// Method: a buffer that nobody calls do_work on fills up.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::made_one_by_one;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// Items given up, and the reasons, one for each call of on_drop.
struct Drops {
  std::vector<int> items;
  std::vector<DropReason> reasons;
  std::vector<std::size_t> partitions;

  Options options(Overflow overflow, std::size_t capacity, std::size_t partition_count = 1) {
    Options options{.partitions = partition_count,
                    .max_size = capacity,
                    .capacity = capacity,
                    .overflow = overflow};
    options.on_drop = [this](std::span<int> given_up, const DropInfo& info) {
      items.insert(items.end(), given_up.begin(), given_up.end());
      reasons.push_back(info.reason);
      partitions.push_back(info.partition_index);
      CHECK(info.buffer == "b");
      CHECK(info.batch_id == 0);
      CHECK(info.error.empty());
    };
    return options;
  }
};

}  // namespace

TEST_SUITE("overflow") {
  TEST_CASE(
      "kBlock: a call that may not wait answers kFull, one that may not wait longer kTimedOut") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kBlock, 3));
    for (int item = 0; item < 3; ++item) CHECK(buffer->insert(item) == InsertStatus::kAccepted);
    CHECK(buffer->try_insert(3) == InsertStatus::kFull);
    CHECK(buffer->insert(3, 0s) == InsertStatus::kTimedOut);
    CHECK(buffer->insert_batch(numbers(3, 2), 0s) == InsertBatchResult{InsertStatus::kTimedOut, 0});
    CHECK(drops.items.empty());
    CHECK(buffer->dump() == numbers(0, 3));
  }

  TEST_CASE("kReject: kFull at once, whatever the timeout") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kReject, 3));
    for (int item = 0; item < 3; ++item) CHECK(buffer->insert(item) == InsertStatus::kAccepted);
    CHECK(buffer->insert(3) == InsertStatus::kFull);
    CHECK(buffer->insert(3, kForever) == InsertStatus::kFull);
    CHECK(buffer->try_insert(3) == InsertStatus::kFull);
    CHECK(buffer->insert_keyed(1, 3, kForever) == InsertStatus::kFull);
    CHECK(buffer->insert_batch(numbers(3, 2), kForever) ==
          InsertBatchResult{InsertStatus::kFull, 0});
    CHECK(drops.items.empty());
    CHECK(buffer->ledger() == Ledger{.accepted = 3, .pending = 3, .refused_full = 6});
  }

  TEST_CASE("kDropNewest: the item is taken and given to on_drop, the pending ones stay") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropNewest, 3));
    for (int item = 0; item < 3; ++item) CHECK(buffer->insert(item) == InsertStatus::kAccepted);
    CHECK(buffer->insert(3) == InsertStatus::kDropped);
    CHECK(buffer->insert(4, kForever) == InsertStatus::kDropped);
    CHECK(buffer->try_insert(5) == InsertStatus::kDropped);
    CHECK(buffer->insert_keyed(1, 6) == InsertStatus::kDropped);
    CHECK(drops.items == numbers(3, 4));
    CHECK(drops.reasons == std::vector(4, DropReason::kNewest));
    CHECK(buffer->dump() == numbers(0, 3));
    CHECK(buffer->ledger() == Ledger{.accepted = 7, .dropped_newest = 4, .pending = 3});
  }

  TEST_CASE("kDropNewest: a batch goes in as far as it fits, the rest is dropped, in order") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropNewest, 4));
    SUBCASE("contiguous") {
      CHECK(buffer->insert_batch(numbers(0, 10)) == InsertBatchResult{InsertStatus::kDropped, 10});
    }
    SUBCASE("linked") {
      const std::vector<int> items = numbers(0, 10);
      CHECK(buffer->insert_batch(std::list<int>(items.begin(), items.end())) ==
            InsertBatchResult{InsertStatus::kDropped, 10});
    }
    SUBCASE("of unknown length") {
      CHECK(buffer->insert_batch(made_one_by_one(10, [](int item) { return item; })) ==
            InsertBatchResult{InsertStatus::kDropped, 10});
    }
    CHECK(buffer->dump() == numbers(0, 4));
    CHECK(drops.items == numbers(4, 6));
    CHECK(buffer->ledger() == Ledger{.accepted = 10, .dropped_newest = 6, .pending = 4});
  }

  TEST_CASE("kDropNewest: a dropped batch of any length goes to on_drop whole and in order") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropNewest, 1));
    buffer->insert(0);
    CHECK(buffer->insert_batch(numbers(1, 20'000)) ==
          InsertBatchResult{InsertStatus::kDropped, 20'000});
    CHECK(drops.items == numbers(1, 20'000));
  }

  TEST_CASE("kDropOldest: the oldest goes to on_drop, the new one in, and the order stays") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 3));
    for (int item = 0; item < 10; ++item) {
      CHECK(buffer->insert(item, 0s) == InsertStatus::kAccepted);
    }
    CHECK(buffer->try_insert(10) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(1, 11) == InsertStatus::kAccepted);
    CHECK(buffer->dump() == numbers(9, 3));
    CHECK(drops.items == numbers(0, 9));
    for (const DropReason reason : drops.reasons) CHECK(reason == DropReason::kOldest);
    CHECK(buffer->size() == 3);
    CHECK(buffer->ledger() == Ledger{.accepted = 12, .dropped_oldest = 9, .pending = 3});
  }

  TEST_CASE("kDropOldest: items that dump has looked at are the oldest, too") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 3));
    for (int item = 0; item < 3; ++item) buffer->insert(item);
    static_cast<void>(buffer->dump());
    buffer->insert(3);
    buffer->insert(4);
    CHECK(drops.items == numbers(0, 2));
    CHECK(buffer->dump() == numbers(2, 3));
  }

  TEST_CASE("kDropOldest: of a batch larger than the capacity its last items stay") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 4));
    buffer->insert(100);
    CHECK(buffer->insert_batch(numbers(0, 10)) == InsertBatchResult{InsertStatus::kAccepted, 10});
    CHECK(buffer->dump() == numbers(6, 4));
    CHECK(drops.items == std::vector{100, 0, 1, 2, 3, 4, 5});
    CHECK(drops.reasons == std::vector{DropReason::kOldest});  // In one call.
    CHECK(buffer->ledger() == Ledger{.accepted = 11, .dropped_oldest = 7, .pending = 4});
  }

  TEST_CASE("kDropOldest: what a batch displaces goes to on_drop in spans, and in order") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 100));
    buffer->insert_batch(numbers(0, 100));
    SUBCASE("contiguous") { buffer->insert_batch(numbers(100, 10'000)); }
    SUBCASE("linked") {
      const std::vector<int> items = numbers(100, 10'000);
      buffer->insert_batch(std::list<int>(items.begin(), items.end()));
    }
    CHECK(drops.items == numbers(0, 10'000));
    CHECK(drops.reasons.size() <= 3);
    CHECK(buffer->dump() == numbers(10'000, 100));
  }

  TEST_CASE("kDropOldest: what is in a handler's hands cannot be given up, and takes no room") {
    Drops drops;
    std::vector<InsertStatus> answers;
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 1),
                             [&](Batch<int>& batch, const FlushContext&) {
                               if (batch[0] == 0) {
                                 answers.push_back((*self)->insert(1));
                                 answers.push_back((*self)->insert(2));
                               }
                               return FlushResult::ok();
                             });
    self = &buffer;
    buffer->insert(0);
    buffer.work_all();
    CHECK(answers == std::vector(2, InsertStatus::kAccepted));
    CHECK(drops.items == std::vector{1});
    CHECK(buffer.handled() == std::vector{0, 2});
  }

  TEST_CASE("round robin passes on before a policy acts") {
    for (const Overflow overflow :
         {Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      CAPTURE(to_string(overflow));
      Drops drops;
      ManualBuffer<int> buffer(drops.options(overflow, 4, 3));
      buffer->insert_batch(numbers(0, 4));  // One partition is full now.
      for (int item = 4; item < 12; ++item) {
        CHECK(buffer->insert(item) == InsertStatus::kAccepted);
      }
      CHECK(drops.items.empty());
      CHECK(buffer->size() == 12);
    }
  }

  TEST_CASE("kDropOldest with all partitions full drops one item for one, in turn") {
    Drops drops;
    ManualBuffer<int> buffer(drops.options(Overflow::kDropOldest, 4, 3));
    for (int item = 0; item < 24; ++item) CHECK(buffer->insert(item) == InsertStatus::kAccepted);
    CHECK(drops.items == numbers(0, 12));
    for (const PartitionInfo& info : buffer->info()) CHECK(info.size == 4);
    CHECK(drops.partitions == std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  }

  TEST_CASE("without an on_drop the items are given up all the same, and counted") {
    ManualBuffer<int> newest({.max_size = 1, .capacity = 1, .overflow = Overflow::kDropNewest});
    newest->insert(0);
    CHECK(newest->insert(1) == InsertStatus::kDropped);
    CHECK(newest->ledger().dropped_newest == 1);
    ManualBuffer<int> oldest({.max_size = 1, .capacity = 1, .overflow = Overflow::kDropOldest});
    oldest->insert(0);
    CHECK(oldest->insert(1) == InsertStatus::kAccepted);
    CHECK(oldest->ledger().dropped_oldest == 1);
    CHECK(oldest->dump() == std::vector{1});
  }

  TEST_CASE("move-only items are dropped by move, and on_drop may keep them") {
    std::vector<std::unique_ptr<int>> kept;
    for (const Overflow overflow : {Overflow::kDropNewest, Overflow::kDropOldest}) {
      Options options{.max_size = 1, .capacity = 1, .overflow = overflow};
      options.on_drop = [&](std::span<std::unique_ptr<int>> items, const DropInfo&) {
        for (auto& item : items) kept.push_back(std::move(item));
      };
      ManualBuffer<std::unique_ptr<int>> buffer(options);
      for (int value = 0; value < 3; ++value) buffer->insert(std::make_unique<int>(value));
    }
    REQUIRE(kept.size() == 4);
    CHECK(*kept[0] == 1);
    CHECK(*kept[1] == 2);
    CHECK(*kept[2] == 0);
    CHECK(*kept[3] == 1);
  }

  TEST_CASE("after close no policy drops: kClosed, and the item stays with the caller") {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest}) {
      Drops drops;
      ManualBuffer<int> buffer(drops.options(overflow, 2));
      buffer->close();
      CHECK(buffer->insert(1) == InsertStatus::kClosed);
      CHECK(buffer->insert_batch(numbers(0, 5)) == InsertBatchResult{InsertStatus::kClosed, 0});
      CHECK(drops.items.empty());
      CHECK(buffer->ledger() == Ledger{.refused_closed = 6});
    }
  }
}
