#include "engine/flush_requests.hpp"

#include <utility>

namespace databuffer::detail {

std::uint64_t FlushRequests::ask() noexcept {
  // acq_rel: release publishes to the consumer what the caller inserted before.
  return asked_.fetch_add(1, std::memory_order_acq_rel) + 1;
}

std::uint64_t FlushRequests::asked() const noexcept {
  return asked_.load(std::memory_order_acquire);  // acquire: pairs with ask()
}

std::uint64_t FlushRequests::done() const noexcept {
  return done_.load(std::memory_order_acquire);  // acquire: pairs with complete()
}

void FlushRequests::enter(Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  open_.push_back(&ticket);
  ticket.entered = this;
  ticket.number = ask();
}

bool FlushRequests::wait(Ticket& ticket, TimePoint deadline) {
  std::unique_lock lock(mutex_);
  const auto is_done = [&] { return done() >= ticket.number; };
  if (deadline == TimePoint::max()) {
    changed_.wait(lock, is_done);
  } else {
    changed_.wait_until(lock, deadline, is_done);
  }
  std::erase(open_, &ticket);
  ticket.entered = nullptr;
  return is_done();
}

// An exception ended the call before it waited.
void FlushRequests::leave(Ticket& ticket) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(open_, &ticket);
}

void FlushRequests::add_batch(std::size_t items, FlushResult&& result) {
  // Results that the tickets let go of, or do not want: they hold the user's values, and end
  // outside the lock.
  std::vector<std::shared_ptr<const FlushResult>> replaced;
  std::shared_ptr<const FlushResult> shared;
  const std::lock_guard lock(mutex_);
  if (open_.empty()) return;
  replaced.reserve(open_.size());
  shared = std::make_shared<const FlushResult>(std::move(result));
  for (Ticket* const ticket : open_) {
    FlushReport& report = ticket->report;
    ++report.batches;
    report.items += items;
    if (!shared->is_ok()) report.failed_items += items;
    if (report.result != nullptr && !report.result->is_ok()) continue;  // The first failure stays.
    replaced.push_back(std::exchange(report.result, shared));
  }
}

void FlushRequests::complete(std::uint64_t number) {
  if (number <= done()) return;
  const std::lock_guard lock(mutex_);
  // release: pairs with done(): the batches' effects are seen by who reads the number.
  done_.store(number, std::memory_order_release);
  changed_.notify_all();
}

}  // namespace databuffer::detail
