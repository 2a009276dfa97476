#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "databuffer/batch.hpp"
#include "databuffer/detail/callables.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
#include "databuffer/options.hpp"
#include "databuffer/result.hpp"

namespace databuffer::detail {

template <class F, class T>
concept TakesBatchAndContext = std::invocable < F&,
        Batch<T>
&, const FlushContext& > ;
template <class F, class T>
concept TakesSpanAndContext = std::invocable < F&,
        std::span<T>,
const FlushContext& > ;
template <class F, class T>
concept TakesBatch = std::invocable < F&,
        Batch<T>
& > ;
template <class F, class T>
concept TakesSpan = std::invocable<F&, std::span<T>>;

/// Something that can handle batches of T: called with `Batch<T>&` or `std::span<T>`, with or
/// without a `const FlushContext&` behind it; answers FlushResult, bool (false: not now) or
/// nothing.
template <class F, class T>
concept FlushHandler =
    TakesBatchAndContext<F, T> || TakesSpanAndContext<F, T> || TakesBatch<F, T> || TakesSpan<F, T>;

/// Calls `function` in the form it has, and gives its answer as a FlushResult.
template <class T, class F>
FlushResult call_with(F& function, Batch<T>& batch, const FlushContext& context) {
  const auto answer = [](auto&& call) -> FlushResult {
    using Answer = std::invoke_result_t<decltype(call)>;
    if constexpr (std::is_void_v<Answer>) {
      call();
      return FlushResult::ok();
    } else if constexpr (std::same_as<std::remove_cvref_t<Answer>, bool>) {
      return call() ? FlushResult::ok() : FlushResult::retry("the handler returned false");
    } else {
      static_assert(std::convertible_to<Answer, FlushResult>,
                    "databuffer: a flush handler returns void, bool or databuffer::FlushResult");
      return call();
    }
  };
  if constexpr (TakesBatchAndContext<F, T>) {
    return answer([&] { return std::invoke(function, batch, context); });
  } else if constexpr (TakesSpanAndContext<F, T>) {
    return answer([&] { return std::invoke(function, batch.items(), context); });
  } else if constexpr (TakesBatch<F, T>) {
    return answer([&] { return std::invoke(function, batch); });
  } else {
    return answer([&] { return std::invoke(function, batch.items()); });
  }
}

template <class T, class F>
FlushResult call_handler(F& function, Cargo& cargo, std::size_t first, std::size_t count,
                         const FlushContext& context, bool& is_taken) {
  const std::span<T> items(static_cast<CargoOf<T>&>(cargo).items() + first, count);
  Batch<T> batch(items, is_taken);
  return call_with<T>(function, batch, context);
}

/// A partition's own handler: made and destroyed on its consumer thread.
template <class T, class F>
class OwnHandler final : public Handler {
 public:
  explicit OwnHandler(F function) : function_(std::move(function)) {}
  FlushResult flush(Cargo& cargo, std::size_t first, std::size_t count, const FlushContext& context,
                    bool& is_taken) override {
    return call_handler<T>(function_, cargo, first, count, context, is_taken);
  }

 private:
  F function_;
};

/// One handler for all partitions: called by several threads at once.
template <class T, class F>
class SharedHandler final : public Handler {
 public:
  explicit SharedHandler(std::shared_ptr<F> function) : function_(std::move(function)) {}
  FlushResult flush(Cargo& cargo, std::size_t first, std::size_t count, const FlushContext& context,
                    bool& is_taken) override {
    return call_handler<T>(*function_, cargo, first, count, context, is_taken);
  }

 private:
  std::shared_ptr<F> function_;
};

/// Refuses what holds no function, by name, before anything is called.
template <class F>
void check_callable(const F& callable, const char* field, const char* value = "null") {
  if (is_null(callable)) throw OptionsError(field, value, "must be callable");
}

template <class T, class F>
Parts shared_parts(F&& function) {
  using Function = std::decay_t<F>;
  constexpr bool kIsHandler = FlushHandler<Function, T>;
  static_assert(kIsHandler,
                "databuffer: a flush handler for items of T is callable with std::span<T> or "
                "databuffer::Batch<T>&, optionally with const databuffer::FlushContext& behind");
  Parts parts;
  if constexpr (kIsHandler) {
    check_callable(function, "handler");
    parts.item_type = &typeid(T);
    parts.make_lane = [] { return std::make_unique<LaneOf<T>>(); };
    parts.make_handler = [shared = std::make_shared<Function>(std::forward<F>(function))](
                             std::size_t) -> std::unique_ptr<Handler> {
      return std::make_unique<SharedHandler<T, Function>>(shared);
    };
  }
  return parts;
}

template <class T, class Factory>
std::unique_ptr<Handler> make_own_handler(Factory& factory, std::size_t partition_index) {
  using Function = std::decay_t<std::invoke_result_t<Factory&, std::size_t>>;
  constexpr bool kIsHandler = FlushHandler<Function, T>;
  static_assert(kIsHandler,
                "databuffer: a per_partition factory returns a flush handler for items of T: "
                "callable with std::span<T> or databuffer::Batch<T>&, optionally with const "
                "databuffer::FlushContext& behind");
  if constexpr (kIsHandler) {
    Function function = std::invoke(factory, partition_index);
    check_callable(function, "factory", "one that returned a null handler");
    return std::make_unique<OwnHandler<T, Function>>(std::move(function));
  }
}

template <class T, class F>
Parts own_parts(F&& factory) {
  using Factory = std::decay_t<F>;
  constexpr bool kIsFactory = std::invocable<Factory&, std::size_t>;
  static_assert(kIsFactory,
                "databuffer: a per_partition factory is callable with the partition's index, a "
                "std::size_t, and returns that partition's flush handler");
  Parts parts;
  if constexpr (kIsFactory) {
    check_callable(factory, "factory");
    parts.item_type = &typeid(T);
    parts.make_lane = [] { return std::make_unique<LaneOf<T>>(); };
    parts.make_handler = [shared = std::make_shared<Factory>(std::forward<F>(factory))](
                             std::size_t partition_index) {
      return make_own_handler<T>(*shared, partition_index);
    };
  }
  return parts;
}

}  // namespace databuffer::detail
