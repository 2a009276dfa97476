#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace databuffer::support {

/// A batch as its handler saw it.
template <class T>
struct HandledBatch {
  std::vector<T> items;  // copies; empty where T cannot be copied
  std::size_t size = 0;
  FlushReason reason = FlushReason::kSize;
  TimePoint at{};
  std::uint64_t batch_id = 0;
  std::size_t partition_index = 0;
  std::size_t waiting_behind = 0;
};

/// A buffer run by hand, with a clock that stands still until told, and all its batches.
///
/// Of the options it sets what a test run by hand needs: threading, clock, a seed; a name if there
/// is none; and no jitter of the interval if it is left at its default.
/// Threads     one.
template <class T>
class ManualBuffer {
 public:
  using Handle = std::function<FlushResult(Batch<T>&, const FlushContext&)>;

  /// `handle` is called for each batch, after it was noted.
  explicit ManualBuffer(Options options = {}, Handle handle = {})
      : handle_(std::move(handle)),
        buffer_(std::make_unique<Buffer<T>>(
            by_hand(std::move(options)), [this](Batch<T>& batch, const FlushContext& context) {
              note(batch, context);
              return handle_ ? handle_(batch, context) : FlushResult::ok();
            })) {}
  ManualBuffer(const ManualBuffer&) = delete;
  ManualBuffer& operator=(const ManualBuffer&) = delete;

  [[nodiscard]] Buffer<T>& operator*() const noexcept { return *buffer_; }
  [[nodiscard]] Buffer<T>* operator->() const noexcept { return buffer_.get(); }
  void destroy() { buffer_.reset(); }

  [[nodiscard]] TimePoint now() const noexcept { return clock_.now(); }
  void advance(Duration by) noexcept { clock_.advance(by); }

  /// One step at the present time.
  TimePoint work() { return buffer_->do_work(now()); }

  /// Steps until nothing more is due at the present time; returns when it next wants to run.
  TimePoint work_all() {
    for (int step = 0; step < kMaxSteps; ++step) {
      if (const TimePoint next = work(); next > now()) return next;
    }
    throw std::logic_error("do_work wants to run for ever at the same time");
  }

  /// Moves the clock, then steps until nothing more is due.
  TimePoint work_after(Duration wait) {
    advance(wait);
    return work_all();
  }

  [[nodiscard]] const std::vector<HandledBatch<T>>& batches() const noexcept { return batches_; }

  [[nodiscard]] std::vector<std::size_t> batch_sizes() const {
    std::vector<std::size_t> sizes;
    for (const HandledBatch<T>& batch : batches_) sizes.push_back(batch.size);
    return sizes;
  }

  /// All items handed over so far, in the order of delivery.
  [[nodiscard]] std::vector<T> handled() const {
    std::vector<T> items;
    for (const HandledBatch<T>& batch : batches_) {
      items.insert(items.end(), batch.items.begin(), batch.items.end());
    }
    return items;
  }

 private:
  static constexpr int kMaxSteps = 100'000;

  Options by_hand(Options options) {
    if (options.name.empty()) options.name = "b";
    if (options.flush_jitter == Options{}.flush_jitter) options.flush_jitter = Duration::zero();
    if (options.seed == 0) options.seed = 1;
    options.threading = Threading::kManual;
    options.clock = &clock_;
    return options;
  }

  void note(Batch<T>& batch, const FlushContext& context) {
    HandledBatch<T>& handled = batches_.emplace_back();
    if constexpr (std::is_copy_constructible_v<T>) {
      handled.items = std::vector<T>(batch.begin(), batch.end());
    }
    handled.size = batch.size();
    handled.reason = context.reason;
    handled.at = now();
    handled.batch_id = context.batch_id;
    handled.partition_index = context.partition_index;
    handled.waiting_behind = context.waiting_behind;
  }

  ManualClock clock_{TimePoint{} + std::chrono::hours{1}};
  std::vector<HandledBatch<T>> batches_;
  Handle handle_;
  std::unique_ptr<Buffer<T>> buffer_;
};

/// first, first + 1, …: `count` numbers.
[[nodiscard]] inline std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> items(count);
  for (std::size_t index = 0; index < count; ++index)
    items[index] = first + static_cast<int>(index);
  return items;
}

}  // namespace databuffer::support
