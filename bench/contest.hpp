#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"
#include "bench/items.hpp"
#include "databuffer/detail/cache_line.hpp"

namespace databuffer::bench {

/// What is sent, and by how many.
struct Setup {
  std::size_t producers = 1;
  std::size_t batch = 1;  ///< Items a call; 1 is the single insert.
  Limits limits;
};

/// What one run showed. Nothing is refused: every contender waits when it is full.
struct Run {
  double seconds = 0;  ///< From the producers' common start until everything was handled.
  std::uint64_t items = 0;
  std::uint64_t handler_calls = 0;

  [[nodiscard]] double items_per_second() const { return static_cast<double>(items) / seconds; }
};

/// One contender with one kind of item.
struct Entry {
  std::string contender;
  std::string item;
  std::function<bool(const Setup&)> can_run;
  std::function<Run(const Setup&, std::uint64_t items)> run;
};

/// What the handler has seen. Added to once a call, by every consumer.
struct alignas(detail::kDestructiveBytes) Tally {
  std::atomic<std::uint64_t> items{0};
  std::atomic<std::uint64_t> ids{0};
  std::atomic<std::uint64_t> calls{0};

  // relaxed: statistics; read after the consumers have been joined.
  void add(std::uint64_t item_count, std::uint64_t id_sum) noexcept {
    items.fetch_add(item_count, std::memory_order_relaxed);
    ids.fetch_add(id_sum, std::memory_order_relaxed);
    calls.fetch_add(1, std::memory_order_relaxed);
  }
};

/// Touches every item.
template <class T>
class TallyHandler {
 public:
  explicit TallyHandler(Tally& tally) noexcept : tally_(&tally) {}

  void operator()(std::span<T> items) const noexcept {
    std::uint64_t ids = 0;
    for (const T& item : items) ids += touch(item);
    tally_->add(items.size(), ids);
  }
  void operator()(std::string_view item) const noexcept { tally_->add(1, touch(item)); }

 private:
  Tally* tally_;
};

/// Inserts the items with ids `first_id` … `first_id + count - 1`.
template <class T, class Producer>
void produce(Producer& producer, std::size_t batch, std::uint64_t first_id, std::uint64_t count) {
  const std::uint64_t end_id = first_id + count;
  if (batch == 1) {
    for (std::uint64_t id = first_id; id < end_id; ++id) producer.insert(ItemTraits<T>::make(id));
    return;
  }
  std::vector<T> items(batch);
  for (std::uint64_t id = first_id; id < end_id;) {
    std::size_t size = 0;
    for (; size < batch && id < end_id; ++size, ++id) items[size] = ItemTraits<T>::make(id);
    producer.insert_batch(std::span<T>(items.data(), size));
  }
}

/// Throws std::runtime_error unless every item was handled exactly once.
inline void require_complete(const Tally& tally, std::uint64_t items) {
  const std::uint64_t ids = items % 2 == 0 ? items / 2 * (items + 1) : (items + 1) / 2 * items;
  // relaxed: every consumer has been joined.
  const std::uint64_t handled = tally.items.load(std::memory_order_relaxed);
  if (handled != items) {
    throw std::runtime_error("items handled = " + std::to_string(handled) + ": must be the " +
                             std::to_string(items) + " inserted");
  }
  if (tally.ids.load(std::memory_order_relaxed) != ids) {
    throw std::runtime_error(
        "the ids handled are not those inserted: items were lost, doubled or "
        "damaged");
  }
}

/// Sends `items` items through a fresh contender. Threads are made before the clock starts.
template <class Contender, class T>
Run run_contest(const Setup& setup, std::uint64_t items) {
  Tally tally;
  Contender contender(setup.limits, TallyHandler<T>(tally));
  std::latch ready(static_cast<std::ptrdiff_t>(setup.producers));
  std::latch start(1);
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < setup.producers; ++index) {
    const std::uint64_t first = items * index / setup.producers;
    const std::uint64_t end = items * (index + 1) / setup.producers;
    threads.emplace_back([&, first, end] {
      typename Contender::Producer producer(contender);
      ready.count_down();
      start.wait();
      produce<T>(producer, setup.batch, first + 1, end - first);
    });
  }
  ready.wait();
  const auto began = std::chrono::steady_clock::now();
  start.count_down();
  for (std::thread& thread : threads) thread.join();
  contender.close();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  require_complete(tally, items);
  return {.seconds = took.count(),
          .items = items,
          .handler_calls = tally.calls.load(std::memory_order_relaxed)};  // relaxed: joined
}

/// Makes the entry of `Contender<T, TallyHandler<T>>`.
template <template <class, class> class Contender, class T>
[[nodiscard]] Entry make_entry(
    std::string name,
    std::function<bool(const Setup&)> can_run = [](const Setup&) { return true; }) {
  return {.contender = std::move(name),
          .item = ItemTraits<T>::kName,
          .can_run = std::move(can_run),
          .run = run_contest<Contender<T, TallyHandler<T>>, T>};
}

}  // namespace databuffer::bench
