#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace databuffer {
struct DropInfo;
}

namespace databuffer::detail {

// The item type of a drop handler: what its one call operator takes a span of.
template <class F>
struct DropItem : DropItem<decltype(&F::operator())> {};
template <class C, class R, class T>
struct DropItem<R (C::*)(std::span<T>, const DropInfo&)> : std::type_identity<T> {};
template <class C, class R, class T>
struct DropItem<R (C::*)(std::span<T>, const DropInfo&) const> : std::type_identity<T> {};
template <class R, class T>
struct DropItem<R (*)(std::span<T>, const DropInfo&)> : std::type_identity<T> {};

// The item type of a weigher: what its one call operator takes a reference to.
template <class F>
struct WeighedItem : WeighedItem<decltype(&F::operator())> {};
template <class C, class R, class T>
struct WeighedItem<R (C::*)(const T&)> : std::type_identity<T> {};
template <class C, class R, class T>
struct WeighedItem<R (C::*)(const T&) const> : std::type_identity<T> {};
template <class R, class T>
struct WeighedItem<R (*)(const T&)> : std::type_identity<T> {};

/// `Options::weigh`: a callable `(const T&)` for one item type, which the buffer compares with its
/// own at construction. Copyable.
class Weigh {
 public:
  Weigh() = default;
  Weigh(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Weigh> &&
           !std::is_same_v<std::remove_cvref_t<F>, std::nullptr_t>)
      Weigh(F&& callable)  // NOLINT(google-explicit-constructor): so that a lambda can be assigned
      : item_type_(&typeid(typename WeighedItem<std::decay_t<F>>::type)),
        call_([function = std::make_shared<std::decay_t<F>>(std::forward<F>(callable))](
                  const void* item) -> std::size_t {
          using Item = typename WeighedItem<std::decay_t<F>>::type;
          return static_cast<std::size_t>((*function)(*static_cast<const Item*>(item)));
        }) {}

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  [[nodiscard]] const std::type_info& item_type() const noexcept { return *item_type_; }
  [[nodiscard]] std::size_t operator()(const void* item) const { return call_(item); }

 private:
  const std::type_info* item_type_ = nullptr;
  std::function<std::size_t(const void*)> call_;
};

/// `Options::on_drop`: a callable `(std::span<T>, const DropInfo&)` for one item type, which the
/// buffer compares with its own at construction. Copyable; called once for each group of items.
class OnDrop {
 public:
  OnDrop() = default;
  OnDrop(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, OnDrop> &&
           !std::is_same_v<std::remove_cvref_t<F>, std::nullptr_t>)
      OnDrop(F&& callable)  // NOLINT(google-explicit-constructor): so that a lambda can be assigned
      : item_type_(&typeid(typename DropItem<std::decay_t<F>>::type)),
        call_([function = std::make_shared<std::decay_t<F>>(std::forward<F>(callable))](
                  void* items, std::size_t count, const DropInfo& info) {
          using Item = typename DropItem<std::decay_t<F>>::type;
          (*function)(std::span<Item>(static_cast<Item*>(items), count), info);
        }) {}

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  [[nodiscard]] const std::type_info& item_type() const noexcept { return *item_type_; }

  void operator()(void* items, std::size_t count, const DropInfo& info) const {
    call_(items, count, info);
  }

 private:
  const std::type_info* item_type_ = nullptr;
  std::function<void(void*, std::size_t, const DropInfo&)> call_;
};

}  // namespace databuffer::detail
