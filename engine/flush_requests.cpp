#include "engine/flush_requests.hpp"

#include <algorithm>
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

bool FlushRequests::is_open() const noexcept {
  return asked() > completed_.load(std::memory_order_relaxed);  // relaxed: its writer asks
}

void FlushRequests::enter(Ticket& ticket) {
  const MutexLock lock(mutex_);
  open_.push_back(&ticket);
  ticket.entered = this;
  ticket.number = ask();
}

bool FlushRequests::wait(Ticket& ticket, TimePoint deadline) {
  const MutexLock lock(mutex_);
  const auto is_done = [&] { return done() >= ticket.number; };
  if (deadline == TimePoint::max()) {
    changed_.wait(mutex_, is_done);
  } else {
    changed_.wait_until(mutex_, deadline, is_done);
  }
  std::erase(open_, &ticket);
  ticket.entered = nullptr;
  return is_done();
}

// An exception ended the call before it waited.
void FlushRequests::leave(Ticket& ticket) noexcept {
  const MutexLock lock(mutex_);
  std::erase(open_, &ticket);
}

void FlushRequests::add_batch(std::size_t items, std::size_t failed_items, FlushResult&& result) {
  // Results that the tickets let go of, or do not want: they hold the user's values, and end
  // outside the lock.
  std::vector<std::shared_ptr<const FlushResult>> replaced;
  std::shared_ptr<const FlushResult> shared;
  const MutexLock lock(mutex_);
  if (open_.empty()) return;
  replaced.reserve(open_.size());
  shared = std::make_shared<const FlushResult>(std::move(result));
  for (Ticket* const ticket : open_) {
    FlushReport& report = ticket->report;
    ++report.batches;
    report.items += items;
    report.failed_items += failed_items;
    if (report.result != nullptr && !report.result->is_ok()) continue;  // The first failure stays.
    replaced.push_back(std::exchange(report.result, shared));
  }
}

void FlushRequests::complete(std::uint64_t number) {
  // relaxed: only consumers write it, and of two at once the mutex decides below.
  if (number <= completed_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mutex_);
  completed_.store(std::max(number, completed_.load(std::memory_order_relaxed)),
                   std::memory_order_relaxed);
  publish();
}

std::uint64_t FlushRequests::hold() {
  const MutexLock lock(mutex_);
  held_.push_back(done());
  return held_.back();
}

void FlushRequests::release(std::uint64_t held) {
  const MutexLock lock(mutex_);
  held_.erase(std::find(held_.begin(), held_.end(), held));
  publish();
}

void FlushRequests::publish() noexcept {
  std::uint64_t number = completed_.load(std::memory_order_relaxed);  // relaxed: by the mutex
  for (const std::uint64_t held : held_) number = std::min(number, held);
  if (number <= done()) return;
  // release: pairs with done(): the batches' effects are seen by who reads the number.
  done_.store(number, std::memory_order_release);
  changed_.notify_all();
}

}  // namespace databuffer::detail
