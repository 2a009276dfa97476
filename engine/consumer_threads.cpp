// The consumers' threads: how they start, end, and are replaced when one is stuck.
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "engine/buffer_core.hpp"
#include "engine/own_thread.hpp"
#include "engine/thread_name.hpp"

namespace databuffer::detail {

void BufferCore::launch() {
  if (options_.threading == Threading::kManual) {
    for (std::size_t index = 0; index < partitions_.size(); ++index) {
      consumer(index).set_handler(parts_.make_handler(index));
      consumer(index).prepare();
    }
    return;
  }
  std::size_t consumer_count = 0;
  std::exception_ptr failure;
  try {
    threads_.reserve(partitions_.size() + 1);
    for (; consumer_count < partitions_.size(); ++consumer_count) {
      threads_.push_back(
          start_thread(&BufferCore::run_consumer, this, consumer_count, shared_from_this()));
    }
    if (watch_ != nullptr) {
      is_watch_running_ = true;  // Nobody else looks before this call returns.
      threads_.push_back(start_thread(&BufferCore::run_watch, this, shared_from_this()));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(life_mutex_);
    thread_count_ = consumer_count;
  }
  await_start(consumer_count, failure);
}

// Waits until every consumer runs. If one does not, stops the others and throws the reason.
void BufferCore::await_start(std::size_t consumer_count, std::exception_ptr failure) {
  {
    std::unique_lock lock(life_mutex_);
    life_changed_.wait(lock, [&] { return started_ == consumer_count; });
    if (!failure) failure = start_failure_;
  }
  if (!failure) return;
  begin_close();
  if (watch_ != nullptr) watch_->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::rethrow_exception(failure);
}

void BufferCore::run_consumer(std::size_t partition_index,
                              [[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  // The hooks, the factory and the handler's destructor may call the buffer.
  const RoleFrame role(*this);
  Consumer& own = consumer(partition_index);
  std::exception_ptr failure;
  try {
    prepare_thread(partition_index, own);
  } catch (...) {
    failure = std::current_exception();
  }
  report_start(failure);
  if (!failure) own.run();
  if (is_forked()) return;  // The handler forked, and returned in the child: see LiveBuffers.
  finish_thread(partition_index, own);
  // `self` goes last: it may be the last owner.
}

void BufferCore::run_watch([[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  const RoleFrame role(*this);  // Hooks on `overdue` run here.
  name_this_thread(options_.name, "watch");
  watch_->run();
  const std::lock_guard lock(life_mutex_);
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

void BufferCore::finish_thread(std::size_t partition_index, Consumer& consumer) noexcept {
  consumer.end();
  try {
    if (options_.on_thread_stop) options_.on_thread_stop(partition_index);
  } catch (...) {
    count_hook_failure();
  }
  const std::lock_guard lock(life_mutex_);
  ++ended_;
  life_changed_.notify_all();
  if (&consumer == &this->consumer(partition_index)) return;
  // Nobody joins a consumer that was replaced, or was not needed, before close: it goes by itself.
  const auto own = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
  if (own == threads_.end()) return;
  own->detach();
  threads_.erase(own);
}

void BufferCore::report_start(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(life_mutex_);
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

// The watch's thread. The spare gets ready first and takes over last, so that at every moment
// somebody consumes: a factory that fails, a thread that does not start, a call that returns after
// all, and the partition stays with its consumer.
void BufferCore::replace_consumer(std::size_t partition_index, std::uint64_t batch_id) {
  Partition& partition = *partitions_[partition_index];
  // relaxed: only this thread starts spares; one that is about to take over counts as well.
  if (partition.counts.abandoned.load(std::memory_order_relaxed) >= options_.max_abandoned) return;
  const std::lock_guard lock(life_mutex_);
  if (are_threads_over_) return;
  try {
    threads_.reserve(threads_.size() + 1);
    Consumer& stuck = consumer(partition_index);
    Consumer& spare = add_consumer(partition_index);
    partition.counts.abandoned.fetch_add(1, std::memory_order_relaxed);  // relaxed: as above
    try {
      threads_.push_back(start_thread(&BufferCore::run_spare, this, partition_index,
                                      std::ref(spare), std::ref(stuck), batch_id,
                                      shared_from_this()));
      ++thread_count_;
    } catch (...) {
      partition.counts.abandoned.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
      throw;
    }
  } catch (...) {
    count_hook_failure();  // No thread, or no memory: the partition waits, as under kReport.
  }
}

void BufferCore::run_spare(std::size_t partition_index, Consumer& spare, Consumer& stuck,
                           std::uint64_t batch_id,
                           [[maybe_unused]] std::shared_ptr<BufferCore> self) noexcept {
  const RoleFrame role(*this);  // As in run_consumer().
  bool has_taken_over = false;
  try {
    prepare_thread(partition_index, spare);
    has_taken_over = stuck.retire(batch_id);
  } catch (...) {
    count_hook_failure();
  }
  if (has_taken_over) {
    // release: pairs with consumer().
    current_[partition_index].store(&spare, std::memory_order_release);
    spare.run();
    if (is_forked()) return;  // As in run_consumer().
  } else {
    // relaxed: see replace_consumer().
    partitions_[partition_index]->counts.abandoned.fetch_sub(1, std::memory_order_relaxed);
  }
  finish_thread(partition_index, spare);
}

void BufferCore::end_abandoned(Partition& partition, std::uint64_t held) {
  partition.requests.release(held);
  partition.counts.abandoned.fetch_sub(1, std::memory_order_relaxed);  // relaxed: see above
}

}  // namespace databuffer::detail
