#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "databuffer/clock.hpp"
#include "databuffer/report.hpp"
#include "databuffer/result.hpp"
#include "engine/lock.hpp"

namespace databuffer::detail {

// Who asked a partition to flush, and who waits for it.
//
// Each request gets the next number. The drain notes the last number asked when it begins a pass
// over all slots, before it reads their counts; when that pass has been drained and its last batch
// handled, every request up to the number is done: what was inserted before it was asked is in that
// pass or an earlier one. A pass is bounded by what was there when it began, so nobody's inserts
// can hold a request up.
class FlushRequests {
 public:
  /// One waiting sync_flush. Guarded by the mutex until wait() has returned.
  struct Ticket {
    Ticket() = default;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() {
      if (entered != nullptr) entered->leave(*this);
    }

    std::uint64_t number = 0;
    FlushReport report;
    FlushRequests* entered = nullptr;  // follows the batches of these, until it has waited
  };

  /// Asks for a flush. Any thread.
  std::uint64_t ask() noexcept;

  /// The last number asked. Read before the counts that are to cover it.
  [[nodiscard]] std::uint64_t asked() const noexcept;

  /// The last number done.
  [[nodiscard]] std::uint64_t done() const noexcept;

  /// Whether there is anything to do for a request: asked, and not covered by what has left.
  [[nodiscard]] bool is_open() const noexcept;

  /// Asks, and follows every batch that ends from now on.
  void enter(Ticket& ticket);

  /// Waits until the ticket is done. Returns whether it was, within the deadline (steady clock).
  bool wait(Ticket& ticket, TimePoint deadline);

  /// A batch ended: tells those who wait. Allocates only if somebody does. Consumers only.
  void add_batch(std::size_t items, std::size_t failed_items, FlushResult&& result);

  /// Every request up to `number` is done, but for batches that are held. Consumers only.
  void complete(std::uint64_t number);

  /// A stuck consumer keeps a batch that every request from now on covers: none is done until
  /// release(). Returns what to release. Only while that consumer's batch is under way.
  [[nodiscard]] std::uint64_t hold();
  void release(std::uint64_t held);

 private:
  void leave(Ticket& ticket) noexcept;

  std::atomic<std::uint64_t> asked_{0};  // written by who asks
  void publish() noexcept DATABUFFER_REQUIRES(mutex_);

  std::atomic<std::uint64_t> done_{0};  // written by the consumer, under the mutex
  Mutex mutex_;
  Condition changed_;
  std::atomic<std::uint64_t> completed_{0};  // written under the mutex: done_, were nothing held
  // done_ when each hold began.
  std::vector<std::uint64_t> held_ DATABUFFER_GUARDED_BY(mutex_);
  std::vector<Ticket*> open_ DATABUFFER_GUARDED_BY(mutex_);  // borrowed from the waiters
};

}  // namespace databuffer::detail
