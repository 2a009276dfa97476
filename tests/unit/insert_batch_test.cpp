// Goal: insert_batch takes any input range: copies or moves as the caller means it, one partition,
// in order, in one piece; says how many went in; leaves the others, and everything thrown, with the
// caller.
// Method: ranges of every kind into a buffer run by hand. What throws is in
// insert_batch_throw_test.cpp.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CountedItem;
using databuffer::support::made_forward;
using databuffer::support::made_one_by_one;
using databuffer::support::ManualBuffer;
using databuffer::support::move_all;
using databuffer::support::numbers;

namespace {

constexpr InsertBatchResult accepted(std::size_t count) { return {InsertStatus::kAccepted, count}; }

int same(int index) { return index; }

std::vector<CountedItem> counted(int count) {
  std::vector<CountedItem> items;
  items.reserve(static_cast<std::size_t>(count));
  for (int value = 0; value < count; ++value) items.emplace_back(value);
  CountedItem::copies = CountedItem::moves = 0;
  return items;
}

/// A contiguous range whose size() does not tell the truth.
struct LyingRange {
  const int* first;
  const int* last;
  std::size_t claimed;
  [[nodiscard]] const int* begin() const { return first; }
  [[nodiscard]] const int* end() const { return last; }
  [[nodiscard]] std::size_t size() const { return claimed; }
};

template <class T, class R>
concept Takes = requires(Buffer<T>& buffer, R range) {
  buffer.insert_batch(range);
};

/// Made of euros implicitly, of cents explicitly; and an int matches the explicit one better.
struct Money {
  Money(long euros) : cents(euros * 100) {}  // NOLINT(google-explicit-constructor)
  explicit Money(int exact_cents) : cents(exact_cents) {}
  long cents;
};

std::vector<int> values(const std::vector<CountedItem>& items) {
  std::vector<int> out;
  for (const CountedItem& item : items) out.push_back(item.value);
  return out;
}

}  // namespace

TEST_SUITE("insert_batch") {
  TEST_CASE("every kind of range goes in, whole and in order") {
    ManualBuffer<int> buffer({.max_size = 1000});
    SUBCASE("a vector") { CHECK(buffer->insert_batch(numbers(0, 5)) == accepted(5)); }
    SUBCASE("an lvalue vector") {
      const std::vector<int> items = numbers(0, 5);
      CHECK(buffer->insert_batch(items) == accepted(5));
    }
    SUBCASE("an array") {
      const std::array<int, 5> items{0, 1, 2, 3, 4};
      CHECK(buffer->insert_batch(items) == accepted(5));
    }
    SUBCASE("a C array") {
      const int items[] = {0, 1, 2, 3, 4};
      CHECK(buffer->insert_batch(items) == accepted(5));
    }
    SUBCASE("a span") {
      std::vector<int> items = numbers(0, 5);
      CHECK(buffer->insert_batch(std::span<int>(items)) == accepted(5));
    }
    SUBCASE("a list") { CHECK(buffer->insert_batch(std::list{0, 1, 2, 3, 4}) == accepted(5)); }
    SUBCASE("a forward list") {
      CHECK(buffer->insert_batch(std::forward_list{0, 1, 2, 3, 4}) == accepted(5));
    }
    SUBCASE("a deque") { CHECK(buffer->insert_batch(std::deque{0, 1, 2, 3, 4}) == accepted(5)); }
    SUBCASE("an initializer list") {
      CHECK(buffer->insert_batch(std::initializer_list<int>{0, 1, 2, 3, 4}) == accepted(5));
    }
    SUBCASE("one that makes its items") {
      CHECK(buffer->insert_batch(made_forward(5, same)) == accepted(5));
    }
    SUBCASE("one that can be read only once, of unknown length") {
      CHECK(buffer->insert_batch(made_one_by_one(5, same)) == accepted(5));
    }
#ifndef __clang__  // clang 14 cannot use the views of libstdc++ 12.
    SUBCASE("a view that computes its items") {
      CHECK(buffer->insert_batch(std::views::iota(0, 5)) == accepted(5));
    }
    SUBCASE("an input-only range of unknown length") {
      std::istringstream text("0 1 2 3 4");
      CHECK(buffer->insert_batch(std::ranges::istream_view<int>(text)) == accepted(5));
    }
    SUBCASE("an input-only range of known length") {
      std::istringstream text("0 1 2 3 4 5 6");
      CHECK(buffer->insert_batch(std::views::counted(std::istream_iterator<int>(text), 5)) ==
            accepted(5));
    }
    SUBCASE("a view that leaves some out") {
      const std::vector<int> items{0, -1, 1, -1, 2, 3, 4, -1};
      CHECK(buffer->insert_batch(items | std::views::filter([](int item) { return item >= 0; })) ==
            accepted(5));
    }
    SUBCASE("an unbounded range, cut by a view") {
      CHECK(buffer->insert_batch(std::views::iota(0) | std::views::take(5)) == accepted(5));
    }
#endif
    SUBCASE("items of another type that converts") {
      CHECK(buffer->insert_batch(std::vector<short>{0, 1, 2, 3, 4}) == accepted(5));
    }
    CHECK(buffer->dump() == numbers(0, 5));
  }

  TEST_CASE("a list in braces goes in, with a timeout and without") {
    ManualBuffer<int> buffer({.max_size = 4, .capacity = 4});
    CHECK(buffer->insert_batch({1, 2, 3}) == accepted(3));
    CHECK(buffer->insert_batch({4, 5}, 0s) == InsertBatchResult{InsertStatus::kTimedOut, 1});
    CHECK(buffer->insert_batch({}) == accepted(0));
    CHECK(buffer->dump() == numbers(1, 4));
    ManualBuffer<std::string> texts;
    CHECK(texts->insert_batch({"a", "b"}) == accepted(2));
    CHECK(texts->dump() == std::vector<std::string>{"a", "b"});
    ManualBuffer<std::vector<int>> readings;
    CHECK(readings->insert_batch({{3, 1, 4}}) == accepted(1));
    CHECK(readings->dump() == std::vector<std::vector<int>>{{3, 1, 4}});
  }

  TEST_CASE("elements convert as the arguments of a call do: implicitly") {
    static_assert(Takes<std::string, std::vector<const char*>>);
    static_assert(Takes<int, std::vector<double>>);
    static_assert(Takes<std::shared_ptr<const int>, std::vector<std::shared_ptr<int>>>);
    static_assert(!Takes<std::unique_ptr<int>, std::vector<int*>>);
    static_assert(!Takes<std::vector<int>, std::vector<int>>);
    static_assert(!Takes<std::string, std::vector<std::string_view>>);
    static_assert(!Takes<int, int>);

    ManualBuffer<Money> money;
    CHECK(money->insert_batch(std::vector<int>{3, 4}) == accepted(2));
    CHECK(money->insert_batch(std::list<short>{5}) == accepted(1));
    std::vector<Money> items = money->dump();
    CHECK(items[0].cents == 300);  // as euros, not by the explicit constructor
    CHECK(items[1].cents == 400);
    CHECK(items[2].cents == 500);

    ManualBuffer<int> narrowed;
    CHECK(narrowed->insert_batch(std::vector<double>{1.9, -2.9}) == accepted(2));
    CHECK(narrowed->dump() == std::vector<int>{1, -2});
  }

  TEST_CASE("an empty range of any kind is accepted and changes nothing") {
    ManualBuffer<int> buffer;
    CHECK(buffer->insert_batch(std::vector<int>{}) == accepted(0));
    CHECK(buffer->insert_batch(std::list<int>{}) == accepted(0));
    CHECK(buffer->insert_batch(std::span<int>()) == accepted(0));
    CHECK(buffer->insert_batch(made_one_by_one(0, same)) == accepted(0));
    CHECK(buffer->ledger() == Ledger{});
    for (int item = 0; item < 20'000; ++item) {
      REQUIRE(buffer->try_insert(item) == InsertStatus::kAccepted);  // no room was lost
    }
  }

  TEST_CASE("an rvalue container gives its items by move") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    std::vector<CountedItem> items = counted(10);
    CHECK(buffer->insert_batch(std::move(items)) == accepted(10));
    CHECK(CountedItem::copies == 0);
    for (const CountedItem& item : items) CHECK(item.value == CountedItem::kMovedFrom);
    CHECK(values(buffer->take()) == numbers(0, 10));
  }

  TEST_CASE("a list of an rvalue gives its items by move, too") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    std::list<CountedItem> items;
    for (int value = 0; value < 10; ++value) items.emplace_back(value);
    CHECK(buffer->insert_batch(std::move(items)) == accepted(10));
    CHECK(CountedItem::copies == 0);
    CHECK(values(buffer->take()) == numbers(0, 10));
  }

  TEST_CASE("an lvalue container keeps its items: each is copied once") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    SUBCASE("contiguous") {
      const std::vector<CountedItem> items = counted(10);
      CHECK(buffer->insert_batch(items) == accepted(10));
      CHECK(CountedItem::copies == 10);
      CHECK(values(items) == numbers(0, 10));
    }
    SUBCASE("linked") {
      std::list<CountedItem> items;
      for (int value = 0; value < 10; ++value) items.emplace_back(value);
      CHECK(buffer->insert_batch(items) == accepted(10));
      CHECK(CountedItem::copies == 10);
      int expected = 0;
      for (const CountedItem& item : items) CHECK(item.value == expected++);
    }
    CHECK(values(buffer->take()) == numbers(0, 10));
  }

  TEST_CASE("a view only looks at somebody's items, also as an rvalue") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    std::vector<CountedItem> items = counted(10);
    SUBCASE("a span") {
      CHECK(buffer->insert_batch(std::span<CountedItem>(items)) == accepted(10));
    }
#ifndef __clang__
    SUBCASE("all of a container") {
      CHECK(buffer->insert_batch(std::views::all(items)) == accepted(10));
    }
    SUBCASE("a subrange") {
      CHECK(buffer->insert_batch(std::ranges::subrange(items.begin(), items.end())) ==
            accepted(10));
    }
#endif
    CHECK(CountedItem::copies == 10);
    CHECK(values(items) == numbers(0, 10));
  }

  TEST_CASE("move iterators move, whatever holds the items") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    std::vector<CountedItem> items = counted(10);
    SUBCASE("of a range that is kept") {
      const auto range = move_all(items);
      CHECK(buffer->insert_batch(range) == accepted(10));
    }
    SUBCASE("of a range that is given away") {
      CHECK(buffer->insert_batch(move_all(items)) == accepted(10));
    }
    CHECK(CountedItem::copies == 0);
    for (const CountedItem& item : items) CHECK(item.value == CountedItem::kMovedFrom);
    CHECK(values(buffer->take()) == numbers(0, 10));
  }

  TEST_CASE("move-only items go in from an rvalue and by move iterators") {
    ManualBuffer<std::unique_ptr<int>> buffer({.max_size = 100});
    std::vector<std::unique_ptr<int>> items;
    for (int value = 0; value < 3; ++value) items.push_back(std::make_unique<int>(value));
    CHECK(buffer->insert_batch(std::move(items)) == accepted(3));
    std::list<std::unique_ptr<int>> more;
    more.push_back(std::make_unique<int>(3));
    CHECK(buffer->insert_batch(move_all(more)) == accepted(1));
    const auto taken = buffer->take();
    REQUIRE(taken.size() == 4);
    for (int value = 0; value < 4; ++value) CHECK(*taken[static_cast<std::size_t>(value)] == value);
  }

  TEST_CASE("a batch goes into one partition, and the next one into the next") {
    ManualBuffer<int> buffer({.partitions = 3, .max_size = 100});
    for (int batch = 0; batch < 3; ++batch) {
      CHECK(buffer->insert_batch(numbers(100 * batch, 40)) == accepted(40));
    }
    for (const PartitionInfo& info : buffer->info()) CHECK(info.size == 40);
    const std::vector<int> items = buffer->dump();
    REQUIRE(items.size() == 120);
    for (std::size_t index = 0; index < items.size(); ++index) {
      if (index % 40 != 0) CHECK(items[index] == items[index - 1] + 1);
    }
  }

  TEST_CASE("no more goes in than there is, whatever the range says of its size") {
    const std::array items{1, 2, 3, 4, 5, 6, 7, 8};
    for (const std::size_t claimed : {4U, 8U, 1000U}) {
      CAPTURE(claimed);
      ManualBuffer<int> buffer;
      const int* const first = items.data();
      for (int call = 0; call < 2; ++call) {  // the first one makes a seat and a block
        CHECK(buffer->insert_batch(LyingRange{first, first + 3, claimed}).accepted == 3);
      }
      CHECK(buffer->take() == std::vector<int>{1, 2, 3, 1, 2, 3});
    }
  }

  TEST_CASE("a batch is split by max_size at the flush, and by nothing else") {
    ManualBuffer<int> buffer({.max_size = 10, .capacity = 100});
    CHECK(buffer->insert_batch(numbers(0, 35)) == accepted(35));
    buffer.work_all();
    CHECK(buffer.batch_sizes() == std::vector<std::size_t>{10, 10, 10});
    buffer->flush();
    buffer.work_all();
    CHECK(buffer.handled() == numbers(0, 35));
  }

  TEST_CASE("what does not fit stays with the caller, untouched, and the result says how much") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 6, .capacity = 6});
    std::vector<CountedItem> items = counted(10);
    CHECK(buffer->insert_batch(std::move(items), 0s) ==
          InsertBatchResult{InsertStatus::kTimedOut, 6});
    for (int value = 6; value < 10; ++value) {
      CHECK(items[static_cast<std::size_t>(value)].value == value);
    }
    CHECK(values(buffer->dump()) == numbers(0, 6));
    CHECK(buffer->ledger().accepted == 6);
  }

  TEST_CASE("a full buffer takes nothing of a batch") {
    ManualBuffer<int> buffer({.max_size = 4, .capacity = 4});
    CHECK(buffer->insert_batch(numbers(0, 4)) == accepted(4));
    CHECK(buffer->insert_batch(numbers(4, 4), 0s) == InsertBatchResult{InsertStatus::kTimedOut, 0});
    CHECK(buffer->insert_batch(numbers(4, 4), Duration::min()) ==
          InsertBatchResult{InsertStatus::kTimedOut, 0});
    CHECK(buffer->dump() == numbers(0, 4));
  }

  TEST_CASE("under kReject a batch goes in as far as there is room") {
    ManualBuffer<int> buffer({.max_size = 4, .capacity = 4, .overflow = Overflow::kReject});
    CHECK(buffer->insert_batch(numbers(0, 3)) == accepted(3));
    CHECK(buffer->insert_batch(numbers(3, 3), 1h) == InsertBatchResult{InsertStatus::kFull, 1});
    CHECK(buffer->dump() == numbers(0, 4));
  }

  TEST_CASE("after close a batch is refused as a whole") {
    ManualBuffer<int> buffer;
    buffer->close();
    std::vector<int> items = numbers(0, 3);
    CHECK(buffer->insert_batch(std::move(items)) == InsertBatchResult{InsertStatus::kClosed, 0});
    CHECK(buffer->insert_batch(numbers(0, 3), std::chrono::hours::max()) ==
          InsertBatchResult{InsertStatus::kClosed, 0});
  }

  TEST_CASE("any timeout will do where there is room") {
    ManualBuffer<int> buffer({.max_size = 100});
    CHECK(buffer->insert_batch(numbers(0, 3), std::chrono::hours::max()) == accepted(3));
    CHECK(buffer->insert_batch(numbers(3, 3), Duration::min()) == accepted(3));
    CHECK(buffer->insert_batch(numbers(6, 3), std::chrono::duration<double>(1e300)) == accepted(3));
    CHECK(buffer->dump() == numbers(0, 9));
  }

  TEST_CASE("a range of unknown length stops where the room ends, and holds on to the rest") {
    ManualBuffer<int> buffer({.max_size = 5, .capacity = 5, .overflow = Overflow::kReject});
    CHECK(buffer->insert_batch(made_one_by_one(7, same)) ==
          InsertBatchResult{InsertStatus::kFull, 5});
    CHECK(buffer->dump() == numbers(0, 5));
  }

  TEST_CASE("large batches of every kind keep their order across the queue's blocks") {
    constexpr std::size_t kItems = 100'000;
    ManualBuffer<int> buffer({.max_size = kItems, .capacity = kItems});
    SUBCASE("contiguous") { CHECK(buffer->insert_batch(numbers(0, kItems)) == accepted(kItems)); }
    SUBCASE("made") {
      CHECK(buffer->insert_batch(made_forward(int{kItems}, same)) == accepted(kItems));
    }
    SUBCASE("of unknown length") {
      CHECK(buffer->insert_batch(made_one_by_one(int{kItems}, same)) == accepted(kItems));
    }
    buffer.work_all();
    CHECK(buffer.batch_sizes() == std::vector{kItems});
    CHECK(buffer.handled() == numbers(0, kItems));
  }

  TEST_CASE("single items and batches of one thread keep their order") {
    ManualBuffer<int> buffer({.max_size = 1000});
    buffer->insert(0);
    buffer->insert_batch(numbers(1, 3));
    buffer->insert(4);
    buffer->insert_batch(std::list{5, 6});
    CHECK(buffer->try_insert(7) == InsertStatus::kAccepted);
    CHECK(buffer->dump() == numbers(0, 8));
  }
}
