// Goal: items of one key go to one partition and keep their order; a full one does not spill over.
// Method: a buffer of several partitions, run by hand.

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::detail::Inserter;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

struct Keyed {
  int key;
  int number;
};

/// A key from which another can be told, but not by its hash.
struct SameHash {
  int id;
};

}  // namespace

template <>
struct std::hash<SameHash> {
  std::size_t operator()(const SameHash&) const noexcept { return 12345; }
};

TEST_SUITE("insert_keyed") {
  TEST_CASE("all items of a key are in one partition, in order") {
    for (const std::size_t partitions : {1U, 2U, 3U, 8U, 100U}) {
      CAPTURE(partitions);
      ManualBuffer<Keyed> buffer({.partitions = partitions, .max_size = 7, .capacity = 10'000});
      std::mt19937 random(3);
      std::map<int, int> next_number;
      for (int item = 0; item < 2000; ++item) {
        const int key = static_cast<int>(random() % 50);
        REQUIRE(buffer->insert_keyed(key, Keyed{key, next_number[key]++}) ==
                InsertStatus::kAccepted);
        if (random() % 10 == 0) buffer.work();
      }
      buffer->close();
      std::map<int, std::set<std::size_t>> partitions_of;
      std::map<int, int> expected;
      for (const auto& batch : buffer.batches()) {
        for (const Keyed& item : batch.items) {
          partitions_of[item.key].insert(batch.partition_index);
          CHECK(item.number == expected[item.key]++);
        }
      }
      for (const auto& [key, seen] : partitions_of) CHECK(seen.size() == 1);
      CHECK(expected == next_number);
    }
  }

  TEST_CASE("keys of every kind work, equal ones alike") {
    ManualBuffer<int> buffer({.partitions = 16, .max_size = 100});
    CHECK(buffer->insert_keyed(std::string("user"), 1) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(std::string_view("user"), 2) == InsertStatus::kAccepted);
    buffer->insert_keyed(7L, 3);
    buffer->insert_keyed(7L, 4);
    const int lvalue = 5;
    CHECK(buffer->insert_keyed('c', lvalue) == InsertStatus::kAccepted);
    CHECK(buffer->size() == 5);
    // Equal keys are neighbours in dump(): by partition, in order.
    const std::vector<int> items = buffer->dump();
    const auto at = [&](int item) { return std::find(items.begin(), items.end(), item); };
    CHECK(at(2) == at(1) + 1);
    CHECK(at(4) == at(3) + 1);
  }

  TEST_CASE("a literal or another array of characters is the text in it") {
    ManualBuffer<int> buffer({.partitions = 64, .max_size = 100});
    const auto partition_of = [&](const auto& key) {
      REQUIRE(buffer->insert_keyed(key, 1) == InsertStatus::kAccepted);
      std::size_t partition_index = 0;
      while (buffer->info()[partition_index].size == 0) ++partition_index;
      static_cast<void>(buffer->take());
      return partition_index;
    };
    char text[16] = "user-42";
    char full[7] = {'u', 's', 'e', 'r', '-', '4', '2'};  // and no NUL behind
    for (char& letter : text) {
      if (&letter > text + 7) letter = 'x';  // behind the text
    }
    const std::size_t expected = partition_of(std::string("user-42"));
    CHECK(partition_of("user-42") == expected);
    CHECK(partition_of(text) == expected);
    CHECK(partition_of(std::as_const(text)) == expected);
    CHECK(partition_of(full) == expected);
    CHECK(partition_of(std::string_view(text)) == expected);
    CHECK(partition_of("") == partition_of(std::string()));
    CHECK(partition_of(L"user-42") == partition_of(std::wstring(L"user-42")));
    CHECK(partition_of(u8"user-42") == partition_of(std::u8string(u8"user-42")));
    CHECK(partition_of(U"user-42") == partition_of(std::u32string(U"user-42")));
  }

  TEST_CASE("an lvalue goes in with a timeout, too, and stays as it was") {
    ManualBuffer<std::string> buffer({.max_size = 2, .capacity = 2});
    std::string item = "item";
    CHECK(buffer->insert_keyed("key", item, 1s) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(7, std::as_const(item), 1s) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed("key", item, 0s) == InsertStatus::kTimedOut);
    CHECK(item == "item");
    CHECK(buffer->dump() == std::vector<std::string>{"item", "item"});
  }

  TEST_CASE("keys of one hash share a partition") {
    ManualBuffer<int> buffer({.partitions = 5, .max_size = 100});
    for (int id = 0; id < 20; ++id) buffer->insert_keyed(SameHash{id}, id);
    std::size_t used = 0;
    for (const PartitionInfo& info : buffer->info()) used += info.size > 0 ? 1U : 0U;
    CHECK(used == 1);
  }

  // std::hash of an integer is the integer: without mixing, keys in step would share partitions.
  TEST_CASE("keys in step spread evenly over the partitions") {
    for (const std::size_t partitions : {2U, 3U, 4U, 7U, 16U}) {
      for (const std::size_t step : {1U, 2U, 4U, 16U, 64U, 1000U, 4096U}) {
        CAPTURE(partitions);
        CAPTURE(step);
        std::vector<std::size_t> counts(partitions);
        constexpr std::size_t kKeys = 10'000;
        for (std::size_t key = 0; key < kKeys; ++key) {
          const std::size_t partition = Inserter<int>::partition_of(key * step, partitions);
          REQUIRE(partition < partitions);
          ++counts[partition];
        }
        for (const std::size_t count : counts) {
          CHECK(count > kKeys / partitions * 8 / 10);
          CHECK(count < kKeys / partitions * 12 / 10);
        }
      }
    }
  }

  TEST_CASE("every hash has its partition, up to the largest") {
    for (const std::size_t partitions : {1U, 3U, 1024U}) {
      CHECK(Inserter<int>::partition_of(0, partitions) < partitions);
      CHECK(Inserter<int>::partition_of(static_cast<std::size_t>(-1), partitions) < partitions);
    }
  }

  TEST_CASE("a key whose partition is full is refused while others have room") {
    ManualBuffer<int> buffer({.partitions = 4, .max_size = 2, .capacity = 2});
    CHECK(buffer->insert_keyed(1, 10) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(1, 11) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(1, 12, 0s) == InsertStatus::kTimedOut);
    CHECK(buffer->size() == 2);
    buffer.work_all();
    CHECK(buffer->insert_keyed(1, 12, 0s) == InsertStatus::kAccepted);
  }

  TEST_CASE("keyed inserts and round robin share the partitions' capacity and order") {
    ManualBuffer<int> buffer({.partitions = 1, .max_size = 100, .capacity = 100});
    for (int item = 0; item < 100; item += 2) {
      REQUIRE(buffer->insert(item) == InsertStatus::kAccepted);
      REQUIRE(buffer->insert_keyed(item, item + 1) == InsertStatus::kAccepted);
    }
    CHECK(buffer->insert_keyed(1, 0, 0s) == InsertStatus::kTimedOut);
    CHECK(buffer->dump() == numbers(0, 100));
  }
}
