#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"
#include "databuffer/detail/cache_line.hpp"

namespace databuffer::bench {

// Mutex and vector, double buffered: what most people write by hand, written with care.
//
// A producer locks once for an item or a batch, and notifies after unlocking, only when it
// completes a batch. The consumer swaps vectors, so the handler runs outside the lock and nothing
// is allocated once both vectors have grown.
template <class T, class Handler>
class MutexVector {
  struct alignas(detail::kDestructiveBytes) Partition {
    std::mutex mutex;
    std::condition_variable room;   // producers wait here
    std::condition_variable ready;  // the consumer waits here
    std::vector<T> items;           // guarded by mutex
    bool is_closed = false;         // guarded by mutex
    std::thread consumer;
  };

 public:
  MutexVector(const Limits& limits, Handler handler)
      : limits_(limits), handler_(std::move(handler)), partitions_(limits.partitions) {
    for (Partition& partition : partitions_) {
      partition.items.reserve(limits_.capacity);
      partition.consumer = std::thread([this, &partition] { consume(partition); });
    }
  }
  ~MutexVector() { close(); }
  MutexVector(const MutexVector&) = delete;
  MutexVector& operator=(const MutexVector&) = delete;

  class Producer {
   public:
    explicit Producer(MutexVector& owner)
        : owner_(&owner), cursor_(first_partition(owner.partitions_.size())) {}

    void insert(T&& item) {
      Partition& partition = next_partition();
      std::unique_lock lock(partition.mutex);
      owner_->wait_for_room(partition, lock);
      partition.items.push_back(std::move(item));
      const bool is_complete = partition.items.size() == owner_->limits_.max_size;
      lock.unlock();
      if (is_complete) partition.ready.notify_one();
    }

    void insert_batch(std::span<T> items) {
      Partition& partition = next_partition();
      while (!items.empty()) {
        std::unique_lock lock(partition.mutex);
        owner_->wait_for_room(partition, lock);
        const std::size_t before = partition.items.size();
        const std::size_t count = std::min(items.size(), owner_->limits_.capacity - before);
        partition.items.insert(partition.items.end(), std::move_iterator<T*>(items.data()),
                               std::move_iterator<T*>(items.data() + count));
        const std::size_t max_size = owner_->limits_.max_size;
        const bool is_complete = before < max_size && before + count >= max_size;
        lock.unlock();
        if (is_complete) partition.ready.notify_one();
        items = items.subspan(count);
      }
    }

   private:
    Partition& next_partition() noexcept {
      Partition& partition = owner_->partitions_[cursor_];
      if (++cursor_ == owner_->partitions_.size()) cursor_ = 0;
      return partition;
    }

    MutexVector* owner_;
    std::size_t cursor_;
  };

  void close() {
    for (Partition& partition : partitions_) {
      const std::lock_guard lock(partition.mutex);
      partition.is_closed = true;
      partition.ready.notify_one();
    }
    for (Partition& partition : partitions_) {
      if (partition.consumer.joinable()) partition.consumer.join();
    }
  }

 private:
  void wait_for_room(Partition& partition, std::unique_lock<std::mutex>& lock) {
    if (partition.items.size() < limits_.capacity) [[likely]]
      return;
    partition.room.wait(lock, [&] { return partition.items.size() < limits_.capacity; });
  }

  void consume(Partition& partition) {
    std::vector<T> batch;
    batch.reserve(limits_.capacity);
    for (;;) {
      std::unique_lock lock(partition.mutex);
      partition.ready.wait(
          lock, [&] { return partition.items.size() >= limits_.max_size || partition.is_closed; });
      if (partition.items.empty()) return;
      batch.swap(partition.items);
      lock.unlock();
      partition.room.notify_all();
      for (std::span<T> rest(batch); !rest.empty();) {
        const std::size_t count = std::min(rest.size(), limits_.max_size);
        handler_(rest.first(count));
        rest = rest.subspan(count);
      }
      batch.clear();
    }
  }

  const Limits limits_;
  Handler handler_;
  std::deque<Partition> partitions_;
};

}  // namespace databuffer::bench
