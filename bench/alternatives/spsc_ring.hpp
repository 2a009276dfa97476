#pragma once

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"

namespace databuffer::bench {

// boost::lockfree::spsc_queue: what one core can hand to another when there is one producer and one
// consumer. Trivially copyable items only (it copies them), one partition, one producer. It does
// not wait: both sides back off. The consumer leaves the ring alone until a batch is there, which
// is several times faster than taking what is there.
template <class T, class Handler>
class SpscRing {
 public:
  SpscRing(const Limits& limits, Handler handler)
      : limits_(limits), handler_(std::move(handler)), ring_(limits.capacity) {
    if (limits.partitions != 1) throw std::invalid_argument("SpscRing: partitions must be 1");
    consumer_ = std::thread([this] { consume(); });
  }
  ~SpscRing() { close(); }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  class Producer {
   public:
    explicit Producer(SpscRing& owner) : owner_(&owner) {}

    void insert(T&& item) {
      if (owner_->ring_.push(item)) [[likely]]
        return;
      Backoff backoff;
      do {
        backoff.wait();
      } while (!owner_->ring_.push(item));
    }

    void insert_batch(std::span<T> items) {
      Backoff backoff;
      for (;;) {
        items = items.subspan(owner_->ring_.push(items.data(), items.size()));
        if (items.empty()) return;
        backoff.wait();
      }
    }

   private:
    SpscRing* owner_;
  };

  void close() {
    // release: pairs with the consumer's acquire; what the producer did is handled before the end.
    is_closed_.store(true, std::memory_order_release);
    if (consumer_.joinable()) consumer_.join();
  }

 private:
  void consume() {
    std::vector<T> batch(limits_.max_size);
    Backoff backoff;
    for (;;) {
      // acquire: pairs with close(); read first, so that an empty ring after it stays empty.
      const bool is_closed = is_closed_.load(std::memory_order_acquire);
      if (!is_closed && ring_.read_available() < limits_.max_size) {
        backoff.wait();
        continue;
      }
      const std::size_t count = ring_.pop(batch.data(), batch.size());
      if (count == 0 && is_closed) return;
      handler_(std::span<T>(batch.data(), count));
      backoff.reset();
    }
  }

  const Limits limits_;
  Handler handler_;
  boost::lockfree::spsc_queue<T> ring_;
  std::atomic<bool> is_closed_{false};
  std::thread consumer_;
};

}  // namespace databuffer::bench
