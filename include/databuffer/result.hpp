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

namespace detail {
class Flusher;
}

enum class [[nodiscard("a refused item is still the caller's")]] InsertStatus : std::uint8_t;

/// What became of an insert. Only kAccepted and kDropped take the item; in every other case it was
/// refused: it stays with the caller, untouched, and the ledger counts the refusal.
enum class InsertStatus : std::uint8_t {
  kAccepted,  ///< The item will reach exactly one end of the ledger.
  kFull,  ///< No room, or others wait for it, and this call does not wait (or may not: a consumer
          ///< thread, or the thread that drives a kManual buffer, would wait for itself).
  kTimedOut,  ///< No room appeared within the timeout, which may have been 0.
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
  InsertStatus status = InsertStatus::kAccepted;  ///< Why it stopped; see above.
  std::size_t accepted = 0;                       ///< Items taken, from the front.

  /// Whether both are equal.
  friend bool operator==(const InsertBatchResult&, const InsertBatchResult&) = default;
};

/// dump() or take() was called on a thread that is moving items of that very partition: from an
/// item's own constructor or destructor, where it would wait for itself.
class [[gnu::visibility("default")]] ReentrantCall : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What a handler wants done with a batch, or an item of it.
enum class FlushStatus : std::uint8_t {
  kOk,      ///< The batch is done: its items count as flushed.
  kFailed,  ///< The batch is given up: its items go to on_drop and count as failed.
  kRetry,   ///< Not yet: try again, as `Options::retry` allows; after the last attempt as kFailed.
};

[[nodiscard]] std::string_view to_string(FlushStatus status) noexcept;

/// What a handler says of one item of its batch.
struct ItemResult {
  std::size_t index = 0;                      ///< In the batch that the handler was called with.
  FlushStatus status = FlushStatus::kFailed;  ///< kFailed or kRetry.
  std::string message;                        ///< Empty: the whole result's.
};

/// What a flush handler answers: done, failed or to be retried, with a message and, for sync_flush,
/// a value. It may name items, each failed or to be retried, with a reason; then the others are
/// done:
///
///     FlushResult result = FlushResult::ok();
///     result.fail_item(3, "breaks a constraint");  // to on_drop at once
///     result.retry_item(7, "locked", 50ms);        // tried again, as Options::retry allows
///
/// Indices out of range are ignored, but for the pause and the message that came with them; of an
/// item that is named twice the first word counts. Where no named item is left, the result is about
/// all.
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

  /// Names an item that failed for good: it goes to on_drop at once, and is not isolated any more.
  /// Returns *this, as all of these.
  FlushResult& fail_item(std::size_t index, std::string message) & {
    return name_item({index, FlushStatus::kFailed, std::move(message)});
  }
  /// The same, of a temporary.
  FlushResult&& fail_item(std::size_t index, std::string message) && {
    return std::move(fail_item(index, std::move(message)));
  }

  /// Names an item to be tried again. All of them are, in one call, in their order, when the
  /// longest `after` has passed.
  FlushResult& retry_item(std::size_t index, std::string message,
                          Duration after = Duration::zero()) & {
    if (after > retry_after_) retry_after_ = after;
    return name_item({index, FlushStatus::kRetry, std::move(message)});
  }
  /// The same, of a temporary.
  FlushResult&& retry_item(std::size_t index, std::string message,
                           Duration after = Duration::zero()) && {
    return std::move(retry_item(index, std::move(message), after));
  }

  /// Names the items that a failed or retry result is about, all at once, in place of any before.
  FlushResult& only_items(const std::vector<std::size_t>& indices) & {
    items_.clear();
    for (const std::size_t index : indices) items_.push_back({index, status_, {}});
    return *this;
  }
  /// The same, of a temporary.
  FlushResult&& only_items(const std::vector<std::size_t>& indices) && {
    return std::move(only_items(indices));
  }

  /// kRetry if anything is to be tried again, else kFailed if anything failed.
  [[nodiscard]] FlushStatus status() const noexcept { return status_; }
  /// Whether nothing failed and nothing is to be tried again.
  [[nodiscard]] bool is_ok() const noexcept { return status_ == FlushStatus::kOk; }
  /// The whole's, or else that of the item named first.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// What ok() or failed() was given; empty: nothing.
  [[nodiscard]] const std::any& value() const noexcept { return value_; }
  /// The least pause before the next attempt.
  [[nodiscard]] Duration retry_after() const noexcept { return retry_after_; }
  /// The items named; none: all. After the handler's return in no particular order.
  [[nodiscard]] const std::vector<ItemResult>& items() const noexcept { return items_; }

 private:
  friend class detail::Flusher;

  FlushResult(FlushStatus status, std::string message, std::any value)
      : status_(status), message_(std::move(message)), value_(std::move(value)) {}

  FlushResult& name_item(ItemResult item) {
    if (message_.empty()) message_ = item.message;
    if (status_ != FlushStatus::kRetry) status_ = item.status;
    items_.push_back(std::move(item));
    return *this;
  }

  FlushStatus status_ = FlushStatus::kOk;
  std::string message_;
  std::any value_;
  Duration retry_after_{};
  std::vector<ItemResult> items_;  // empty: all
};

}  // namespace databuffer
