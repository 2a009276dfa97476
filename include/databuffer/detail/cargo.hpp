#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "databuffer/detail/assert.hpp"
#include "databuffer/detail/memory.hpp"

namespace databuffer::detail {

/// Items on their way, contiguous and in order, of a type the engine does not know: a batch, the
/// items dump() has copied, the items take() removes.
class Cargo {
 public:
  Cargo() = default;
  Cargo(const Cargo&) = delete;
  Cargo& operator=(const Cargo&) = delete;
  virtual ~Cargo() = default;

  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - end_; }
  [[nodiscard]] virtual void* data() noexcept = 0;

  /// Makes room for `count` more items. Throws std::bad_alloc, having changed nothing.
  virtual void reserve(std::size_t count) = 0;

  /// Moves the first `count` items behind those of `to`, which has room for them.
  virtual void move_front(std::size_t count, Cargo& to) noexcept = 0;

  /// The address of one item.
  [[nodiscard]] virtual void* at(std::size_t index) noexcept = 0;

  /// Puts the item at `from` in the place of that at `to`, which ends; a moved-from one stays.
  virtual void replace(std::size_t to, std::size_t from) noexcept = 0;

  /// Destroys the first `count` items.
  virtual void discard_front(std::size_t count) noexcept = 0;

  /// Destroys the items; keeps the storage.
  virtual void clear() noexcept = 0;

  /// Gives the storage back. Requires: no items.
  virtual void free_storage() noexcept = 0;

 protected:
  std::size_t begin_ = 0;     // index of the first item
  std::size_t end_ = 0;       // one past the last
  std::size_t capacity_ = 0;  // items the storage holds
};

template <class T>
class CargoOf final : public Cargo {
 public:
  CargoOf() = default;
  ~CargoOf() override {
    clear();
    release(storage_, alignof(T));
  }

  [[nodiscard]] T* items() noexcept { return storage_ + begin_; }
  [[nodiscard]] const T* items() const noexcept { return storage_ + begin_; }
  [[nodiscard]] void* data() noexcept override { return items(); }

  void reserve(std::size_t count) override {
    if (count <= capacity_ - end_) return;
    const std::size_t needed = size() + count;
    if (needed <= capacity_ && begin_ >= size()) return compact(storage_);
    const std::size_t grown = needed > 2 * capacity_ ? needed : 2 * capacity_;
    T* const fresh = static_cast<T*>(allocate(grown * sizeof(T), alignof(T)));
    if (fresh == nullptr) throw std::bad_alloc();
    compact(fresh);
    release(storage_, alignof(T));
    storage_ = fresh;
    capacity_ = grown;
  }

  void move_front(std::size_t count, Cargo& to) noexcept override {
    DATABUFFER_ASSERT(count <= size());
    auto& target = static_cast<CargoOf&>(to);
    for (std::size_t moved = 0; moved < count; ++moved) {
      T& item = storage_[begin_++];
      target.construct(std::move(item));
      item.~T();  // NOLINT: what was moved from ends here
    }
    if (begin_ == end_) begin_ = end_ = 0;
  }

  [[nodiscard]] void* at(std::size_t index) noexcept override { return items() + index; }

  void replace(std::size_t to, std::size_t from) noexcept override {
    DATABUFFER_ASSERT(to < size() && from < size());
    if (to == from) return;
    items()[to].~T();
    ::new (static_cast<void*>(items() + to)) T(std::move(items()[from]));
  }

  void discard_front(std::size_t count) noexcept override {
    DATABUFFER_ASSERT(count <= size());
    for (; count > 0; --count) storage_[begin_++].~T();
    if (begin_ == end_) begin_ = end_ = 0;
  }

  void clear() noexcept override {
    while (begin_ != end_) storage_[begin_++].~T();
    begin_ = end_ = 0;
  }

  void free_storage() noexcept override {
    DATABUFFER_ASSERT(size() == 0);
    release(std::exchange(storage_, nullptr), alignof(T));
    capacity_ = 0;
  }

  /// Appends one item. Requires room: reserve().
  template <class U>
  void construct(U&& item) noexcept(std::is_nothrow_convertible_v<U, T>) {
    DATABUFFER_ASSERT(end_ < capacity_);
    void* const place = storage_ + end_;
    if constexpr (std::is_same_v<T, std::remove_cvref_t<U>>) {
      ::new (place) T(std::forward<U>(item));
    } else if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<std::remove_cvref_t<U>>) {
      ::new (place) T(static_cast<T>(item));  // May narrow, as where a call converts its argument.
    } else {
      // By what converts implicitly, also where T has a better match that is explicit.
      const auto convert = [&item]() -> T { return std::forward<U>(item); };
      ::new (place) T(convert());
    }
    ++end_;
  }

  /// Counts `count` items that were constructed behind the last by their address.
  void adopt(std::size_t count) noexcept {
    DATABUFFER_ASSERT(count <= capacity_ - end_);
    end_ += count;
  }
  [[nodiscard]] T* end_storage() noexcept { return storage_ + end_; }

 private:
  void compact(T* to) noexcept {
    const std::size_t count = size();
    for (std::size_t index = 0; index < count; ++index) {
      T& item = storage_[begin_ + index];
      ::new (static_cast<void*>(to + index)) T(std::move(item));
      item.~T();  // NOLINT: as in move_front()
    }
    begin_ = 0;
    end_ = count;
  }

  T* storage_ = nullptr;  // owned; holds items [begin_, end_)
};

}  // namespace databuffer::detail
