#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"
#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/lane.hpp"

namespace databuffer::bench {

// The naive reading of the design: the same queue with the same tokens and blocks, a round robin
// through one atomic counter taken one by one, and a count per partition that every insert raises.
//
// The count gives exact capacity and an exact size trigger with little code; that, and two shared
// writes per insert, is the whole difference.
template <class T, class Handler>
class Naive {
  struct Partition {
    detail::Queue<T> queue{0};
    // Raised by producers before they enqueue, lowered by the consumer after it has removed.
    alignas(detail::kDestructiveBytes) std::atomic<std::uint64_t> pending{0};
    alignas(detail::kDestructiveBytes) std::mutex mutex;
    std::condition_variable room;   // producers wait here
    std::condition_variable ready;  // the consumer waits here
    bool is_closed = false;         // guarded by mutex
    std::thread consumer;
  };

 public:
  Naive(const Limits& limits, Handler handler)
      : limits_(limits), handler_(std::move(handler)), partitions_(limits.partitions) {
    for (Partition& partition : partitions_) {
      partition.consumer = std::thread([this, &partition] { consume(partition); });
    }
  }
  ~Naive() { close(); }
  Naive(const Naive&) = delete;
  Naive& operator=(const Naive&) = delete;

  class Producer {
   public:
    explicit Producer(Naive& owner) : owner_(&owner) {
      for (Partition& partition : owner.partitions_) tokens_.emplace_back(partition.queue);
    }

    void insert(T&& item) {
      const std::size_t index = owner_->draw();
      Partition& partition = owner_->partitions_[index];
      const std::uint64_t before = owner_->claim(partition, 1);
      partition.queue.enqueue(tokens_[index], std::move(item));
      owner_->announce(partition, before, 1);
    }

    void insert_batch(std::span<T> items) {
      const std::size_t index = owner_->draw();
      Partition& partition = owner_->partitions_[index];
      const std::uint64_t before = owner_->claim(partition, items.size());
      partition.queue.enqueue_bulk(tokens_[index], std::move_iterator<T*>(items.data()),
                                   items.size());
      owner_->announce(partition, before, items.size());
    }

   private:
    Naive* owner_;
    std::deque<moodycamel::ProducerToken> tokens_;
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
  // relaxed: any value will do.
  std::size_t draw() noexcept {
    return next_.fetch_add(1, std::memory_order_relaxed) % partitions_.size();
  }

  /// Takes room for `count` items, waiting for it; returns how many waited before them.
  std::uint64_t claim(Partition& partition, std::size_t count) {
    // relaxed: a count; the queue publishes the items, the mutex orders the waiting.
    const std::uint64_t before = partition.pending.fetch_add(count, std::memory_order_relaxed);
    if (before + count <= limits_.capacity) [[likely]]
      return before;
    partition.pending.fetch_sub(count, std::memory_order_relaxed);
    return claim_slowly(partition, count);
  }

  [[gnu::noinline]] std::uint64_t claim_slowly(Partition& partition, std::size_t count) {
    std::unique_lock lock(partition.mutex);
    std::uint64_t before = 0;
    partition.room.wait(lock, [&] {
      before = partition.pending.load(std::memory_order_relaxed);
      while (before + count <= limits_.capacity) {
        if (partition.pending.compare_exchange_weak(before, before + count,
                                                    std::memory_order_relaxed)) {
          return true;
        }
      }
      return false;
    });
    return before;
  }

  /// Wakes the consumer if these items completed a batch.
  void announce(Partition& partition, std::uint64_t before, std::size_t count) {
    if (before >= limits_.max_size || before + count < limits_.max_size) [[likely]]
      return;
    const std::lock_guard lock(partition.mutex);  // The consumer waits, or will see the count.
    partition.ready.notify_one();
  }

  void consume(Partition& partition) {
    moodycamel::ConsumerToken token(partition.queue);
    std::vector<T> batch(limits_.max_size);
    std::unique_lock lock(partition.mutex);
    for (;;) {
      partition.ready.wait(lock, [&] {
        return partition.pending.load(std::memory_order_relaxed) >= limits_.max_size ||
               partition.is_closed;
      });
      const bool is_closed = partition.is_closed;
      lock.unlock();
      const std::size_t count =
          partition.queue.try_dequeue_bulk(token, batch.begin(), batch.size());
      partition.pending.fetch_sub(count, std::memory_order_relaxed);
      { const std::lock_guard waiters_have_looked_or_will(partition.mutex); }
      partition.room.notify_all();
      if (count > 0) handler_(std::span<T>(batch.data(), count));
      if (count == 0 && is_closed) return;
      lock.lock();
    }
  }

  const Limits limits_;
  Handler handler_;
  alignas(detail::kDestructiveBytes) std::atomic<std::size_t> next_{0};  // all producers
  alignas(detail::kDestructiveBytes) std::deque<Partition> partitions_;
};

}  // namespace databuffer::bench
