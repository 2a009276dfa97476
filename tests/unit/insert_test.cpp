// Goal: what each kind of single insert does with the item and answers: accepted, full, timed out,
// closed; the item untouched where it was not taken.
// Method: a buffer run by hand; a full one is full because nobody calls do_work.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/items.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::CopyThrows;
using databuffer::support::CountedItem;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// A buffer with one item in it and no room for another.
template <class T>
struct FullBuffer : ManualBuffer<T> {
  explicit FullBuffer(T item, Options options = {}) : ManualBuffer<T>(full(std::move(options))) {
    REQUIRE((*this)->insert(std::move(item)) == InsertStatus::kAccepted);
  }
  static Options full(Options options) {
    options.max_size = 1;
    options.capacity = 1;
    return options;
  }
};

struct alignas(256) Overaligned {
  explicit Overaligned(int item_value) noexcept : value(item_value) { check(); }
  Overaligned(Overaligned&& other) noexcept : value(other.value) { check(); }
  ~Overaligned() { check(); }
  void check() const noexcept {
    is_misplaced = is_misplaced || reinterpret_cast<std::uintptr_t>(this) % 256 != 0;
  }
  static inline bool is_misplaced = false;
  int value;
};

template <class T>
void insert_and_flush(std::vector<T> items) {
  std::vector<T> handled;
  ManualBuffer<T> buffer({.max_size = 1000}, [&](Batch<T>& batch, const FlushContext&) {
    for (T& item : batch) handled.push_back(std::move(item));
    return FlushResult::ok();
  });
  const std::size_t count = items.size();
  for (T& item : items) REQUIRE(buffer->insert(std::move(item)) == InsertStatus::kAccepted);
  buffer->flush();
  buffer.work_all();
  CHECK(handled.size() == count);
}

}  // namespace

TEST_SUITE("insert") {
  TEST_CASE("an accepted item reaches the handler, once") {
    ManualBuffer<int> buffer({.max_size = 3});
    CHECK(buffer->insert(1) == InsertStatus::kAccepted);
    CHECK(buffer->try_insert(2) == InsertStatus::kAccepted);
    CHECK(buffer->insert(3, 1s) == InsertStatus::kAccepted);
    CHECK(buffer->size() == 3);
    buffer.work_all();
    CHECK(buffer.handled() == std::vector{1, 2, 3});
    CHECK(buffer->size() == 0);
    CHECK(buffer->ledger().flushed == 3);
  }

  TEST_CASE("an rvalue is moved, never copied, on the whole way to the handler") {
    CountedItem::reset();
    {
      std::vector<int> values;
      const ManualClock clock;
      Options options{.name = "b", .max_size = 4, .threading = Threading::kManual, .clock = &clock};
      Buffer<CountedItem> buffer(options, [&](Batch<CountedItem>& batch) {
        for (const CountedItem& item : batch) values.push_back(item.value);
      });
      buffer.insert(CountedItem(1));
      buffer.insert(CountedItem(2), 1s);
      CHECK(buffer.try_insert(CountedItem(3)) == InsertStatus::kAccepted);
      buffer.insert_keyed(7, CountedItem(4));
      buffer.insert_keyed(7, CountedItem(5), 1s);
      buffer.flush();
      buffer.do_work(clock.now());
      buffer.do_work(clock.now());
      CHECK(values == std::vector{1, 2, 3, 4, 5});
      CHECK(CountedItem::copies == 0);
    }
    CHECK(CountedItem::alive == 0);
  }

  TEST_CASE("an lvalue is copied once, and stays as it was") {
    CountedItem::reset();
    ManualBuffer<CountedItem> buffer({.max_size = 100});
    const CountedItem item(5);
    CHECK(buffer->insert(item) == InsertStatus::kAccepted);
    CHECK(CountedItem::copies == 1);
    CHECK(buffer->insert(item, 1s) == InsertStatus::kAccepted);
    CHECK(CountedItem::copies == 2);
    CHECK(buffer->try_insert(item) == InsertStatus::kAccepted);
    CHECK(CountedItem::copies == 3);
    CHECK(buffer->insert_keyed(1, item) == InsertStatus::kAccepted);
    CHECK(CountedItem::copies == 4);
    CHECK(item.value == 5);
  }

  TEST_CASE("every item is destroyed exactly once, handled or not") {
    CountedItem::reset();
    {
      ManualBuffer<CountedItem> buffer({.max_size = 3, .close_timeout = 0s});
      for (int value = 0; value < 10; ++value) buffer->insert(CountedItem(value));
      buffer.work();
    }
    CHECK(CountedItem::alive == 0);
  }

  TEST_CASE("a lvalue whose copy throws was not inserted") {
    CopyThrows::copies_left = 0;
    {
      ManualBuffer<CopyThrows> buffer;
      const CopyThrows item(1);
      CHECK_THROWS_AS(buffer->insert(item), std::runtime_error);
      CHECK_THROWS_AS(buffer->insert(item, 1s), std::runtime_error);
      CHECK_THROWS_AS(static_cast<void>(buffer->try_insert(item)), std::runtime_error);
      CHECK_THROWS_AS(buffer->insert_keyed(1, item), std::runtime_error);
      CHECK(buffer->size() == 0);
      CHECK(buffer->ledger() == Ledger{});
    }
    CHECK(CopyThrows::alive == 0);
    CopyThrows::copies_left = CopyThrows::kNever;
  }

  TEST_CASE("an item that is refused stays with the caller, untouched") {
    auto item = std::make_unique<int>(42);
    SUBCASE("try_insert without room") {
      FullBuffer<std::unique_ptr<int>> buffer(nullptr);
      CHECK(buffer->try_insert(std::move(item)) == InsertStatus::kFull);
    }
    SUBCASE("under kReject") {
      FullBuffer<std::unique_ptr<int>> buffer(nullptr, {.overflow = Overflow::kReject});
      CHECK(buffer->insert(std::move(item)) == InsertStatus::kFull);
      REQUIRE(item != nullptr);
      CHECK(buffer->insert(std::move(item), 1h) == InsertStatus::kFull);
      REQUIRE(item != nullptr);
      CHECK(buffer->insert_keyed(1, std::move(item)) == InsertStatus::kFull);
    }
    SUBCASE("a wait that timed out") {
      FullBuffer<std::unique_ptr<int>> buffer(nullptr);
      CHECK(buffer->insert(std::move(item), 0s) == InsertStatus::kTimedOut);
    }
    SUBCASE("a keyed wait that timed out") {
      FullBuffer<std::unique_ptr<int>> buffer(nullptr);
      CHECK(buffer->insert_keyed(1, std::move(item), 0s) == InsertStatus::kTimedOut);
    }
    SUBCASE("after close") {
      ManualBuffer<std::unique_ptr<int>> buffer;
      CHECK(buffer->close().status == CallStatus::kDone);
      CHECK(buffer->insert(std::move(item)) == InsertStatus::kClosed);
      REQUIRE(item != nullptr);
      CHECK(buffer->try_insert(std::move(item)) == InsertStatus::kClosed);
      REQUIRE(item != nullptr);
      CHECK(buffer->insert(std::move(item), 1h) == InsertStatus::kClosed);
      REQUIRE(item != nullptr);
      CHECK(buffer->insert_keyed(1, std::move(item)) == InsertStatus::kClosed);
    }
    REQUIRE(item != nullptr);
    CHECK(*item == 42);
  }

  TEST_CASE("what is refused is counted by the reason, and nowhere else in the ledger") {
    FullBuffer<int> buffer(0);
    CHECK(buffer->try_insert(1) == InsertStatus::kFull);
    CHECK(buffer->insert(1, 0s) == InsertStatus::kTimedOut);
    Ledger expected{
        .accepted = 1, .pending = 1, .in_flight = 0, .refused_full = 1, .refused_timed_out = 1};
    CHECK(buffer->ledger() == expected);
    buffer->close();
    CHECK(buffer->insert(1) == InsertStatus::kClosed);
    expected.flushed = std::exchange(expected.pending, 0);
    expected.refused_closed = 1;
    CHECK(buffer->ledger() == expected);
    CHECK(expected.refused() == 3);
    CHECK(expected.balances());
  }

  // None of these waits, and none overflows.
  TEST_CASE("a timeout of zero or less does not wait") {
    FullBuffer<int> buffer(0);
    CHECK(buffer->insert(1, 0s) == InsertStatus::kTimedOut);
    CHECK(buffer->insert(1, -1ns) == InsertStatus::kTimedOut);
    CHECK(buffer->insert(1, Duration::min()) == InsertStatus::kTimedOut);
    CHECK(buffer->insert(1, std::chrono::hours::min()) == InsertStatus::kTimedOut);
    CHECK(buffer->insert(1, std::chrono::duration<double>(-1e300)) == InsertStatus::kTimedOut);
    CHECK(buffer->insert_keyed(1, 1, Duration::min()) == InsertStatus::kTimedOut);
  }

  TEST_CASE("any timeout will do where there is room") {
    ManualBuffer<int> buffer;
    CHECK(buffer->insert(1, Duration::max()) == InsertStatus::kAccepted);
    CHECK(buffer->insert(1, std::chrono::hours::max()) == InsertStatus::kAccepted);
    CHECK(buffer->insert(1, std::chrono::duration<double>(1e300)) == InsertStatus::kAccepted);
    CHECK(buffer->insert(1, 0s) == InsertStatus::kAccepted);
    CHECK(buffer->insert(1, Duration::min()) == InsertStatus::kAccepted);
    CHECK(buffer->insert_keyed(1, 1, std::chrono::hours::max()) == InsertStatus::kAccepted);
    CHECK(buffer->size() == 6);
  }

  TEST_CASE("an insert never waits for the thread that it is on to make room") {
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 2});
    buffer->insert_batch(numbers(0, 2));
    CHECK(buffer->insert(2, kForever) == InsertStatus::kFull);
    CHECK(buffer->insert_keyed(1, 2, kForever) == InsertStatus::kFull);
    CHECK(buffer->insert_batch(numbers(2, 2), kForever) ==
          InsertBatchResult{InsertStatus::kFull, 0});
    buffer.work();  // It drives the buffer now, if it did not before.
    CHECK(buffer->insert_batch(numbers(2, 4), kForever) ==
          InsertBatchResult{InsertStatus::kFull, 2});
  }

  TEST_CASE("insert waits for the options' insert_timeout") {
    FullBuffer<int> buffer(0, {.insert_timeout = 0s});
    CHECK(buffer->insert(1) == InsertStatus::kTimedOut);
    CHECK(buffer->insert_keyed(1, 1) == InsertStatus::kTimedOut);
    CHECK(buffer->insert_batch(std::vector{1}) == InsertBatchResult{InsertStatus::kTimedOut, 0});
  }

  TEST_CASE("an item is accepted again as soon as one has left") {
    FullBuffer<int> buffer(1);
    CHECK(buffer->try_insert(2) == InsertStatus::kFull);
    buffer.work();
    CHECK(buffer->try_insert(2) == InsertStatus::kAccepted);
    CHECK(buffer->try_insert(3) == InsertStatus::kFull);
    buffer.work_all();
    CHECK(buffer.handled() == std::vector{1, 2});
  }

  TEST_CASE("items of many types pass through whole") {
    insert_and_flush<std::string>({"a", std::string(1000, 'x'), std::string("\0b", 2), ""});
    insert_and_flush<std::vector<int>>({{1, 2}, {}, {3}});
    insert_and_flush<std::pair<int, std::string>>({{1, "one"}, {2, "two"}});
    insert_and_flush<std::shared_ptr<int>>({std::make_shared<int>(1), nullptr});
    insert_and_flush<std::array<char, 4096>>({{'a'}, {'b'}});
    insert_and_flush<char>({'a', 'b'});
    struct Empty {};
    insert_and_flush<Empty>({Empty{}, Empty{}, Empty{}});
  }

  TEST_CASE("an over-aligned item is aligned wherever it is, in the queue and in the batch") {
    Overaligned::is_misplaced = false;
    std::vector<int> values;
    {
      Options options{.name = "b", .max_size = 100, .threading = Threading::kManual};
      Buffer<Overaligned> buffer(options, [&](std::span<Overaligned> batch) {
        for (const Overaligned& item : batch) values.push_back(item.value);
      });
      for (int value = 0; value < 250; ++value) buffer.insert(Overaligned(value));
      buffer.close();
    }
    CHECK_FALSE(Overaligned::is_misplaced);
    CHECK(values == numbers(0, 250));
  }

  TEST_CASE("a move-only item goes all the way by move") {
    std::vector<std::unique_ptr<int>> kept;
    ManualBuffer<std::unique_ptr<int>> buffer(
        {.max_size = 2}, [&](Batch<std::unique_ptr<int>>& batch, const FlushContext&) {
          for (auto& item : batch) kept.push_back(std::move(item));
          return FlushResult::ok();
        });
    buffer->insert(std::make_unique<int>(1));
    CHECK(buffer->try_insert(std::make_unique<int>(2)) == InsertStatus::kAccepted);
    buffer.work_all();
    REQUIRE(kept.size() == 2);
    CHECK(*kept[0] == 1);
    CHECK(*kept[1] == 2);
  }
}
