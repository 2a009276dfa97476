#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

namespace databuffer::bench {

// A contender is a way to get items from many threads into a handler, batch by batch:
//
//   template <class T, class Handler>       // Handler: callable with std::span<T>
//   class Contender {
//     Contender(const Limits&, Handler);    // runs when the constructor returns
//     class Producer {                      // one for each inserting thread, made on it
//       explicit Producer(Contender&);
//       void insert(T&& item);              // waits while the chosen partition is full
//       void insert_batch(std::span<T> items);  // moves from the items; one partition, in order
//     };
//     void close();                         // after the producers: all is handled when it returns
//   };
//
// All visit the partitions in turn, each producer from its own start, and all let at most about
// `capacity` items wait in a partition. What a contender does otherwise stands at its top.

/// What every contender is built for.
struct Limits {
  std::size_t partitions = 1;
  std::size_t max_size = 5000;   ///< Items a handler call sees at most.
  std::size_t capacity = 20000;  ///< Items that may wait in one partition.
};

/// Where a producer begins its round, so that producers do not march in step.
[[nodiscard]] inline std::size_t first_partition(std::size_t partitions) noexcept {
  return std::hash<std::thread::id>{}(std::this_thread::get_id()) % partitions;
}

/// The waiting of those queues that bring none: on the core, then giving it away, then asleep.
class Backoff {
 public:
  void wait() {
    ++rounds_;
    if (rounds_ <= kSpins) {
      __builtin_ia32_pause();
    } else if (rounds_ <= kSpins + kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  void reset() noexcept { rounds_ = 0; }

 private:
  static constexpr unsigned kSpins = 64;
  static constexpr unsigned kYields = 16;
  static constexpr std::chrono::microseconds kNap{20};

  unsigned rounds_ = 0;
};

}  // namespace databuffer::bench
