#pragma once

#include <functional>
#include <stdexcept>
#include <utility>

namespace databuffer::support {

/// An item that counts what is done to it. Threads: one.
struct CountedItem {
  static inline int copies = 0;
  static inline int moves = 0;
  static inline int alive = 0;
  static void reset() noexcept { copies = moves = alive = 0; }

  explicit CountedItem(int item_value) noexcept : value(item_value) { ++alive; }
  CountedItem(const CountedItem& other) noexcept : value(other.value) {
    ++copies;
    ++alive;
  }
  CountedItem(CountedItem&& other) noexcept : value(std::exchange(other.value, kMovedFrom)) {
    ++moves;
    ++alive;
  }
  CountedItem& operator=(const CountedItem& other) noexcept {
    value = other.value;
    ++copies;
    return *this;
  }
  CountedItem& operator=(CountedItem&& other) noexcept {
    value = std::exchange(other.value, kMovedFrom);
    ++moves;
    return *this;
  }
  ~CountedItem() { --alive; }

  static constexpr int kMovedFrom = -1;
  int value;
};

/// An item whose copy throws once `copies_left` is used up. Threads: one.
struct CopyThrows {
  static constexpr int kNever = 1'000'000;
  static inline int copies_left = kNever;
  static inline int alive = 0;

  explicit CopyThrows(int item_value) noexcept : value(item_value) { ++alive; }
  CopyThrows(const CopyThrows& other) : value(other.value) {
    if (copies_left == 0) throw std::runtime_error("no more copies");
    --copies_left;
    ++alive;
  }
  CopyThrows(CopyThrows&& other) noexcept : value(other.value) { ++alive; }
  CopyThrows& operator=(const CopyThrows&) = delete;
  ~CopyThrows() { --alive; }

  int value;
};

/// An item that calls back whenever it is moved and destroyed. Threads: one.
struct CallingItem {
  static inline std::function<void(int value)> on_move;
  static inline std::function<void(int value)> on_destroy;
  static void reset() noexcept {
    on_move = nullptr;
    on_destroy = nullptr;
  }

  explicit CallingItem(int item_value) noexcept : value(item_value) {}
  CallingItem(CallingItem&& other) noexcept : value(std::exchange(other.value, kMovedFrom)) {
    if (on_move && value != kMovedFrom) on_move(value);
  }
  CallingItem(const CallingItem&) = default;
  CallingItem& operator=(const CallingItem&) = delete;
  ~CallingItem() {
    if (on_destroy && value != kMovedFrom) on_destroy(value);
  }

  static constexpr int kMovedFrom = -1;
  int value;
};

}  // namespace databuffer::support
