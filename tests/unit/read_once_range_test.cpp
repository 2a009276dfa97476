// Goal: a range that can be read only once goes in whole, whatever it says of its length, and
// however it says where it ends. Method: one cursor, whose begin() fetches the first row, in each
// form; both as an lvalue and as an rvalue.

#include <doctest/doctest.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::support::ManualBuffer;

namespace {

constexpr int kRows = 5;

/// How a cursor says its length: not at all, by the distance to its end, by size().
enum class Length { kUnknown, kDistance, kSize };

/// Rows 0 … kRows - 1.
template <Length kLength>
class Cursor {
 public:
  class Iterator {
   public:
    using value_type = std::unique_ptr<int>;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Cursor& cursor) noexcept : cursor_(&cursor) {}
    [[nodiscard]] int row() const { return cursor_->row_; }
    value_type operator*() const { return std::make_unique<int>(row()); }
    Iterator& operator++() {
      cursor_->fetch();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& at, std::default_sentinel_t) {
      return at.row() >= kRows;
    }
    friend difference_type operator-(std::default_sentinel_t,
                                     const Iterator& at) requires(kLength != Length::kUnknown) {
      return kRows - at.row();
    }
    friend difference_type operator-(const Iterator& at,
                                     std::default_sentinel_t end) requires(kLength !=
                                                                           Length::kUnknown) {
      return -(end - at);
    }

   private:
    Cursor* cursor_;
  };

  Iterator begin() {
    fetch();
    return Iterator(*this);
  }
  std::default_sentinel_t end() { return {}; }
  /// Rows that are not fetched: all of them, before begin().
  [[nodiscard]] std::size_t size() const requires(kLength == Length::kSize) {
    return static_cast<std::size_t>(kRows - next_);
  }

 private:
  void fetch() { row_ = next_++; }

  int next_ = 0;
  int row_ = 0;
};

template <Length kLength>
void insert_rows(std::size_t capacity) {
  for (const bool is_rvalue : {false, true}) {
    CAPTURE(is_rvalue);
    ManualBuffer<std::unique_ptr<int>> buffer({.max_size = 2, .capacity = capacity});
    Cursor<kLength> cursor;
    const InsertBatchResult result =
        is_rvalue ? buffer->insert_batch(std::move(cursor)) : buffer->insert_batch(cursor);
    const std::size_t expected = capacity < kRows ? capacity : kRows;
    CHECK(result.accepted >= expected);  // What was read ahead is taken, and goes to on_drop.
    std::vector<int> rows;
    for (const auto& item : buffer->take()) rows.push_back(*item);
    CHECK(rows == support::numbers(0, expected));
  }
}

}  // namespace

TEST_SUITE("a range that is read once") {
  TEST_CASE("of unknown length") { insert_rows<Length::kUnknown>(100); }
  TEST_CASE("that knows the distance to its end") { insert_rows<Length::kDistance>(100); }
  TEST_CASE("that knows its size until it is begun") { insert_rows<Length::kSize>(100); }
  TEST_CASE("of which a part finds room") {
    insert_rows<Length::kUnknown>(3);
    insert_rows<Length::kDistance>(3);
    insert_rows<Length::kSize>(3);
  }
}
