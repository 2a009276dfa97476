#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "databuffer/batch.hpp"
#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
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
/// without a `const FlushContext&` behind it; answers FlushResult, bool (false: failed) or nothing.
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

template <class T, class F>
Parts shared_parts(F&& function) {
  using Function = std::decay_t<F>;
  Parts parts;
  parts.item_type = &typeid(T);
  parts.make_lane = [] { return std::make_unique<LaneOf<T>>(); };
  parts.make_handler = [shared = std::make_shared<Function>(std::forward<F>(function))](
                           std::size_t) -> std::unique_ptr<Handler> {
    return std::make_unique<SharedHandler<T, Function>>(shared);
  };
  return parts;
}

/// What per_partition() takes: called with the partition's index.
template <class F>
concept HandlerFactory = std::invocable<std::add_lvalue_reference_t<std::decay_t<F>>, std::size_t>;

template <class T, class F>
Parts own_parts(F&& factory) {
  using Factory = std::decay_t<F>;
  Parts parts;
  parts.item_type = &typeid(T);
  parts.make_lane = [] { return std::make_unique<LaneOf<T>>(); };
  parts.make_handler = [shared = std::make_shared<Factory>(std::forward<F>(factory))](
                           std::size_t partition_index) -> std::unique_ptr<Handler> {
    using Function = std::decay_t<std::invoke_result_t<Factory&, std::size_t>>;
    static_assert(FlushHandler<Function, T>, "the factory returns a flush handler for items of T");
    return std::make_unique<OwnHandler<T, Function>>(std::invoke(*shared, partition_index));
  };
  return parts;
}

}  // namespace databuffer::detail
