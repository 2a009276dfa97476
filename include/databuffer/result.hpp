#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "databuffer/clock.hpp"

namespace databuffer {

enum class [[nodiscard("a refused item is still the caller's")]] InsertStatus : std::uint8_t;

/// What became of an insert. Only kAccepted and kDropped take the item; in every other case it was
/// refused: it stays with the caller, untouched, and the ledger counts the refusal.
enum class InsertStatus : std::uint8_t {
  kAccepted,  ///< The item will reach exactly one end of the ledger.
  kFull,  ///< No room, or others wait for it, and this call does not wait (or may not: a consumer
          ///< thread, or the thread that drives a kManual buffer, would wait for itself).
  kTimedOut,  ///< No room appeared within the timeout.
  kClosed,    ///< close() has begun, or this process is a fork of the buffer's.
  kDropped,   ///< No room, and `overflow = kDropNewest`: the item was taken and given to on_drop.
              ///< Under kDropOldest, too, where no oldest can be given up: others remove items, and
              ///< still do after 10 ms or the timeout of an insert that waits; inserts under way
              ///< have taken all room; or an item's own move or constructor calls.
  kNoMemory,  ///< The queue could not allocate.
};

[[nodiscard]] std::string_view to_string(InsertStatus status) noexcept;

/// What became of an insert_batch: the first `accepted` items of the range were taken, in order;
/// the others are untouched. `status` is kAccepted when all are in the buffer, kDropped when all
/// were taken and the last of them given to on_drop, else why the others were refused.
struct [[nodiscard("the items that were refused are still the caller's")]] InsertBatchResult {
  InsertStatus status = InsertStatus::kAccepted;
  std::size_t accepted = 0;

  friend bool operator==(const InsertBatchResult&, const InsertBatchResult&) = default;
};

/// dump() or take() was called on a thread that is moving items of that very partition: from an
/// item's own constructor or destructor, where it would wait for itself.
class [[gnu::visibility("default")]] ReentrantCall : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

enum class FlushStatus : std::uint8_t {
  kOk,      ///< The batch is done: its items count as flushed.
  kFailed,  ///< The batch is given up: its items go to on_drop and count as failed.
  kRetry,   ///< Not yet: try again, as `Options::retry` allows; after the last attempt as kFailed.
};

[[nodiscard]] std::string_view to_string(FlushStatus status) noexcept;

/// What a flush handler answers: done, failed or to be retried, with a message and, for sync_flush,
/// a value. A failed or retry result may name the items it is about: the others are done.
class FlushResult {
 public:
  /// Done, with nothing to say.
  FlushResult() = default;

  /// Done; `value` reaches the caller of sync_flush.
  [[nodiscard]] static FlushResult ok(std::any value = {}) {
    return FlushResult(FlushStatus::kOk, {}, std::move(value));
  }

  /// Given up, because of `message`.
  [[nodiscard]] static FlushResult failed(std::string message, std::any value = {}) {
    return FlushResult(FlushStatus::kFailed, std::move(message), std::move(value));
  }

  /// To be tried again, because of `message`; not before `after` has passed, if the other side said
  /// so (it may be longer than the back-off, never shorter).
  [[nodiscard]] static FlushResult retry(std::string message, Duration after = Duration::zero()) {
    FlushResult result(FlushStatus::kRetry, std::move(message), {});
    result.retry_after_ = after;
    return result;
  }

  /// Names the items that failed, by their index in the batch: only these are retried or dropped,
  /// in their order; the others count as flushed. Indices out of range and repeated ones are
  /// ignored; none that is left means all. Returns *this.
  FlushResult& only_items(std::vector<std::size_t> indices) & {
    items_ = std::move(indices);
    return *this;
  }
  FlushResult&& only_items(std::vector<std::size_t> indices) && {
    items_ = std::move(indices);
    return std::move(*this);
  }

  [[nodiscard]] FlushStatus status() const noexcept { return status_; }
  [[nodiscard]] bool is_ok() const noexcept { return status_ == FlushStatus::kOk; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  [[nodiscard]] const std::any& value() const noexcept { return value_; }
  [[nodiscard]] Duration retry_after() const noexcept { return retry_after_; }
  [[nodiscard]] const std::vector<std::size_t>& items() const noexcept { return items_; }

 private:
  FlushResult(FlushStatus status, std::string message, std::any value)
      : status_(status), message_(std::move(message)), value_(std::move(value)) {}

  FlushStatus status_ = FlushStatus::kOk;
  std::string message_;
  std::any value_;
  Duration retry_after_{};
  std::vector<std::size_t> items_;  // empty: all
};

}  // namespace databuffer
