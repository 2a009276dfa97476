#pragma once

#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <cstddef>
#include <deque>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"

namespace databuffer::bench {

// boost::lockfree::queue: multi-producer, multi-consumer, its nodes allocated once; capacity is
// their number. Trivially copyable items only. No bulk calls and no waiting: both sides back off.
template <class T, class Handler>
class BoostLockfree {
  struct Partition {
    explicit Partition(std::size_t capacity) : queue(capacity) {}
    boost::lockfree::queue<T> queue;
    std::thread consumer;
  };

 public:
  BoostLockfree(const Limits& limits, Handler handler)
      : limits_(limits), handler_(std::move(handler)) {
    while (partitions_.size() < limits.partitions) {
      Partition& partition = partitions_.emplace_back(limits.capacity);
      partition.consumer = std::thread([this, &partition] { consume(partition); });
    }
  }
  ~BoostLockfree() { close(); }
  BoostLockfree(const BoostLockfree&) = delete;
  BoostLockfree& operator=(const BoostLockfree&) = delete;

  class Producer {
   public:
    explicit Producer(BoostLockfree& owner)
        : owner_(&owner), cursor_(first_partition(owner.partitions_.size())) {}

    void insert(T&& item) { push(next_partition(), item); }

    void insert_batch(std::span<T> items) {
      Partition& partition = next_partition();
      for (const T& item : items) push(partition, item);
    }

   private:
    static void push(Partition& partition, const T& item) {
      if (partition.queue.bounded_push(item)) [[likely]]
        return;
      Backoff backoff;
      do {
        backoff.wait();
      } while (!partition.queue.bounded_push(item));
    }

    Partition& next_partition() noexcept {
      Partition& partition = owner_->partitions_[cursor_];
      if (++cursor_ == owner_->partitions_.size()) cursor_ = 0;
      return partition;
    }

    BoostLockfree* owner_;
    std::size_t cursor_;
  };

  void close() {
    // release: pairs with the consumers' acquire; what the producers did is handled before the end.
    is_closed_.store(true, std::memory_order_release);
    for (Partition& partition : partitions_) {
      if (partition.consumer.joinable()) partition.consumer.join();
    }
  }

 private:
  void consume(Partition& partition) {
    std::vector<T> batch;
    batch.reserve(limits_.max_size);
    Backoff backoff;
    for (;;) {
      // acquire: pairs with close(); read first, so that an empty queue after it stays empty.
      const bool is_closed = is_closed_.load(std::memory_order_acquire);
      T item;
      while (batch.size() < limits_.max_size && partition.queue.pop(item)) {
        batch.push_back(item);
        backoff.reset();
      }
      if (batch.size() == limits_.max_size || (is_closed && !batch.empty())) {
        handler_(std::span<T>(batch));
        batch.clear();
      } else if (is_closed) {
        return;
      } else {
        backoff.wait();
      }
    }
  }

  const Limits limits_;
  Handler handler_;
  std::atomic<bool> is_closed_{false};
  std::deque<Partition> partitions_;
};

}  // namespace databuffer::bench
