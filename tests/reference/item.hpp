#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace databuffer::reference {

/// An item that knows its number and its weight, and whether it is still where it was put.
struct Item {
  /// The weight of an item whose weigher throws.
  static constexpr std::uint32_t kCannotBeWeighed = std::numeric_limits<std::uint32_t>::max();

  static inline std::size_t alive = 0;  // one thread

  Item(std::uint32_t item_number, std::uint32_t item_weight) noexcept
      : number(item_number), weight(item_weight) {
    ++alive;
  }
  Item(const Item& other) noexcept
      : number(other.number), weight(other.weight), is_here(other.is_here) {
    ++alive;
  }
  Item(Item&& other) noexcept
      : number(other.number), weight(other.weight), is_here(std::exchange(other.is_here, false)) {
    ++alive;
  }
  Item& operator=(const Item&) noexcept = default;
  Item& operator=(Item&& other) noexcept {
    number = other.number;
    weight = other.weight;
    is_here = std::exchange(other.is_here, false);
    return *this;
  }
  ~Item() { --alive; }

  std::uint32_t number;
  std::uint32_t weight;
  bool is_here = true;
};

}  // namespace databuffer::reference
