// Goal: whatever a range or an item throws, the items before it are in, the others are not, no room
// is lost, and the exception comes out.
// Method: ranges and items that throw at every place in turn.

#include <doctest/doctest.h>

#include <cstddef>
#include <list>
#include <span>
#include <stdexcept>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using databuffer::support::CopyThrows;
using databuffer::support::made_forward;
using databuffer::support::made_one_by_one;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

constexpr int kItems = 8;
constexpr std::size_t kCapacity = 20;

/// 0, 1, …, but throws where it should give the item `at`.
auto throws_at(int at) {
  return [at](int item) {
    if (item == at) throw std::runtime_error("the range throws");
    return item;
  };
}

std::vector<int> values(const std::vector<CopyThrows>& items) {
  std::vector<int> out;
  for (const CopyThrows& item : items) out.push_back(item.value);
  return out;
}

/// Still takes exactly what is left of its capacity: nothing is reserved for ever.
template <class T>
void check_room(ManualBuffer<T>& buffer, std::size_t pending) {
  for (std::size_t item = pending; item < kCapacity; ++item) {
    REQUIRE(buffer->try_insert(T(100)) == InsertStatus::kAccepted);
  }
  CHECK(buffer->try_insert(T(100)) == InsertStatus::kFull);
  CHECK(buffer->ledger().balances());
}

/// An item that throws when it is made of a bad number.
struct Checked {
  Checked(int number) : value(number) {  // NOLINT(google-explicit-constructor): converts
    if (number < 0) throw std::invalid_argument("a negative number");
  }
  int value;
};

}  // namespace

TEST_SUITE("insert_batch that throws") {
  TEST_CASE("a range that throws: what came before is in, and the exception comes out") {
    for (int at = 0; at < kItems; ++at) {
      CAPTURE(at);
      ManualBuffer<int> buffer({.max_size = kCapacity, .capacity = kCapacity});
      CHECK_THROWS_WITH_AS(buffer->insert_batch(made_forward(kItems, throws_at(at))),
                           "the range throws", std::runtime_error);
      CHECK(buffer->dump() == numbers(0, static_cast<std::size_t>(at)));
      check_room(buffer, static_cast<std::size_t>(at));
    }
  }

  TEST_CASE("a range of unknown length that throws does the same") {
    for (int at = 0; at < kItems; ++at) {
      CAPTURE(at);
      ManualBuffer<int> buffer({.max_size = kCapacity, .capacity = kCapacity});
      CHECK_THROWS_AS(buffer->insert_batch(made_one_by_one(kItems, throws_at(at))),
                      std::runtime_error);
      CHECK(buffer->dump() == numbers(0, static_cast<std::size_t>(at)));
      check_room(buffer, static_cast<std::size_t>(at));
    }
  }

  TEST_CASE("an item whose copy throws: those before it are in") {
    for (int at = 0; at < kItems; ++at) {
      CAPTURE(at);
      {
        std::vector<CopyThrows> items;
        items.reserve(kItems);
        for (int value = 0; value < kItems; ++value) items.emplace_back(value);
        ManualBuffer<CopyThrows> buffer({.max_size = kCapacity, .capacity = kCapacity});
        CopyThrows::copies_left = at;
        CHECK_THROWS_WITH_AS(buffer->insert_batch(items), "no more copies", std::runtime_error);
        CopyThrows::copies_left = CopyThrows::kNever;
        CHECK(values(items) == numbers(0, kItems));
        CHECK(values(buffer->dump()) == numbers(0, static_cast<std::size_t>(at)));
        check_room(buffer, static_cast<std::size_t>(at));
      }
      CHECK(CopyThrows::alive == 0);
    }
  }

  TEST_CASE("a conversion that throws: those before it are in") {
    ManualBuffer<Checked> buffer({.max_size = kCapacity, .capacity = kCapacity});
    SUBCASE("contiguous") {
      CHECK_THROWS_AS(buffer->insert_batch(std::vector{1, 2, 3, -4, 5}), std::invalid_argument);
    }
    SUBCASE("linked") {
      CHECK_THROWS_AS(buffer->insert_batch(std::list{1, 2, 3, -4, 5}), std::invalid_argument);
    }
    CHECK(buffer->size() == 3);
    check_room(buffer, 3);
  }

  TEST_CASE("a batch of one that throws leaves the buffer as it was") {
    ManualBuffer<Checked> buffer({.max_size = kCapacity, .capacity = kCapacity});
    CHECK_THROWS_AS(buffer->insert_batch(std::vector{-1}), std::invalid_argument);
    CHECK(buffer->ledger() == Ledger{});
    check_room(buffer, 0);
  }

  TEST_CASE("without room for the item that would throw, nothing is thrown") {
    ManualBuffer<int> buffer({.max_size = 3, .capacity = 3, .overflow = Overflow::kReject});
    CHECK(buffer->insert_batch(made_forward(kItems, throws_at(3))) ==
          InsertBatchResult{InsertStatus::kFull, 3});
    CHECK(buffer->dump() == numbers(0, 3));
  }

  TEST_CASE("a throw while the newest are being dropped: those before it are dropped") {
    std::vector<int> dropped;
    Options options{.max_size = 3, .capacity = 3, .overflow = Overflow::kDropNewest};
    options.on_drop = [&](std::span<int> items, const DropInfo&) {
      dropped.insert(dropped.end(), items.begin(), items.end());
    };
    ManualBuffer<int> buffer(options);
    CHECK_THROWS_AS(buffer->insert_batch(made_forward(kItems, throws_at(6))), std::runtime_error);
    CHECK(buffer->dump() == numbers(0, 3));
    CHECK(dropped == numbers(3, 3));
    CHECK(buffer->ledger() == Ledger{.accepted = 6, .dropped_newest = 3, .pending = 3});
  }

  TEST_CASE("nothing is dropped for an item that does not come") {
    std::size_t dropped = 0;
    Options options{.max_size = 3, .capacity = 3};
    options.on_drop = [&](std::span<int> items, const DropInfo&) { dropped += items.size(); };
    SUBCASE("the oldest would go") { options.overflow = Overflow::kDropOldest; }
    SUBCASE("the newest would go") { options.overflow = Overflow::kDropNewest; }
    ManualBuffer<int> buffer(options);
    buffer->insert_batch(numbers(0, 3));
    CHECK(buffer->insert_batch(made_one_by_one(0, throws_at(0))) == InsertBatchResult{});
    CHECK_THROWS_AS(buffer->insert_batch(made_forward(kItems, throws_at(0))), std::runtime_error);
    CHECK(buffer->dump() == numbers(0, 3));
    CHECK(dropped == 0);
    CHECK(buffer->ledger() == Ledger{.accepted = 3, .pending = 3});
  }

  TEST_CASE("anything may be thrown") {
    ManualBuffer<int> buffer({.max_size = 100});
    const auto throws_int = [](int item) {
      if (item == 2) throw 42;  // NOLINT: not a std::exception, on purpose
      return item;
    };
    CHECK_THROWS_AS(buffer->insert_batch(made_forward(5, throws_int)), int);
    CHECK(buffer->size() == 2);
  }
}
