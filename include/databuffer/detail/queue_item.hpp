#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace databuffer::detail {

/// Whether `new (place) T(…)` constructs at `place` and uses no operator new of the class.
template <class T>
concept PlacedAsIs = requires(void* place, T&& item) {
  new (place) T(std::move(item));
}
&&!requires(void* place) { T::operator new(sizeof(T), place); };

/// An item whose class has an operator new of its own.
template <class T>
struct Boxed {
  template <class U>
  requires(!std::is_same_v<std::remove_cvref_t<U>, Boxed>) explicit Boxed(U&& from) noexcept(
      std::is_nothrow_constructible_v<T, U>)
      : item(std::forward<U>(from)) {}
  T item;
};

/// What the queue holds for an item: the item itself, or a box where the queue's unqualified
/// `new (place) T(…)` would find the class's own operator new, deleted perhaps.
template <class T>
using QueueItem = std::conditional_t<PlacedAsIs<T>, T, Boxed<T>>;

template <class T>
[[nodiscard]] T&& unbox(QueueItem<T>&& item) noexcept {
  if constexpr (PlacedAsIs<T>) {
    return std::move(item);
  } else {
    return std::move(item.item);
  }
}

}  // namespace databuffer::detail
