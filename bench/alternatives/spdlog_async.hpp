#pragma once

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/base_sink.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/alternatives/contender.hpp"

namespace databuffer::bench {

// spdlog's asynchronous logger with a sink that does nothing but hand the text over.
//
// What is compared: one info() call with a ready string against one insert of a std::string. The
// logger copies the text into a message in its ring (mutex and condition variables, blocking when
// full) and adds level, wall-clock time and thread id, which we do not ask for and it cannot leave
// out. Nothing is formatted on either side. There are no batches: the handler sees one text at a
// time, and there is no insert_batch. A partition is a logger with a thread pool of one.
template <class T, class Handler>
class SpdlogAsync {
  static_assert(std::is_same_v<T, std::string>, "spdlog carries text");

  class HandlerSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
   public:
    explicit HandlerSink(Handler handler) : handler_(std::move(handler)) {}

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      handler_(std::string_view(message.payload.data(), message.payload.size()));
    }
    void flush_() override {}

    Handler handler_;
  };

  struct Partition {
    std::shared_ptr<spdlog::details::thread_pool> pool;
    std::shared_ptr<spdlog::async_logger> logger;
  };

 public:
  SpdlogAsync(const Limits& limits, Handler handler) {
    while (partitions_.size() < limits.partitions) {
      auto pool = std::make_shared<spdlog::details::thread_pool>(limits.capacity, 1);
      auto logger =
          std::make_shared<spdlog::async_logger>("bench", std::make_shared<HandlerSink>(handler),
                                                 pool, spdlog::async_overflow_policy::block);
      partitions_.push_back({std::move(pool), std::move(logger)});
    }
  }
  ~SpdlogAsync() { close(); }
  SpdlogAsync(const SpdlogAsync&) = delete;
  SpdlogAsync& operator=(const SpdlogAsync&) = delete;

  class Producer {
   public:
    explicit Producer(SpdlogAsync& owner)
        : owner_(&owner), cursor_(first_partition(owner.partitions_.size())) {}

    void insert(T&& item) {
      spdlog::async_logger& logger = *owner_->partitions_[cursor_].logger;
      if (++cursor_ == owner_->partitions_.size()) cursor_ = 0;
      logger.info(item);
    }

    void insert_batch(std::span<T> items) {
      for (T& item : items) insert(std::move(item));
    }

   private:
    SpdlogAsync* owner_;
    std::size_t cursor_;
  };

  /// The pool's destructor handles what its ring holds, and joins.
  void close() {
    for (Partition& partition : partitions_) partition.logger.reset();
    for (Partition& partition : partitions_) partition.pool.reset();
  }

 private:
  std::vector<Partition> partitions_;
};

}  // namespace databuffer::bench
