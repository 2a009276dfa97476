#pragma once

#include <concepts>
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

/// Whether a callable holds nothing: a null pointer, an empty std::function, or an object of any
/// other type that is equal to nullptr.
template <class F>
[[nodiscard]] bool is_null(const F& callable) {
  // A function, or a lambda that converts to a pointer to one, is something: comparing warns.
  constexpr bool kIsSomething =
      std::is_function_v<F> || (std::is_class_v<F> && requires { +callable; });
  constexpr bool kCompares = requires {
    { callable == nullptr } -> std::convertible_to<bool>;
  };
  if constexpr (kCompares && !kIsSomething) {
    return callable == nullptr;
  } else {
    return false;
  }
}
template <class F>
[[nodiscard]] bool is_null(const std::reference_wrapper<F>& callable) {
  return is_null(callable.get());
}

// The signature of a call operator. (Functions, because their argument may be noexcept or not.)
template <class C, class R, class... A>
std::type_identity<R(A...)> signature_of(R (C::*)(A...)) {
  return {};
}
template <class C, class R, class... A>
std::type_identity<R(A...)> signature_of(R (C::*)(A...) const) {
  return {};
}
template <class C, class R, class... A>
std::type_identity<R(A...)> signature_of(R (C::*)(A...) &) {
  return {};
}
template <class C, class R, class... A>
std::type_identity<R(A...)> signature_of(R (C::*)(A...) const&) {
  return {};
}

/// The signature of a callable without its `noexcept`: of a function, or of an object whose call
/// operator is neither a template nor overloaded; of others void.
template <class F>
struct Signature : std::type_identity<void> {};
template <class F>
requires requires { signature_of(&F::operator()); }
struct Signature<F> : decltype(signature_of(&F::operator())) {};
template <class R, class... A>
struct Signature<R(A...)> : std::type_identity<R(A...)> {};
template <class R, class... A>
struct Signature<R(A...) noexcept> : std::type_identity<R(A...)> {};
template <class F>
struct Signature<F*> : Signature<F> {};
template <class F>
struct Signature<std::reference_wrapper<F>> : Signature<F> {};

// The item type of a weigher, or void where its signature does not say.
template <class S>
struct WeighedItem : std::type_identity<void> {};
template <class R, class Item>
struct WeighedItem<R(Item)> : std::remove_cvref<Item> {};

// The item type of a drop handler: what it takes a span of, or void.
template <class S>
struct DropItem : std::type_identity<void> {};
template <class R, class Items, class Info>
struct DropItem<R(Items, Info)> : DropItem<std::remove_cvref_t<Items>> {};
template <class Item>
struct DropItem<std::span<Item>> : std::remove_cv<Item> {};

template <class F, class Item>
concept Weigher = !std::is_void_v<Item> && requires(F & function, const Item& item) {
  { std::invoke(function, item) } -> std::convertible_to<std::size_t>;
};
template <class F, class Item>
concept DropHandler = !std::is_void_v<Item> && std::invocable<F&, std::span<Item>, const DropInfo&>;

/// `Options::weigh`: a callable `(const T&)` for one item type, which the buffer compares with its
/// own at construction. Copyable.
class Weigh {
 public:
  Weigh() = default;
  Weigh(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)

  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Weigh> &&
           !std::is_same_v<std::remove_cvref_t<F>, std::nullptr_t>)
      Weigh(F&& callable) {  // NOLINT: not explicit, so that a lambda can be assigned
    using Function = std::decay_t<F>;
    using Item = typename WeighedItem<typename Signature<Function>::type>::type;
    constexpr bool kIsRight = Weigher<Function, Item>;
    static_assert(kIsRight,
                  "databuffer: weigh takes one item, by value or by const reference, and returns "
                  "its weight; its signature says the item type (no auto, no overloads): "
                  "[](const Item& item) { return item.size(); }");
    if constexpr (kIsRight) {
      item_type_ = &typeid(Item);
      if (is_null(callable)) return;
      call_ = [function = std::make_shared<Function>(std::forward<F>(callable))](const void* item) {
        return static_cast<std::size_t>(std::invoke(*function, *static_cast<const Item*>(item)));
      };
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  /// Whether a null callable was assigned; that is a mistake, other than none.
  [[nodiscard]] bool has_null() const noexcept { return item_type_ != nullptr && !call_; }
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
      OnDrop(F&& callable) {  // NOLINT: as for Weigh
    using Function = std::decay_t<F>;
    using Item = typename DropItem<typename Signature<Function>::type>::type;
    constexpr bool kIsRight = DropHandler<Function, Item>;
    static_assert(kIsRight,
                  "databuffer: on_drop takes the items and why they were dropped; its signature "
                  "says the item type (no auto, no overloads): "
                  "[](std::span<Item> items, const databuffer::DropInfo& info) { ... }");
    if constexpr (kIsRight) {
      item_type_ = &typeid(Item);
      if (is_null(callable)) return;
      call_ = [function = std::make_shared<Function>(std::forward<F>(callable))](
                  void* items, std::size_t count, const DropInfo& info) {
        std::invoke(*function, std::span<Item>(static_cast<Item*>(items), count), info);
      };
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }
  /// Whether a null callable was assigned; that is a mistake, other than none.
  [[nodiscard]] bool has_null() const noexcept { return item_type_ != nullptr && !call_; }
  [[nodiscard]] const std::type_info& item_type() const noexcept { return *item_type_; }

  void operator()(void* items, std::size_t count, const DropInfo& info) const {
    call_(items, count, info);
  }

 private:
  const std::type_info* item_type_ = nullptr;
  std::function<void(void*, std::size_t, const DropInfo&)> call_;
};

}  // namespace databuffer::detail
