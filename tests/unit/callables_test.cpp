// Goal: a callable that is null is refused by name when it is given, before anything starts; every
// other form of callable that names its item type is accepted.
// Method: each callable of the contract, null in each way there is, and in each form there is.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

/// A function object that only moves and can be empty, as std::move_only_function of C++23.
template <class Result, class... Arguments>
class MoveOnlyFunction {
 public:
  MoveOnlyFunction() = default;
  template <class F>
  explicit MoveOnlyFunction(F function)
      : function_(std::make_unique<std::function<Result(Arguments...)>>(std::move(function))) {}
  Result operator()(Arguments... arguments) const {
    return (*function_)(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const MoveOnlyFunction& function, std::nullptr_t) {
    return function.function_ == nullptr;
  }

 private:
  std::unique_ptr<std::function<Result(Arguments...)>> function_;
};

struct Item {
  int value = 0;
};

Options by_hand(std::size_t partitions = 1) {
  return {.name = "b", .partitions = partitions, .threading = Threading::kManual};
}

/// Calls what must throw an OptionsError, and returns it as text.
template <class Call>
std::string refusal(const std::string& field, Call call) {
  try {
    call();
  } catch (const OptionsError& error) {
    CHECK(error.field() == field);
    return error.what();
  }
  return "not refused";
}

template <class Handler>
std::string refused_handler(Handler handler) {
  Options options = by_hand();
  bool has_started = false;
  options.on_thread_start = [&](std::size_t) { has_started = true; };
  options.threading = Threading::kOwn;
  std::string message =
      refusal("handler", [&] { const Buffer<int> buffer(options, std::move(handler)); });
  CHECK_FALSE(has_started);
  return message;
}

template <class Factory>
std::string refused_factory(Factory factory) {
  return refusal("factory", [&] {
    const auto buffer = Buffer<int>::per_partition(by_hand(2), std::move(factory));
  });
}

template <class Callable>
std::string refused_on_drop(Callable callable) {
  Options options = by_hand();
  options.on_drop = std::move(callable);
  CHECK_FALSE(static_cast<bool>(options.on_drop));
  return refusal("on_drop", [&] { const Buffer<int> buffer(options, [](std::span<int>) {}); });
}

template <class Callable>
std::string refused_weigh(Callable callable) {
  Options options = by_hand();
  options.max_bytes = 10;
  options.weigh = std::move(callable);
  CHECK_FALSE(static_cast<bool>(options.weigh));
  return refusal("weigh", [&] { const Buffer<int> buffer(options, [](std::span<int>) {}); });
}

using Handle = void(std::span<int>);
using Drop = void(std::span<int>, const DropInfo&);
using Weight = std::size_t(const int&);

std::vector<int> dropped;
void drop(std::span<int> items, const DropInfo&) noexcept {
  dropped.insert(dropped.end(), items.begin(), items.end());
}
std::size_t weigh_one(const int&) noexcept { return 1; }

/// Three failed items, as `on_drop` heard of them.
std::vector<int> dropped_to(detail::OnDrop on_drop) {
  dropped.clear();
  ManualBuffer<int> buffer(
      {.max_size = 3, .on_drop = std::move(on_drop)},
      [](Batch<int>&, const FlushContext&) { return FlushResult::failed(""); });
  static_cast<void>(buffer->insert_batch(numbers(0, 3)));
  buffer.work_all();
  return dropped;
}

/// What four items weigh.
std::size_t weighed_by(detail::Weigh weigh) {
  ManualBuffer<int> buffer({.max_bytes = 100, .weigh = std::move(weigh)});
  static_cast<void>(buffer->insert_batch(numbers(1, 4)));
  return buffer->info()[0].bytes;
}

}  // namespace

TEST_SUITE("callables") {
  TEST_CASE("a null handler of any kind is refused, and nothing has started") {
    const std::string message = "handler = null: must be callable";
    CHECK(refused_handler(static_cast<Handle*>(nullptr)) == message);
    CHECK(refused_handler(static_cast<void (*)(Batch<int>&) noexcept>(nullptr)) == message);
    CHECK(refused_handler(std::function<Handle>()) == message);
    CHECK(refused_handler(std::function<FlushResult(Batch<int>&, const FlushContext&)>()) ==
          message);
    CHECK(refused_handler(MoveOnlyFunction<bool, std::span<int>>()) == message);
    CHECK(refused_handler(static_cast<bool (std::span<int>::*)() const noexcept>(nullptr)) ==
          message);
    std::function<Handle> empty;
    CHECK(refused_handler(std::ref(empty)) == message);
  }

  TEST_CASE("a null factory is refused, and so is a null handler that a factory returns") {
    CHECK(refused_factory(static_cast<std::function<Handle> (*)(std::size_t)>(nullptr)) ==
          "factory = null: must be callable");
    CHECK(refused_factory(std::function<std::function<Handle>(std::size_t)>()) ==
          "factory = null: must be callable");
    int made = 0;
    CHECK(refused_factory([&made](std::size_t partition_index) {
            ++made;
            if (partition_index == 1) return std::function<Handle>();
            return std::function<Handle>([](std::span<int>) {});
          }) == "factory = one that returned a null handler: must be callable");
    CHECK(made == 2);
    CHECK(refused_factory([](std::size_t) -> Handle* { return nullptr; }) ==
          "factory = one that returned a null handler: must be callable");
  }

  TEST_CASE("a consumer thread's factory that returns a null handler fails the constructor") {
    Options options = by_hand(2);
    options.threading = Threading::kOwn;
    CHECK(refusal("factory", [&] {
            const auto buffer = Buffer<int>::per_partition(
                options, [](std::size_t) { return std::function<Handle>(); });
          }) == "factory = one that returned a null handler: must be callable");
  }

  TEST_CASE("a null on_drop is refused; nullptr itself means none") {
    const std::string message =
        "on_drop = null: must be callable; nothing, or nullptr itself, means none";
    CHECK(refused_on_drop(static_cast<Drop*>(nullptr)) == message);
    CHECK(refused_on_drop(std::function<Drop>()) == message);
    CHECK(refused_on_drop(MoveOnlyFunction<void, std::span<int>, const DropInfo&>()) == message);
    CHECK(dropped_to(nullptr).empty());
    CHECK(dropped_to({}).empty());
  }

  TEST_CASE("a null weigh is refused, with limits by weight and without") {
    const std::string message =
        "weigh = null: must be callable; nothing, or nullptr itself, means none";
    CHECK(refused_weigh(static_cast<Weight*>(nullptr)) == message);
    CHECK(refused_weigh(std::function<Weight>()) == message);
    Options options = by_hand();
    options.weigh = std::function<Weight>();
    CHECK(refusal("weigh", [&] { options.validate(); }) == message);
    options.weigh = nullptr;
    CHECK_NOTHROW(options.validate());
  }

  TEST_CASE("a null thread hook means none") {
    Options options = by_hand();
    options.threading = Threading::kOwn;
    options.on_thread_start = std::function<void(std::size_t)>();
    options.on_thread_stop = nullptr;
    Buffer<int> buffer(options, [](std::span<int>) {});
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.close().ledger.flushed == 1);
  }

  TEST_CASE("an on_drop may be noexcept, take its arguments by value, and only look") {
    const std::vector<int> all = numbers(0, 3);
    CHECK(dropped_to(&drop) == all);
    CHECK(dropped_to(drop) == all);
    CHECK(dropped_to(std::ref(drop)) == all);
    CHECK(dropped_to([](std::span<int> items, const DropInfo& info) noexcept {
            drop(items, info);
          }) == all);
    CHECK(dropped_to([](std::span<const int> items, DropInfo info) noexcept {
            dropped.assign(items.begin(), items.end());
            CHECK(info.reason == DropReason::kFailed);
          }) == all);
    CHECK(dropped_to([calls = 0](const std::span<int>& items, const DropInfo& info) mutable {
            if (++calls == 1) drop(items, info);
          }) == all);
    CHECK(dropped_to(MoveOnlyFunction<void, std::span<int>, const DropInfo&>(&drop)) == all);
    struct Recorder {
      void operator()(std::span<int> items, const DropInfo& info) & noexcept { drop(items, info); }
    };
    Recorder recorder;
    CHECK(dropped_to(recorder) == all);
    CHECK(dropped_to(std::ref(recorder)) == all);
  }

  TEST_CASE("a weigher may be noexcept, take its item by value, and return any number") {
    CHECK(weighed_by(&weigh_one) == 4);
    CHECK(weighed_by([](const int& item) noexcept { return static_cast<std::size_t>(item); }) ==
          10);
    CHECK(weighed_by([](int item) noexcept { return item; }) == 10);
    CHECK(weighed_by([](const int) { return std::uint8_t{2}; }) == 8);
    CHECK(weighed_by(std::function<Weight>(&weigh_one)) == 4);
  }

  TEST_CASE("an on_drop or a weigh for other items is refused by the names of both types") {
    Options options = by_hand();
    options.on_drop = [](std::span<const std::vector<int>>, const DropInfo&) {};
    CHECK(
        refusal("on_drop", [&] { const Buffer<Item> buffer(options, [](std::span<Item>) {}); }) ==
        "on_drop = a callable for items of type std::vector<int, std::allocator<int> >: must take "
        "the buffer's items, of type (anonymous namespace)::Item");
    options = by_hand();
    options.max_bytes = 1;
    options.weigh = [](double) { return 1U; };
    CHECK(refusal("weigh", [&] { const Buffer<int> buffer(options, [](std::span<int>) {}); }) ==
          "weigh = a callable for items of type double: must take the buffer's items, of type int");
  }

  TEST_CASE("what cannot be null is never taken for it") {
    CHECK_FALSE(detail::is_null(drop));
    CHECK_FALSE(detail::is_null(&drop));
    CHECK_FALSE(detail::is_null([] {}));
    CHECK_FALSE(detail::is_null([number = 0] { return number; }));
    CHECK_FALSE(detail::is_null([](auto item) { return item; }));
    CHECK_FALSE(detail::is_null(std::bind(&weigh_one, 1)));
    CHECK_FALSE(detail::is_null(std::function<Drop>(&drop)));
    CHECK_FALSE(detail::is_null(&Item::value));
  }
}
