#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>

#include "databuffer/detail/cargo.hpp"
#include "databuffer/detail/core.hpp"
#include "databuffer/detail/forced_unwind.hpp"
#include "databuffer/detail/lane.hpp"

namespace databuffer::detail {

/// One item, moved from only when it is taken.
template <class T>
class ItemSource final : public Source {
 public:
  explicit ItemSource(T& item) noexcept : item_(std::addressof(item)) {}

  [[nodiscard]] bool is_ready() const noexcept override { return true; }

  [[nodiscard]] std::size_t weight(const Weigh& weigh, std::size_t) const override {
    return weigh(item_);
  }

  [[nodiscard]] std::size_t push(Slot& slot, std::size_t) noexcept override {
    return static_cast<LaneSlot<T>&>(slot).push(std::move(*item_)) ? 1 : 0;
  }

  std::size_t give(std::size_t, Cargo& cargo) override {
    cargo.reserve(1);
    static_cast<CargoOf<T>&>(cargo).construct(std::move(*item_));
    return 1;
  }

 private:
  T* item_;  // borrowed from the caller
};

/// Whether the queue may read the range itself: items of T in contiguous memory that says where it
/// ends, and a constructor that cannot throw, so that nothing of the user's runs half way.
template <class T, class Iterator, class Sentinel>
concept DirectRange =
    std::sized_sentinel_for<Sentinel, Iterator> &&
    (std::contiguous_iterator<Iterator> ||
     requires(Iterator it) {
       requires std::contiguous_iterator<typename Iterator::iterator_type>;
       requires std::same_as<Iterator, std::move_iterator<typename Iterator::iterator_type>>;
     }) &&
    std::same_as<std::iter_value_t<Iterator>,
                 T>&& std::is_nothrow_constructible_v<T, std::iter_reference_t<Iterator>>;

/// The items of a range, from front to back.
template <class T, class Iterator, class Sentinel>
class RangeSource final : public Source {
 public:
  RangeSource(Iterator first, Sentinel last) : at_(std::move(first)), last_(std::move(last)) {}

  // Constructs the items first and claims them then, so that whatever the range or a constructor
  // throws, the queue has either an item or never heard of it.
  Prepared prepare(std::size_t count) override {
    if constexpr (DirectRange<T, Iterator, Sentinel>) {
      const auto left = static_cast<std::size_t>(last_ - at_);
      return {.count = left < count ? left : count, .is_exhausted = left == 0};
    }
    Prepared prepared;
    if (count <= kReserveItems) static_cast<void>(make_room(count));
    try {
      while (gathered_.size() < count && at_ != last_) {
        prepared.has_no_memory = !make_room(1);
        if (prepared.has_no_memory) break;
        gathered_.construct(*at_);
        ++at_;
      }
      prepared.is_exhausted = at_ == last_;
    } catch (const ForcedUnwind&) {
      throw;
    } catch (...) {
      prepared.exception = std::current_exception();
    }
    prepared.count = gathered_.size() < count ? gathered_.size() : count;
    return prepared;
  }

  [[nodiscard]] std::size_t weight(const Weigh& weigh, std::size_t index) const override {
    if constexpr (DirectRange<T, Iterator, Sentinel>) {
      auto&& item = at_[static_cast<std::iter_difference_t<Iterator>>(index)];  // not moved by this
      return weigh(std::addressof(item));
    } else {
      return weigh(gathered_.items() + index);
    }
  }

  [[nodiscard]] std::size_t push(Slot& slot, std::size_t count) noexcept override {
    auto& lane_slot = static_cast<LaneSlot<T>&>(slot);
    std::size_t pushed = 0;
    if constexpr (DirectRange<T, Iterator, Sentinel>) {
      pushed = lane_slot.push_bulk(at_, count);
      at_ += static_cast<std::iter_difference_t<Iterator>>(pushed);
    } else {
      pushed = lane_slot.push_bulk(std::move_iterator<T*>(gathered_.items()), count);
      gathered_.discard_front(pushed);  // moved from
    }
    return pushed;
  }

  [[nodiscard]] std::size_t ahead() const noexcept override { return gathered_.size(); }

  [[nodiscard]] Cargo* stranded() noexcept override {
    // A range that can be read again and was copied still has them.
    constexpr bool kHasCopies = std::forward_iterator<Iterator> &&
                                std::is_lvalue_reference_v<std::iter_reference_t<Iterator>>;
    return kHasCopies || gathered_.size() == 0 ? nullptr : &gathered_;
  }

  std::size_t give(std::size_t count, Cargo& cargo) override {
    auto& to = static_cast<CargoOf<T>&>(cargo);
    std::size_t given = gathered_.size() < count ? gathered_.size() : count;
    to.reserve(given);
    gathered_.move_front(given, to);
    for (; given < count && at_ != last_; ++at_, ++given) {
      to.reserve(1);
      to.construct(*at_);
    }
    return given;
  }

 private:
  // Returns whether there is room for so many more. Only an item's own std::bad_alloc is an
  // exception to the caller.
  [[nodiscard]] bool make_room(std::size_t count) noexcept {
    try {
      gathered_.reserve(count);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // Reserved at once up to here; more grows as the items come.
  static constexpr std::size_t kReserveItems = 65536;

  Iterator at_;
  Sentinel last_;
  CargoOf<T> gathered_;  // constructed, not yet in the queue
};

}  // namespace databuffer::detail
