#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "databuffer/detail/source.hpp"
#include "engine/buffer_core.hpp"

namespace databuffer::detail {

/// The oldest items, removed to make room; they go to on_drop when this ends, come what may.
class BufferCore::GivenUp {
 public:
  GivenUp(BufferCore& buffer, Partition& partition)
      : buffer_(buffer), partition_(partition), cargo_(partition.lane->make_cargo()) {}
  ~GivenUp() {
    if (cargo_ != nullptr) hand_over();
  }
  GivenUp(const GivenUp&) = delete;
  GivenUp& operator=(const GivenUp&) = delete;
  /// on_drop, which may end this thread: so not from the destructor, if nothing is thrown.
  void hand_over() {
    const std::unique_ptr<Cargo> items = std::move(cargo_);
    if (items == nullptr) return;
    DropInfo info;
    info.reason = DropReason::kOldest;
    buffer_.drop(partition_, items->data(), items->size(), info);
  }
  [[nodiscard]] Cargo& cargo() noexcept { return *cargo_; }
  [[nodiscard]] const Partition& partition() const noexcept { return partition_; }

 private:
  BufferCore& buffer_;
  Partition& partition_;
  std::unique_ptr<Cargo> cargo_;
};

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
  std::size_t weight = 0;  // of the next item, where there are limits by weight
  // Room that was taken for the next items, and by weight for the first. 0, though there is room:
  // one item, that goes in at once.
  std::size_t room = 0;
  bool is_nested = false;               // met a slot that this very thread is inside of
  std::optional<TimePoint> deadline{};  // of the wait, once it has begun; steady clock
  // Of one partition, until all is in: what on_drop inserts must not take the room.
  std::optional<GivenUp> given_up{};

  bool end(InsertStatus how) noexcept {
    status = how;
    return false;
  }
};

}  // namespace databuffer::detail
