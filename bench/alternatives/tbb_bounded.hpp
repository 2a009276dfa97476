#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"

namespace databuffer::bench {

// tbb::concurrent_bounded_queue: capacity and waiting producers are the queue's own.
//
// The queue has no bulk calls and no timed pop. The consumer therefore gathers with try_pop and,
// where it finds nothing, backs off instead of sleeping in pop(): a sleeping consumer makes every
// push pay for a wake-up, which was slower in every shape.
template <class T, class Handler>
class TbbBounded {
  struct Partition {
    tbb::concurrent_bounded_queue<T> queue;
    std::thread consumer;
  };

 public:
  TbbBounded(const Limits& limits, Handler handler)
      : limits_(limits), handler_(std::move(handler)), partitions_(limits.partitions) {
    for (Partition& partition : partitions_) {
      partition.queue.set_capacity(static_cast<std::ptrdiff_t>(limits.capacity));
      partition.consumer = std::thread([this, &partition] { consume(partition); });
    }
  }
  ~TbbBounded() { close(); }
  TbbBounded(const TbbBounded&) = delete;
  TbbBounded& operator=(const TbbBounded&) = delete;

  class Producer {
   public:
    explicit Producer(TbbBounded& owner)
        : owner_(&owner), cursor_(first_partition(owner.partitions_.size())) {}

    void insert(T&& item) { next_partition().queue.push(std::move(item)); }

    void insert_batch(std::span<T> items) {
      Partition& partition = next_partition();
      for (T& item : items) partition.queue.push(std::move(item));
    }

   private:
    Partition& next_partition() noexcept {
      Partition& partition = owner_->partitions_[cursor_];
      if (++cursor_ == owner_->partitions_.size()) cursor_ = 0;
      return partition;
    }

    TbbBounded* owner_;
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
      T item{};
      while (batch.size() < limits_.max_size && partition.queue.try_pop(item)) {
        batch.push_back(std::move(item));
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
