// How a buffer goes away: its threads, and what belongs to the user.
#include <algorithm>
#include <utility>

#include "engine/buffer_core.hpp"
#include "engine/cancellation.hpp"
#include "engine/times.hpp"

namespace databuffer::detail {

void BufferCore::abandon() noexcept {
  if (is_forked()) return;
  const CancellationHeld cancellation;
  if (RoleFrame::works_for(*this)) {
    // One of its own threads: nobody waits. The consumers flush what is pending, or give it up, and
    // end by themselves; each of their threads owns the buffer.
    Closer closer{wait_deadline(options_.close_timeout)};
    enter(closer);
    static_cast<void>(leave(closer));
    is_abandoned_.store(true, std::memory_order_release);  // release: pairs with poll()
    begin_close();
    let_threads_go();
    return;
  }
  // A close that has reached its deadline is not waited for twice.
  if (!has_given_up()) {
    close_by(wait_deadline(options_.close_timeout), true);
  } else {
    give_up_rest();
  }
  if (is_forked()) return;  // A handler or on_drop forked, and this is the child.
  release_user_objects(end_threads());
}

void BufferCore::let_threads_go() noexcept {
  if (watch_ != nullptr) watch_->stop();
  const MutexLock lock(life_mutex_);
  are_threads_over_ = true;
  for (Worker& worker : workers_) worker.thread.detach();
  for (Worker& worker : over_) worker.thread.detach();
  over_.clear();
  if (watch_thread_.joinable()) watch_thread_.detach();
}

// Joins the threads that have ended, if all have by the deadline.
void BufferCore::join_ended(TimePoint deadline) noexcept {
  if (watch_ != nullptr) watch_->stop();
  {
    const MutexLock lock(life_mutex_);
    const auto have_ended = [this]() DATABUFFER_REQUIRES(life_mutex_) {
      return !is_watch_running_ && std::all_of(workers_.begin(), workers_.end(),
                                               [](const Worker& each) { return each.has_ended; });
    };
    if (!wait_for_life(deadline, have_ended)) return;
  }
  static_cast<void>(end_threads());
}

// Leaves the calls that are inside a handler to themselves, and joins all other threads: they are
// on their way out, and wait for nothing but a hook or an on_drop of the user's. Returns whether a
// call was left behind.
bool BufferCore::end_threads() noexcept {
  if (is_forked()) return true;  // The child has none of them.
  if (watch_ != nullptr) watch_->stop();
  bool is_stuck = false;
  if (is_manual()) {
    for (const auto& each : manual_consumers()) {
      if (each->call().disown()) is_stuck = true;
    }
  }
  for (;;) {
    std::thread ending;
    {
      const MutexLock lock(life_mutex_);
      are_threads_over_ = true;
      std::list<Worker>& from = over_.empty() ? workers_ : over_;
      if (from.empty()) {
        ending = std::move(watch_thread_);
        if (!ending.joinable()) return is_stuck;
      } else {
        Worker& worker = from.back();
        const bool is_left = !worker.has_ended && worker.consumer->call().disown();
        if (is_left) worker.thread.detach();
        is_stuck = is_stuck || is_left;
        ending = std::move(worker.thread);
        from.pop_back();
      }
    }
    if (ending.joinable()) ending.join();
  }
}

// Nothing of the user's outlives the front, but what a stuck handler call uses.
void BufferCore::release_user_objects(bool is_stuck) noexcept {
  options_.on_drop = nullptr;
  options_.weigh = nullptr;
  options_.on_thread_start = nullptr;
  options_.on_thread_stop = nullptr;
  parts_.make_handler = nullptr;
  hooks_->clear();
  if (is_manual()) {
    for (const auto& each : manual_consumers()) {
      if (!is_stuck) each->end();
    }
  }
  if (!is_stuck) options_.flush_meta.reset();
}

}  // namespace databuffer::detail
