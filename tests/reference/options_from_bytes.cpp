#include "reference/options_from_bytes.hpp"

#include <chrono>
#include <sstream>
#include <stdexcept>

#include "reference/item.hpp"

namespace databuffer::reference {
namespace {

using namespace std::chrono_literals;

std::size_t weight_of(const Item& item) {
  if (item.weight == Item::kCannotBeWeighed) throw std::runtime_error("cannot be weighed");
  return item.weight;
}

// Either a back-off, whose jitter nobody foresees, or a total time that depends on it.
Retry retry_from_bytes(Bytes& bytes) {
  Retry retry;
  retry.attempts = bytes.pick<std::uint32_t>({1, 2, 3, 6});
  retry.on_exception = bytes.one_in(2);
  retry.isolate = bytes.one_in(2);
  if (bytes.one_in(2)) {
    retry.initial_backoff = bytes.pick<Duration>({1ns, 1ms});
    retry.max_backoff = bytes.pick<Duration>({1ms, 3ms, 1h});
  } else {
    retry.initial_backoff = retry.max_backoff = 0ns;
    retry.total_time = bytes.pick<Duration>({kForever, 1ns, 1ms, 1h});
  }
  return retry;
}

}  // namespace

Options options_from_bytes(Bytes& bytes) {
  Options options;
  options.name = "model";
  options.partitions = bytes.pick<std::size_t>({1, 1, 2, 3});
  options.max_size = bytes.pick<std::size_t>({4, 1, 2, 3, 8, 40});
  // Of several partitions below 16: there a turn of round robin takes one item.
  if (options.partitions > 1) options.max_size = std::min<std::size_t>(options.max_size, 15);
  options.max_size_jitter = bytes.pick<std::size_t>({0, 0, 0, 1, 5});
  const std::size_t largest_batch = options.max_size + options.max_size_jitter;
  if (bytes.one_in(2)) {
    options.capacity = largest_batch + bytes.pick<std::size_t>({0, 1, 3, 20, 300});
  }
  options.overflow = bytes.pick(
      {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest, Overflow::kDropOldest});
  options.flush_interval = bytes.pick<Duration>({10ms, 0ns, 1ns, 1s, kForever});
  options.flush_jitter = bytes.pick<Duration>({0ns, 0ns, 1ns, 5ms, kForever});
  options.flush_timeout = bytes.pick<Duration>({60s, 1ns, 1ms, kForever});
  options.retry = retry_from_bytes(bytes);
  if (bytes.one_in(3)) {
    options.weigh = [](const Item& item) { return weight_of(item); };
    options.max_bytes = bytes.pick<std::size_t>({10, 1, 3, 0});
    options.capacity_bytes = options.max_bytes == 0 ? 12 : bytes.pick<std::size_t>({0, 10, 15});
  }
  options.insert_timeout = 0ns;
  options.close_timeout = kForever;
  options.seed = 1 + bytes.below(256);
  return options;
}

std::string describe(const Options& options) {
  std::ostringstream out;
  out << "partitions " << options.partitions << ", max_size " << options.max_size << "+"
      << options.max_size_jitter << ", capacity " << options.effective_capacity() << ", "
      << to_string(options.overflow) << ", flush_interval " << options.flush_interval.count() << "+"
      << options.flush_jitter.count() << ", flush_timeout " << options.flush_timeout.count()
      << ", attempts " << options.retry.attempts << ", backoff "
      << options.retry.initial_backoff.count() << " to " << options.retry.max_backoff.count()
      << ", total_time " << options.retry.total_time.count() << ", on_exception "
      << options.retry.on_exception << ", isolate " << options.retry.isolate << ", max_bytes "
      << options.max_bytes << ", capacity_bytes " << options.effective_capacity_bytes() << ", seed "
      << options.seed;
  return out.str();
}

}  // namespace databuffer::reference
