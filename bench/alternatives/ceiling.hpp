#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"
#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/lane.hpp"

namespace databuffer::bench {

// The ceiling: what the queue underneath can do when nothing is asked of it but to carry items.
//
// Producer tokens, bulk dequeue, the library's own block size; the round over the partitions is a
// pointer in the producer. No deadline, no doorbell, no close protocol, no ledger. The consumer
// looks again and again until the queue's approximate size says that a batch is there: handing over
// at once whatever arrives is up to five times slower, since it chases the producers line by line.
//
// Memory is bounded without a shared write per item: a producer announces its items in runs of
// kRunItems and waits only then. So a partition holds at most capacity + kRunItems × producers.
template <class T, class Handler, class Traits = detail::QueueTraits<T>>
class Ceiling {
  using Queue = moodycamel::ConcurrentQueue<T, Traits>;

  struct Partition {
    Queue queue{0};
    // Written by producers, once a run; read by producers.
    alignas(detail::kDestructiveBytes) std::atomic<std::uint64_t> announced{0};
    // Written by the consumer, once a batch; read by producers, once a run.
    alignas(detail::kDestructiveBytes) std::atomic<std::uint64_t> removed{0};
    std::thread consumer;
  };

 public:
  Ceiling(const Limits& limits, Handler handler)
      : limits_(limits),
        run_items_(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(limits.capacity) / 16, 1,
                                              kRunItems)),
        handler_(std::move(handler)),
        partitions_(limits.partitions) {
    for (Partition& partition : partitions_) {
      partition.consumer = std::thread([this, &partition] { consume(partition); });
    }
  }
  ~Ceiling() { close(); }
  Ceiling(const Ceiling&) = delete;
  Ceiling& operator=(const Ceiling&) = delete;

  class Producer {
    struct alignas(detail::kDestructiveBytes) Way {
      explicit Way(Partition& to) : partition(&to), token(to.queue) {}
      Partition* partition;
      moodycamel::ProducerToken token;
      std::ptrdiff_t items_left = 0;  // may go in before the next announcement
      Way* next = nullptr;
    };

   public:
    explicit Producer(Ceiling& ceiling) : ceiling_(&ceiling) {
      for (Partition& partition : ceiling.partitions_) ways_.emplace_back(partition);
      for (std::size_t index = 0; index < ways_.size(); ++index) {
        ways_[index].next = &ways_[(index + 1) % ways_.size()];
        ways_[index].items_left = ceiling.run_items_;
      }
      cursor_ = &ways_[first_partition(ways_.size())];
    }

    void insert(T&& item) {
      Way& way = *cursor_;
      way.partition->queue.enqueue(way.token, std::move(item));
      if (--way.items_left == 0) [[unlikely]]
        ceiling_->announce(way);
      cursor_ = way.next;
    }

    void insert_batch(std::span<T> items) {
      Way& way = *cursor_;
      way.partition->queue.enqueue_bulk(way.token, std::move_iterator<T*>(items.data()),
                                        items.size());
      way.items_left -= static_cast<std::ptrdiff_t>(items.size());
      if (way.items_left <= 0) ceiling_->announce(way);
      cursor_ = way.next;
    }

   private:
    friend class Ceiling;
    Ceiling* ceiling_;
    std::deque<Way> ways_;
    Way* cursor_ = nullptr;
  };

  void close() {
    // release: pairs with the consumers' acquire; what the producers did is handled before the end.
    is_closed_.store(true, std::memory_order_release);
    for (Partition& partition : partitions_) {
      if (partition.consumer.joinable()) partition.consumer.join();
    }
  }

 private:
  static constexpr std::ptrdiff_t kRunItems = 256;

  // relaxed, twice: only how much waits matters here; the queue itself publishes the items.
  [[gnu::noinline]] void announce(typename Producer::Way& way) {
    Partition& partition = *way.partition;
    const auto count = static_cast<std::uint64_t>(run_items_ - way.items_left);
    const std::uint64_t announced =
        partition.announced.fetch_add(count, std::memory_order_relaxed) + count;
    way.items_left = run_items_;
    Backoff backoff;
    while (
        static_cast<std::int64_t>(announced - partition.removed.load(std::memory_order_relaxed)) >
        static_cast<std::int64_t>(limits_.capacity)) {
      backoff.wait();
    }
  }

  void consume(Partition& partition) {
    moodycamel::ConsumerToken token(partition.queue);
    std::vector<T> batch(limits_.max_size);
    std::uint64_t removed = 0;
    Backoff backoff;
    for (;;) {
      // acquire: pairs with close(); read first, so that an empty queue after it stays empty.
      const bool is_closed = is_closed_.load(std::memory_order_acquire);
      if (!is_closed && partition.queue.size_approx() < limits_.max_size) {
        backoff.wait();
        continue;
      }
      const auto count = partition.queue.try_dequeue_bulk(token, batch.begin(), batch.size());
      removed += count;
      partition.removed.store(removed, std::memory_order_relaxed);  // see announce()
      if (count > 0) handler_(std::span<T>(batch.data(), count));
      if (count == 0 && is_closed) return;
      backoff.reset();
    }
  }

  const Limits limits_;
  const std::ptrdiff_t run_items_;
  Handler handler_;
  std::atomic<bool> is_closed_{false};
  std::deque<Partition> partitions_;
};

}  // namespace databuffer::bench
