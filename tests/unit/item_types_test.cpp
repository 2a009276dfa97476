// Goal: what an item type does to operators that nobody writes for it (&, comma, new) disturbs no
// call, and none of these operators is used.
// Method: the same run of every call with an item type of each kind.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::support::numbers;

namespace {

struct NoAddress {
  int value = 0;
  void operator&() const = delete;
};

/// A comma between an item and anything else does not compile.
struct NoComma {
  int value = 0;
  template <class Other>
  friend void operator,(const NoComma&, Other&&) = delete;
  template <class Other>
  friend void operator,(Other&&, const NoComma&) = delete;
};

struct NoNew {
  int value = 0;
  static void* operator new(std::size_t) = delete;
  static void* operator new(std::size_t, void*) = delete;
  static void* operator new[](std::size_t) = delete;
  static void operator delete(void*) = delete;
};

/// Hides the placement form, and counts.
struct OwnNew {
  int value = 0;
  static inline int calls = 0;
  static void* operator new(std::size_t bytes) {
    ++calls;
    return ::operator new(bytes);
  }
};

/// Its own placement form is somewhere else's business.
struct OwnPlacement {
  int value = 0;
  static inline int calls = 0;
  static void* operator new(std::size_t, void* place) noexcept {
    ++calls;
    return place;
  }
};

class PrivateNew {
 public:
  PrivateNew(int number) : value(number) {}  // NOLINT(google-explicit-constructor)
  int value;

 private:
  static void* operator new(std::size_t, void*);
  static void operator delete(void*);
};

struct alignas(64) OwnNewAligned {
  int value = 0;
  static void* operator new(std::size_t) = delete;
};

struct Constant {
  const int value;
};

struct Reference {
  explicit Reference(const int& number) : value(number) {}
  const int& value;
};

/// It moves only, and everything above.
class Everything final {
 public:
  Everything(int number) : value(number) {}  // NOLINT(google-explicit-constructor)
  Everything(Everything&& from) noexcept : value(std::exchange(from.value, -1)) {}
  void operator&() const = delete;
  static void* operator new(std::size_t, void*) = delete;
  template <class Other>
  friend void operator,(const Everything&, Other&&) = delete;
  mutable int value;
};

template <class T>
T make(int value) {
  return T{value};
}

/// Holds what Reference refers to.
const std::vector<int>& all_numbers() {
  static const std::vector<int> kNumbers = numbers(0, 5000);
  return kNumbers;
}
template <>
Reference make<Reference>(int value) {
  return Reference(all_numbers()[static_cast<std::size_t>(value)]);
}

template <class T>
std::vector<T> make_some(int first, int count) {
  std::vector<T> items;
  for (int value = first; value < first + count; ++value) items.push_back(make<T>(value));
  return items;
}

template <class Items>
std::vector<int> values_of(const Items& items) {
  std::vector<int> values;
  for (const auto& item : items) values.push_back(item.value);
  return values;
}

/// The numbers 0, 1, …: by every kind of insert, over many of the queue's blocks.
template <class T>
void insert_numbers(Buffer<T>& buffer, int count) {
  int next = 0;
  while (next < count) {
    REQUIRE(buffer.insert(make<T>(next++)) == InsertStatus::kAccepted);
    REQUIRE(buffer.try_insert(make<T>(next++)) == InsertStatus::kAccepted);
    REQUIRE(buffer.insert_keyed("key", make<T>(next++)) == InsertStatus::kAccepted);
    REQUIRE(buffer.insert_batch(make_some<T>(next, 7)).accepted == 7);
    next += 7;
    if constexpr (std::is_copy_constructible_v<T>) {
      const std::vector<T> lvalues = make_some<T>(next, 3);
      REQUIRE(buffer.insert(lvalues[0]) == InsertStatus::kAccepted);
      REQUIRE(buffer.insert_keyed("key", lvalues[1]) == InsertStatus::kAccepted);
      REQUIRE(buffer.insert_batch({lvalues[2]}).accepted == 1);
      next += 3;
    }
  }
}

/// Every item is delivered, dumped, taken and dropped as it was inserted.
template <class T>
void run() {
  constexpr int kCount = 2600;
  std::vector<int> handled;
  std::vector<int> dropped;
  Options options{.name = "b",
                  .max_size = 100,
                  .capacity = 4000,
                  .retry = {.attempts = 2, .initial_backoff = Duration::zero()},
                  .threading = Threading::kManual};
  options.on_drop = [&](std::span<T> items, const DropInfo&) {
    for (const T& item : items) dropped.push_back(item.value);
  };
  // Items whose number ends with 7 fail for good.
  Buffer<T> buffer(options, [&](Batch<T>& batch) {
    std::vector<std::size_t> bad;
    for (std::size_t index = 0; index < batch.size(); ++index) {
      if (batch[index].value % 10 == 7) {
        bad.push_back(index);
      } else {
        handled.push_back(batch[index].value);
      }
    }
    return bad.empty() ? FlushResult::ok() : FlushResult::retry("bad").only_items(std::move(bad));
  });
  insert_numbers(buffer, kCount);
  const std::vector<int> expected = numbers(0, kCount);
  REQUIRE(buffer.size() == expected.size());
  if constexpr (std::is_copy_constructible_v<T>) CHECK(values_of(buffer.dump()) == expected);

  REQUIRE(buffer.close().ledger.failed == kCount / 10);
  CHECK(handled.size() == kCount - kCount / 10);
  CHECK(dropped.size() == kCount / 10);
  std::vector<int> both = handled;
  both.insert(both.end(), dropped.begin(), dropped.end());
  std::sort(both.begin(), both.end());
  CHECK(both == expected);

  Buffer<T> taken({.name = "t", .max_size = 10, .capacity = 3000, .threading = Threading::kManual},
                  [](std::span<T>) {});
  insert_numbers(taken, kCount);
  CHECK(values_of(taken.take()) == expected);
}

}  // namespace

TEST_SUITE("item types") {
  TEST_CASE("an item without the address-of operator works") { run<NoAddress>(); }

  TEST_CASE("an item that refuses the comma works") { run<NoComma>(); }

  TEST_CASE("an item without operator new works, whatever is deleted or private of it") {
    run<NoNew>();
    run<PrivateNew>();
    run<OwnNewAligned>();
  }

  TEST_CASE("an item's own operator new is never called") {
    run<OwnNew>();
    run<OwnPlacement>();
    CHECK(OwnNew::calls == 0);
    CHECK(OwnPlacement::calls == 0);
  }

  TEST_CASE("an item that cannot be assigned works") {
    run<Constant>();
    run<Reference>();
  }

  TEST_CASE("an item that only moves and has all of these works") { run<Everything>(); }

  TEST_CASE("a refused item with an operator new of its own is untouched") {
    Buffer<Everything> buffer(
        {.name = "b", .max_size = 1, .capacity = 1, .threading = Threading::kManual},
        [](std::span<Everything>) {});
    Everything item(1);
    REQUIRE(buffer.insert(std::move(item)) == InsertStatus::kAccepted);
    Everything refused(2);
    CHECK(buffer.try_insert(std::move(refused)) == InsertStatus::kFull);
    CHECK(refused.value == 2);
  }
}
