#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "databuffer/clock.hpp"
#include "databuffer/report.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

/// One consumer's handler call, as the watch and close see it. All under its mutex.
///
///   idle ──begin──► inside the handler ──leave──► returned ──end──► idle
///
/// A buffer that gives up bars further calls; one that goes away disowns the call that is inside.
class HandlerCall {
 public:
  /// A call begins; returns its stop token, which is never set if there is no memory for a new one.
  /// Nothing if calls are barred. Consumer.
  std::optional<std::stop_token> begin(TimePoint now, std::uint64_t batch_id,
                                       std::size_t items) noexcept;

  /// The handler has returned. Returns whether the buffer is still there; if not, the consumer may
  /// run nothing of the user's any more, and drops its batch silently. Consumer.
  [[nodiscard]] bool leave() noexcept;

  /// From now on no call begins.
  void bar() noexcept;

  /// The buffer goes away. Returns whether a call is inside the handler: it is left behind.
  [[nodiscard]] bool disown() noexcept;

  [[nodiscard]] bool is_inside() const noexcept;

  /// Takes the consumer's partition away if that call is inside the handler, after calling
  /// `prepare` with the call held still. Returns whether it did.
  [[nodiscard]] bool retire(std::uint64_t batch_id, const std::function<void()>& prepare);
  [[nodiscard]] bool is_retired() const noexcept {
    return is_retired_.load(std::memory_order_acquire);  // acquire: pairs with retire()
  }

  struct Ended {
    Duration duration{};
    bool was_reported = false;  // as overdue
  };
  /// The call is over. Consumer, after leave().
  Ended end(TimePoint now) noexcept;

  struct Overdue {
    std::uint64_t batch_id = 0;
    std::size_t items = 0;
    Duration duration{};
    std::stop_source stop{
        std::nostopstate};  // to be set outside the lock: it runs the user's callbacks
  };
  /// Whether the call is overdue and was not reported yet; then it is now. Any thread, until end().
  bool report_overdue(TimePoint now, Duration limit, Overdue& overdue);

  /// The batch of a call that is inside the handler, was reported, and has its consumer still.
  [[nodiscard]] std::optional<std::uint64_t> overdue_batch() const noexcept;

  /// When the running call will be overdue; "never" if none runs or it has been reported.
  [[nodiscard]] TimePoint due(Duration limit) const;

  /// Fills in is_flushing, is_overdue, flushing_for, since_last_flush, last_flush_duration.
  void describe(TimePoint now, PartitionInfo& info) const;

  explicit HandlerCall(TimePoint now) : ended_(now) {}

 private:
  void renew_stop_source() noexcept DATABUFFER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::stop_source stop_ DATABUFFER_GUARDED_BY(mutex_);  // the current call's; a new one after use
  enum class Phase : std::uint8_t { kIdle, kInside, kReturned };
  Phase phase_ DATABUFFER_GUARDED_BY(mutex_) = Phase::kIdle;
  bool is_barred_ DATABUFFER_GUARDED_BY(mutex_) = false;
  bool is_disowned_ DATABUFFER_GUARDED_BY(mutex_) = false;
  bool is_reported_ DATABUFFER_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_retired_{false};  // written under the mutex, while the call runs
  TimePoint began_ DATABUFFER_GUARDED_BY(mutex_){};
  // Of the last call that returned, or the start.
  TimePoint ended_ DATABUFFER_GUARDED_BY(mutex_);
  Duration last_duration_ DATABUFFER_GUARDED_BY(mutex_){};
  std::uint64_t batch_id_ DATABUFFER_GUARDED_BY(mutex_) = 0;
  std::size_t items_ DATABUFFER_GUARDED_BY(mutex_) = 0;
};

/// Watches a buffer's handler calls, on a thread of its own, and has each overdue one reported
/// once.
///
/// It sleeps until the earliest running call would be overdue. When it finds none running it goes
/// dormant: it sleeps without a timer until a call begins. Once woken by a call it stays up for a
/// flush_timeout, even if that call has returned. So a busy buffer's calls wake it once in a
/// flush_timeout, whatever their number, and an idle one's never.
class OverdueWatch {
 public:
  using Report = std::function<void(std::size_t partition_index, HandlerCall::Overdue&)>;
  using CallOf = std::function<std::shared_ptr<HandlerCall>(std::size_t partition_index)>;

  OverdueWatch(const Clock& clock, Duration flush_timeout, std::size_t partition_count,
               CallOf call_of, Report report)
      : clock_(clock),
        flush_timeout_(flush_timeout),
        partition_count_(partition_count),
        call_of_(std::move(call_of)),
        report_(std::move(report)) {}

  /// The thread's body; returns after stop().
  void run();
  void stop();

  /// A call has begun (HandlerCall::begin has returned). Consumers.
  void notice_call();

 private:
  [[nodiscard]] TimePoint report_all();

  const Clock& clock_;
  const Duration flush_timeout_;
  const std::size_t partition_count_;
  const CallOf call_of_;  // the call of the partition's consumer, which may change
  const Report report_;

  Mutex mutex_;
  Condition changed_;
  bool is_stopping_ DATABUFFER_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_dormant_{false};  // written under the mutex; read by consumers
};

}  // namespace databuffer::detail
