#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/detail/core.hpp"
#include "databuffer/detail/handler.hpp"
#include "databuffer/detail/inserter.hpp"
#include "databuffer/detail/key_hash.hpp"
#include "databuffer/options.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"
#include "databuffer/telemetry.hpp"

namespace databuffer {

/// Gathers items from many threads into batches and hands each batch to a flush handler when
/// `max_size` items are pending, when the first has waited `flush_interval`, or when asked.
///
///     databuffer::Buffer<Event> events{{.name = "events"}, store};  // store(std::span<Event>)
///     if (events.insert(event) != databuffer::InsertStatus::kAccepted) …  // full, or closed
///
/// Requires    T is nothrow-move-constructible and nothrow-destructible.
/// Ordering    one thread's items keep their order within a partition; nothing else is promised.
/// Threads     every call, from any number at once, unless it says otherwise. Destruction: one.
/// Timeouts    `timeout...` is any one chrono duration, or none for the one in the options. Zero,
///             less, and what is not a number do not wait; kForever has no limit. Real time.
/// Several     a buffer does not move: its threads know it. Emplace it (std::map::try_emplace,
///             std::deque::emplace_back), or use std::unique_ptr. No std::vector<Buffer<T>>.
template <class T>
class Buffer {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                "databuffer: the item type must be movable and destructible without throwing, so "
                "that no item is lost half way");
  static_assert(std::is_same_v<T, std::remove_cvref_t<T>>, "databuffer: the item type is a value");

 public:
  using value_type = T;  ///< The item type.

  /// Starts the buffer; it runs when the constructor returns. `handler` is any callable on
  /// `(Batch<T>&)` or `(std::span<T>)`, optionally with `const FlushContext&` behind, that returns
  /// FlushResult, bool or nothing. With several partitions it is called by several threads at once.
  /// Throws      OptionsError, also for a null handler (a null pointer, an empty std::function,
  ///             whatever else is equal to nullptr); std::system_error if a thread does not start;
  ///             std::bad_alloc.
  template <class H>
  Buffer(Options options, H&& handler)
      : core_(detail::Core::start(std::move(options),
                                  detail::shared_parts<T>(std::forward<H>(handler)))) {}

  /// A buffer with one handler for each partition: `factory(partition_index)` is called on each
  /// consumer thread, and the handler lives and dies there. For a connection for each consumer.
  /// Throws      as the constructor, also for a null factory or a null handler that it returns, and
  ///             what the factory throws.
  template <class F>
  [[nodiscard]] static Buffer per_partition(Options options, F&& factory) {  // NOLINT: it is moved
    return Buffer(
        detail::Core::start(std::move(options), detail::own_parts<T>(std::forward<F>(factory))));
  }

  /// Closes within `Options::close_timeout`, unless close() has. Then nothing of the user's runs or
  /// lives any more, but for handler calls that were stuck at the deadline: each keeps its handler,
  /// its batch and its thread until it returns. A hook or on_drop that is running is waited for.
  /// On a consumer thread of this buffer it does not wait: the consumers flush or give up what is
  /// pending, and end by themselves. No other call may be in progress.
  ~Buffer() { core_->abandon(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Inserts one item, waiting for room for `Options::insert_timeout` (or `timeout`) under kBlock.
  /// Who waits is served in order. On a consumer thread of this buffer, and while a range is read
  /// for an insert here, an insert never waits.
  /// Returns     see InsertStatus. Unless it is kAccepted or kDropped, `item` is untouched.
  /// Throws      what copying an lvalue, Options::weigh or the key's hash throws; then nothing was
  ///             inserted, and `item` is untouched.
  /// Visibility  what the caller did before is visible to the handler.
  /// Cost        accepted without waiting: a queue insert and four stores to memory only this
  ///             thread writes; shared counters once in up to 64 inserts, and another while the
  ///             consumer sleeps; one system call only if it completes a batch for it.
  template <detail::ChronoDuration... D>
  InsertStatus insert(T&& item, D... timeout) {
    return inserter().insert(item, true, saturate(timeout)...);
  }
  /// The same, of a copy of `item`.
  template <detail::ChronoDuration... D>
  InsertStatus insert(const T& item, D... timeout) {
    return insert(T(item), timeout...);
  }

  /// As insert, but never waits for room: where it would have to, it answers kFull.
  [[nodiscard]] InsertStatus try_insert(T&& item) { return inserter().insert(item, false); }
  /// The same, of a copy of `item`.
  [[nodiscard]] InsertStatus try_insert(const T& item) { return try_insert(T(item)); }

  /// As insert, into the partition that belongs to `key`: items of one key keep their order.
  /// The partition is `std::hash<Key>` of the key, mixed, modulo `partitions`. A literal or another
  /// array of characters is the text in it; a pointer to characters does not compile.
  template <class Key, detail::ChronoDuration... D>
  InsertStatus insert_keyed(const Key& key, T&& item, D... timeout) {
    return inserter().insert_keyed(detail::hash_of(key), item, saturate(timeout)...);
  }
  /// The same, of a copy of `item`.
  template <class Key, detail::ChronoDuration... D>
  InsertStatus insert_keyed(const Key& key, const T& item, D... timeout) {
    return insert_keyed(key, T(item), timeout...);
  }

  /// Inserts the items of any input range into one partition, in order and with nothing of other
  /// threads between them. Elements of another type convert as arguments do: implicitly. Items are
  /// moved from an rvalue container (not from a view) and from move iterators, else copied. More
  /// than there is room for goes in as room appears, until the timeout; only then may others' items
  /// come between.
  /// Returns     how many went in, from the front; the others are untouched.
  /// Throws      what the range or a copy throws; the items before it are in.
  template <detail::RangeOf<T> R, detail::ChronoDuration... D>
  InsertBatchResult insert_batch(R&& items, D... timeout) {
    return inserter().insert_range(std::forward<R>(items), saturate(timeout)...);
  }
  /// The same, of items in braces: `insert_batch({first, second})`.
  template <detail::ChronoDuration... D>
  InsertBatchResult insert_batch(std::initializer_list<T> items, D... timeout) {
    return inserter().insert_range(items, saturate(timeout)...);
  }

  /// Starts a flush of everything pending in all partitions, and returns at once.
  void flush() noexcept { core_->flush(); }

  /// Flushes what was inserted before the call, batches in flight included, and waits for it. What
  /// others insert meanwhile cannot hold it up.
  /// Returns     one report for each partition, in order; see CallStatus.
  template <class Rep, class Period>
  std::vector<FlushReport> sync_flush(std::chrono::duration<Rep, Period> timeout) {
    return std::shared_ptr(core_)->sync_flush(saturate(timeout));
  }
  /// The same, for as long as it takes.
  std::vector<FlushReport> sync_flush() { return sync_flush(kForever); }

  /// A copy of all pending items, by partition, in the order of delivery; nothing is removed.
  /// Throws      what a copy throws; std::bad_alloc; ReentrantCall from an item's own constructor.
  [[nodiscard]] std::vector<T> dump() const { return detail::dump<T>(*core_); }

  /// Removes all pending items and returns them, by partition, in the order of delivery. It stops
  /// and leaves the rest pending when memory runs out, or at a partition whose own item calls it.
  /// Throws      std::bad_alloc or ReentrantCall, if it has no item by then.
  [[nodiscard]] std::vector<T> take() { return detail::take<T>(*core_); }

  /// Pending items in all partitions: accepted, and in no handler's hands. A snapshot.
  [[nodiscard]] std::size_t size() const noexcept { return core_->size(); }

  /// A snapshot of each partition, in order.
  [[nodiscard]] std::vector<PartitionInfo> info() const { return core_->info(); }

  /// Where every item went. Exact whenever no call is in progress.
  [[nodiscard]] Ledger ledger() const noexcept { return core_->ledger(); }

  /// Stops accepting (waiting inserts answer kClosed), flushes everything, and returns after
  /// `timeout` at the latest (default: `Options::close_timeout`), plus the time that on_drop takes:
  /// what could not be flushed goes there, once for each partition. (A removal or a hook that is
  /// under way may add two seconds.) Of several calls the latest deadline counts.
  template <class Rep, class Period>
  CloseReport close(std::chrono::duration<Rep, Period> timeout) {
    return std::shared_ptr(core_)->close(saturate(timeout));
  }
  /// The same, within `Options::close_timeout`.
  CloseReport close() { return close(core_->options().close_timeout); }

  /// Hooks on this buffer's events.
  [[nodiscard]] Telemetry telemetry() const noexcept { return core_->telemetry(); }

  /// The options in force.
  [[nodiscard]] const Options& options() const noexcept { return core_->options(); }

  /// `threading = kManual`: does what is due at `now`, at most one batch in each partition, and
  /// returns when it next wants to run: `now` if there is more to do, TimePoint::max() if only an
  /// insert or a call can bring work. Handlers run inside. One thread at a time; another gets
  /// `now`. While that thread lives, sync_flush() and close() elsewhere wait for it to do the work.
  /// With kOwn it does nothing and returns TimePoint::max().
  TimePoint do_work(TimePoint now) { return std::shared_ptr(core_)->do_work(now); }

  /// `threading = kManual`: what the last do_work returned, or an earlier time if a batch has been
  /// completed, a flush asked for or close begun since.
  [[nodiscard]] TimePoint next_deadline() const noexcept { return core_->next_deadline(); }

 private:
  explicit Buffer(std::shared_ptr<detail::Core> core) noexcept : core_(std::move(core)) {}

  [[nodiscard]] detail::Inserter<T> inserter() const noexcept {
    return detail::Inserter<T>(*core_);
  }

  std::shared_ptr<detail::Core> core_;  // shared with the consumer threads, which may outlive us
};

}  // namespace databuffer
