#pragma once

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <ranges>
#include <span>
#include <utility>

#include "bench/alternatives/contender.hpp"
#include "databuffer/buffer.hpp"

namespace databuffer::bench {

// databuffer as a contender: default options but for the limits and an insert without timeout.
template <class T, class Handler>
class DatabufferContender {
 public:
  DatabufferContender(const Limits& limits, Handler handler)
      : buffer_(Options{.name = "bench",
                        .partitions = limits.partitions,
                        .max_size = limits.max_size,
                        .capacity = limits.capacity,
                        .insert_timeout = kForever},
                std::move(handler)) {}

  class Producer {
   public:
    explicit Producer(DatabufferContender& owner) : buffer_(&owner.buffer_) {}

    void insert(T&& item) { require(buffer_->insert(std::move(item))); }

    void insert_batch(std::span<T> items) {
      require(buffer_
                  ->insert_batch(
                      std::ranges::subrange(std::move_iterator<T*>(items.data()),
                                            std::move_iterator<T*>(items.data() + items.size())))
                  .status);
    }

   private:
    static void require(InsertStatus status) {
      if (status == InsertStatus::kAccepted) [[likely]]
        return;
      std::fprintf(stderr, "databuffer refused an item it should have waited for: %s\n",
                   std::string(to_string(status)).c_str());
      std::exit(1);
    }

    Buffer<T>* buffer_;
  };

  void close() { buffer_.close(kForever); }

 private:
  Buffer<T> buffer_;
};

}  // namespace databuffer::bench
