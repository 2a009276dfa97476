#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace databuffer::support {

/// call(0), call(1), …, call(count - 1), made when they are read. With `kIsForward` a range that
/// can be walked twice, else one that can be read once and of which nobody knows the length.
/// (Written out: clang 14 cannot use the views of libstdc++ 12.)
template <class Call, bool kIsForward>
class MadeRange {
 public:
  class Iterator {
   public:
    using iterator_concept =
        std::conditional_t<kIsForward, std::forward_iterator_tag, std::input_iterator_tag>;
    using iterator_category = std::input_iterator_tag;
    using value_type = std::decay_t<std::invoke_result_t<const Call&, int>>;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;

    Iterator() = default;
    Iterator(const Call& call, int index) noexcept : call_(&call), index_(index) {}
    value_type operator*() const { return (*call_)(index_); }
    Iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const Iterator& left, const Iterator& right) noexcept {
      return left.index_ == right.index_;
    }

   private:
    const Call* call_ = nullptr;  // borrowed from the range
    int index_ = 0;
  };

  MadeRange(int count, Call call) : count_(count), call_(std::move(call)) {}
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(call_, 0); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(call_, count_); }

 private:
  int count_;
  Call call_;
};

template <class Call>
[[nodiscard]] auto made_forward(int count, Call call) {
  return MadeRange<Call, true>(count, std::move(call));
}

template <class Call>
[[nodiscard]] auto made_one_by_one(int count, Call call) {
  return MadeRange<Call, false>(count, std::move(call));
}

/// Two iterators as a range, with nothing else to it.
template <class Iterator>
struct IteratorRange {
  Iterator first;
  Iterator last;
  [[nodiscard]] Iterator begin() const { return first; }
  [[nodiscard]] Iterator end() const { return last; }
};

template <class Container>
[[nodiscard]] auto move_all(Container& items) {
  return IteratorRange<std::move_iterator<typename Container::iterator>>{
      std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())};
}

}  // namespace databuffer::support
