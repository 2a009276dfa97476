// The consumers' threads: how they start, end, and are replaced when one is stuck.
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "databuffer/detail/forced_unwind.hpp"
#include "engine/buffer_core.hpp"
#include "engine/own_thread.hpp"
#include "engine/thread_id.hpp"
#include "engine/thread_name.hpp"

namespace databuffer::detail {

std::shared_ptr<Consumer> BufferCore::make_consumer(std::size_t partition_index) {
  return std::make_shared<Consumer>(*this, *partitions_[partition_index], seeds_());
}

std::shared_ptr<Consumer> BufferCore::consumer(std::size_t partition_index) const noexcept {
  const MutexLock lock(life_mutex_);
  return current_[partition_index];
}

void BufferCore::launch() {
  if (is_manual()) {
    creator_ = this_thread_id();
    for (std::size_t index = 0; index < partitions_.size(); ++index) {
      manual_consumers()[index]->set_handler(parts_.make_handler(index));
      manual_consumers()[index]->prepare();
    }
    return;
  }
  std::size_t consumer_count = 0;
  std::exception_ptr failure;
  try {
    const MutexLock lock(life_mutex_);
    for (; consumer_count < partitions_.size(); ++consumer_count) {
      const std::shared_ptr<Consumer>& own = current_[consumer_count];
      Worker& worker = workers_.emplace_back();
      worker.consumer = own;
      worker.thread =
          start_thread(&BufferCore::run_consumer, this, consumer_count, own, shared_from_this());
    }
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (!failure && watch_ != nullptr) start_watch();
  } catch (...) {
    failure = std::current_exception();
  }
  await_start(consumer_count, failure);
}

// Waits until every consumer runs. If one does not, stops the others and throws the reason.
void BufferCore::await_start(std::size_t consumer_count, std::exception_ptr failure) {
  {
    const MutexLock lock(life_mutex_);
    while (workers_.size() > consumer_count) workers_.pop_back();  // Its thread did not start.
    life_changed_.wait(
        life_mutex_, [&]() DATABUFFER_REQUIRES(life_mutex_) { return started_ == consumer_count; });
    if (!failure) failure = start_failure_;
  }
  if (!failure) return;
  begin_close();
  static_cast<void>(end_threads());
  std::rethrow_exception(failure);
}

void BufferCore::start_watch() {
  const MutexLock lock(life_mutex_);
  if (are_threads_over_ || watch_thread_.joinable()) return;
  is_watch_running_ = true;
  try {
    watch_thread_ = start_thread(&BufferCore::run_watch, this, shared_from_this());
  } catch (...) {
    is_watch_running_ = false;
    throw;
  }
}

// kManual starts the watch at its first handler call: there may be many such buffers.
void BufferCore::notice_call() noexcept {
  if (watch_ == nullptr) return;
  // relaxed, both: the mutex in start_watch() decides; only the thread that polls comes here.
  if (is_manual() && !has_watch_.load(std::memory_order_relaxed)) {
    has_watch_.store(true, std::memory_order_relaxed);
    try {
      start_watch();
    } catch (...) {
      count_hook_failure();  // No thread: an overdue call is found when it returns.
    }
  }
  watch_->notice_call();
}

void BufferCore::run_consumer(std::size_t partition_index, std::shared_ptr<Consumer> own,
                              [[maybe_unused]] std::shared_ptr<BufferCore> self) {
  // The hooks, the factory and the handler's destructor may call the buffer.
  const RoleFrame role(*this);
  std::exception_ptr failure;
  try {
    prepare_thread(partition_index, *own);
  } catch (...) {
    failure = std::current_exception();
  }
  report_start(failure);
  if (!failure) return run(partition_index, own);
  if (!is_forked()) finish_thread(partition_index, own);
  // `self` goes last: it may be the last owner.
}

// The consumer's work, to its end.
void BufferCore::run(std::size_t partition_index, const std::shared_ptr<Consumer>& own) {
  try {
    if (!is_forked()) own->run();
  } catch (const ForcedUnwind&) {
    // The handler has called pthread_exit: this thread ends, another goes on with the consumer.
    if (is_forked() || own->is_disowned()) throw;
    if (!pass_on(partition_index, own)) {
      own->run();
      finish_thread(partition_index, own);
    }
    throw;
  }
  // The user's code may have forked, and returned in the child: see LiveBuffers.
  if (!is_forked()) finish_thread(partition_index, own);
}

// Returns false where there is no new thread, or where close() waits for this one: then it goes on.
bool BufferCore::pass_on(std::size_t partition_index,
                         const std::shared_ptr<Consumer>& own) noexcept {
  const MutexLock lock(life_mutex_);
  const auto worker = std::find_if(workers_.begin(), workers_.end(),
                                   [&](const Worker& each) { return each.consumer == own; });
  if (worker == workers_.end()) return false;
  try {
    std::thread next = start_thread(
        [this, partition_index, own](const std::shared_ptr<BufferCore>& /*self*/) {
          const RoleFrame role(*this);  // As in run_consumer().
          run(partition_index, own);
        },
        shared_from_this());
    if (worker->thread.joinable()) {
      worker->thread.detach();
      worker->thread = std::move(next);
    } else {
      next.detach();  // let_threads_go()
    }
    return true;
  } catch (...) {
    hooks_->count_failure();  // No thread, or no memory.
    return false;
  }
}

void BufferCore::run_watch([[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  const RoleFrame role(*this);  // Hooks on `overdue` run here.
  name_this_thread(options_.name, "watch");
  watch_->run();
  const MutexLock lock(life_mutex_);
  is_watch_running_ = false;
  life_changed_.notify_all();
}

void BufferCore::prepare_thread(std::size_t partition_index, Consumer& consumer) {
  name_this_thread(options_.name, std::to_string(partition_index));
  // Naps are shorter than the default slack of 50 µs.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  if (options_.on_thread_start) options_.on_thread_start(partition_index);
  consumer.set_handler(parts_.make_handler(partition_index));
}

void BufferCore::finish_thread(std::size_t partition_index,
                               const std::shared_ptr<Consumer>& own) noexcept {
  own->end();
  if (is_forked()) return;
  if (own->is_disowned()) return;  // The front is gone, and with it the user's functions.
  try {
    if (options_.on_thread_stop) options_.on_thread_stop(partition_index);
  } catch (...) {
    count_hook_failure();
  }
  if (is_forked()) return;
  std::list<Worker> before;  // They have ended, or are about to.
  {
    const MutexLock lock(life_mutex_);
    const auto worker = std::find_if(workers_.begin(), workers_.end(),
                                     [&](const Worker& each) { return each.consumer == own; });
    life_changed_.notify_all();
    if (worker == workers_.end()) return;  // It is being joined, or was let go.
    worker->has_ended = true;
    if (current_[partition_index] == own) return;
    // Nobody waits for a consumer that was replaced, or was not needed: the next such one joins it.
    if (worker->thread.joinable()) {
      before.swap(over_);
      over_.splice(over_.end(), workers_, worker);
    } else {
      workers_.erase(worker);
    }
  }
  for (Worker& ended : before) ended.thread.join();
}

void BufferCore::report_start(std::exception_ptr failure) noexcept {
  const MutexLock lock(life_mutex_);
  ++started_;
  if (failure && !start_failure_) start_failure_ = std::move(failure);
  life_changed_.notify_all();
}

void BufferCore::report_overdue(std::size_t partition_index, HandlerCall::Overdue& overdue) {
  // relaxed: see ItemCounts.
  partitions_[partition_index]->counts.overdue_batches.fetch_add(1, std::memory_order_relaxed);
  overdue.stop.request_stop();
  TelemetryEvent event;
  event.event = Event::kOverdue;
  event.partition_index = partition_index;
  event.batch_id = overdue.batch_id;
  event.size = overdue.items;
  event.duration = overdue.duration;
  emit(event);
}

// The watch's thread, or that of a consumer that was left behind. The spare gets ready first and
// takes over last, so that at every moment somebody consumes: a factory that fails, a thread that
// does not start, a call that returns after all, and the partition stays with its consumer.
void BufferCore::replace_consumer(std::size_t partition_index, std::uint64_t batch_id) {
  Partition& partition = *partitions_[partition_index];
  const MutexLock lock(life_mutex_);
  if (are_threads_over_ || has_given_up() || is_forked()) return;
  // relaxed: it is raised under the mutex. A spare that is about to take over counts as well.
  if (partition.counts.abandoned.load(std::memory_order_relaxed) >= options_.max_abandoned) return;
  try {
    const std::shared_ptr<Consumer> spare = make_consumer(partition_index);
    Worker& worker = workers_.emplace_back();
    worker.consumer = spare;
    partition.counts.abandoned.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
    try {
      worker.thread = start_thread(&BufferCore::run_spare, this, partition_index, spare,
                                   current_[partition_index], batch_id, shared_from_this());
    } catch (...) {
      workers_.pop_back();
      partition.counts.abandoned.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
      throw;
    }
  } catch (...) {
    count_hook_failure();  // No thread, or no memory: the partition waits, as under kReport.
  }
}

void BufferCore::run_spare(std::size_t partition_index, std::shared_ptr<Consumer> spare,
                           std::shared_ptr<Consumer> stuck, std::uint64_t batch_id,
                           [[maybe_unused]] std::shared_ptr<BufferCore> self) {
  const RoleFrame role(*this);  // As in run_consumer().
  bool has_taken_over = false;
  try {
    prepare_thread(partition_index, *spare);
    has_taken_over = !is_forked() && stuck->retire(batch_id);
  } catch (...) {
    count_hook_failure();
  }
  if (has_taken_over) {
    // As the stuck consumer left it, the bell may be armed; it is the spare's now.
    partitions_[partition_index]->doorbell.disarm();
    {
      const MutexLock lock(life_mutex_);
      current_[partition_index] = spare;
      // The call may have returned meanwhile, and its thread ended as if it still were the current.
      const auto ended = std::find_if(workers_.begin(), workers_.end(), [&](const Worker& each) {
        return each.consumer == stuck && each.has_ended;
      });
      if (ended != workers_.end()) over_.splice(over_.end(), workers_, ended);
    }
    stuck.reset();
    return run(partition_index, spare);
  }
  stuck.reset();
  if (is_forked()) return;  // As in run_consumer().
  // relaxed: see replace_consumer().
  partitions_[partition_index]->counts.abandoned.fetch_sub(1, std::memory_order_relaxed);
  finish_thread(partition_index, spare);
}

void BufferCore::end_abandoned(Partition& partition, std::uint64_t held) {
  partition.requests.release(held);
  partition.counts.abandoned.fetch_sub(1, std::memory_order_relaxed);  // relaxed: see above
  // A call that was reported when no more could be left behind has waited for this.
  const std::optional<std::uint64_t> overdue = consumer(partition.index)->call().overdue_batch();
  if (overdue) replace_consumer(partition.index, *overdue);
}

}  // namespace databuffer::detail
