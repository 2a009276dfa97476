#include "stress/random_setting.hpp"

#include <sstream>
#include <string>

namespace databuffer::stress {
namespace {

using namespace std::chrono_literals;

Options random_options(Random& random) {
  Options options;
  options.name = "random";
  options.wait_strategy =
      random.pick({WaitStrategy::kAdaptive, WaitStrategy::kAdaptive, WaitStrategy::kPark,
                   WaitStrategy::kYield, WaitStrategy::kSpin});
  const bool is_busy = options.wait_strategy == WaitStrategy::kSpin;
  options.partitions = random.number(1, is_busy ? 2 : 8);
  options.max_size = random.pick({1U, 2U, 3U, 7U, 64U, 500U, 5000U});
  options.max_size_jitter = random.one_in(2) ? 0 : random.number(0, 2 * options.max_size);
  const std::size_t largest_batch = options.max_size + options.max_size_jitter;
  if (!random.one_in(4)) {
    options.capacity = largest_batch + random.pick<std::size_t>({0, 0, 1, 17, 300, 9000});
  }
  options.overflow = random.pick({Overflow::kBlock, Overflow::kBlock, Overflow::kReject,
                                  Overflow::kDropNewest, Overflow::kDropOldest});
  options.flush_interval = random.pick<Duration>({0ns, 50us, 1ms, 10ms, 1h});
  options.flush_jitter = random.pick<Duration>({0ns, 1ns, 1ms});
  options.insert_timeout = random.pick<Duration>({0ns, 100us, 20ms, kForever});
  options.flush_timeout = random.pick<Duration>({1ms, kLongTimeout, kForever});
  options.on_overdue = random.pick({OnOverdue::kReport, OnOverdue::kReplace});
  options.retry.attempts = random.pick<std::uint32_t>({1, 2, 5});
  options.retry.initial_backoff = random.pick<Duration>({0ns, 10us, 1ms});
  options.retry.max_backoff = 2ms;
  options.retry.on_exception = random.one_in(2);
  options.retry.isolate = random.one_in(3);
  options.seed = random.seed();
  if (random.one_in(3)) {
    options.max_bytes = random.pick<std::size_t>({1, 10, 1000});
    options.capacity_bytes = options.max_bytes + random.pick<std::size_t>({0, 9, 5000});
    options.weigh = [](const Item& item) { return weight_of(item); };
  }
  return options;
}

}  // namespace

Setting random_setting(Random& random, bool can_lack_memory) {
  Setting setting;
  setting.options = random_options(random);
  setting.short_life = random.one_in(4) ? 300 : 0;
  setting.producers = setting.short_life != 0 ? random.number(16, 64) : random.number(1, 16);
  setting.one_insert_is_many_in = random.pick<std::size_t>({20, 20, 3});
  setting.one_batch_fails_in = random.pick<std::size_t>({0, 0, 2, 10});
  setting.one_batch_dawdles_in = random.pick<std::size_t>({0, 1, 5, 50});
  setting.one_batch_is_stuck_in = random.pick<std::size_t>({0, 0, 0, 100});
  setting.has_throwing_hooks = random.one_in(3);
  setting.lacks_memory = can_lack_memory && random.one_in(4);
  setting.lasts = std::chrono::milliseconds{random.number(1, 40)};
  setting.has_meddlers = random.one_in(2);
  setting.is_closed_early = random.one_in(4);
  setting.is_flushed_first = !setting.is_closed_early && random.one_in(2);
  if (setting.is_closed_early) {
    setting.close_timeout = random.pick<Duration>({0ns, 1ms, 10ms, kForever});
  }
  return setting;
}

Setting swarming_setting(Random& random, bool can_lack_memory) {
  Setting setting = random_setting(random, can_lack_memory);
  setting.producers = random.number(1000, 4000);
  setting.most_items = kLongestBatch + 100;
  setting.short_life = random.pick<std::size_t>({1, 3, 20});
  setting.lives_at_once = random.pick<std::size_t>({4, 64});
  setting.one_insert_is_many_in = 100;
  setting.lasts = std::chrono::milliseconds{random.number(50, 300)};
  return setting;
}

Setting crowded_setting(Random& random, bool can_lack_memory) {
  Setting setting = random_setting(random, can_lack_memory);
  setting.short_life = 0;
  setting.producers = random.number(1, 8);
  setting.most_items = 1'000'000;
  setting.one_insert_is_many_in = random.pick<std::size_t>({1, 2, 20});
  setting.one_batch_fails_in = random.pick<std::size_t>({0, 100, 10'000});
  setting.one_batch_dawdles_in = random.pick<std::size_t>({0, 1000});
  setting.one_batch_is_stuck_in = random.pick<std::size_t>({0, 10'000});
  setting.lasts = std::chrono::milliseconds{random.number(100, 1000)};
  Options& options = setting.options;
  options.max_size = random.pick({64U, 1000U, 10'000U});
  options.max_size_jitter = random.one_in(2) ? 0 : options.max_size / 3;
  options.capacity = random.pick<std::size_t>({2, 8, 50}) * options.max_size;
  if (options.max_bytes > 0) {
    options.max_bytes = 6 * options.max_size;  // What so many items weigh, about.
    options.capacity_bytes = 2 * options.max_bytes;
  }
  return setting;
}

std::string describe(const Setting& setting) {
  const Options& options = setting.options;
  std::ostringstream out;
  out << "partitions " << options.partitions << ", producers " << setting.producers
      << (setting.short_life == 0 ? ""
                                  : " of " + std::to_string(setting.short_life) + " inserts, " +
                                        std::to_string(setting.lives_at_once) + " at once,")
      << " of " << setting.most_items << " items, max_size " << options.max_size << "+"
      << options.max_size_jitter << ", capacity " << options.effective_capacity() << ", "
      << to_string(options.overflow) << ", " << to_string(options.wait_strategy) << ", interval "
      << options.flush_interval.count() << "+" << options.flush_jitter.count()
      << " ns, insert_timeout " << options.insert_timeout.count() << " ns, many 1/"
      << setting.one_insert_is_many_in << ", fails 1/" << setting.one_batch_fails_in
      << ", dawdles 1/" << setting.one_batch_dawdles_in << ", stuck 1/"
      << setting.one_batch_is_stuck_in << ", throwing hooks " << setting.has_throwing_hooks
      << ", lacks memory " << setting.lacks_memory << ", lasts " << setting.lasts.count()
      << " ms, meddlers " << setting.has_meddlers << ", flushed first " << setting.is_flushed_first
      << ", closed early " << setting.is_closed_early << " within " << setting.close_timeout.count()
      << " ns, max_bytes " << options.max_bytes << ", capacity_bytes "
      << options.effective_capacity_bytes() << ", attempts " << options.retry.attempts
      << ", isolate " << options.retry.isolate << ", flush_timeout "
      << options.flush_timeout.count() << " ns, " << to_string(options.on_overdue);
  return out.str();
}

}  // namespace databuffer::stress
