#pragma once

#include <cstddef>
#include <exception>
#include <optional>

#include "databuffer/detail/source.hpp"
#include "engine/buffer_core.hpp"

namespace databuffer::detail {

/// One call of the insert family, and how far it has come.
struct BufferCore::InsertCall {
  Source& source;
  std::size_t count;            // lowered when a range of unknown length ends
  std::size_t partition_index;  // kAnyPartition, until the first of several items is in
  Duration timeout;
  bool may_wait;

  std::size_t accepted = 0;
  InsertStatus status = InsertStatus::kAccepted;
  std::exception_ptr exception{};
  std::size_t weight = 0;               // of the next item, where there are limits by weight
  bool is_nested = false;               // met a slot that this very thread is inside of
  std::optional<TimePoint> deadline{};  // of the wait, once it has begun; steady clock

  bool end(InsertStatus how) noexcept {
    status = how;
    return false;
  }
};

}  // namespace databuffer::detail
