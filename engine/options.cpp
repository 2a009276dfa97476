#include "databuffer/options.hpp"

#include <string>

namespace databuffer {
namespace {

constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxPartitions = 1024;
constexpr std::size_t kMaxBatchItems = std::size_t{1} << 31U;
constexpr std::size_t kMaxBytes = std::size_t{1} << 60U;
constexpr std::size_t kMaxAttempts = 1'000'000;
constexpr std::size_t kMaxAbandoned = 64;
constexpr std::size_t kMaxCapacityItems = std::size_t{1} << 40U;

std::string text(Duration duration) {
  return duration == kForever ? "forever" : std::to_string(duration.count()) + " ns";
}

void check_count(const char* field, std::size_t value, std::size_t lowest, std::size_t highest) {
  if (value >= lowest && value <= highest) return;
  throw OptionsError(field, std::to_string(value),
                     "must be " + std::to_string(lowest) + " to " + std::to_string(highest));
}

void check_duration(const char* field, Duration value, Duration lowest) {
  if (value >= lowest) return;
  throw OptionsError(field, text(value),
                     lowest == Duration::zero() ? "must not be negative" : "must be more than 0");
}

template <class Enum>
void check_enum(const char* field, Enum value, Enum last) {
  if (value <= last) return;
  throw OptionsError(field, std::to_string(static_cast<unsigned>(value)),
                     "must be 0 to " + std::to_string(static_cast<unsigned>(last)));
}

template <class Callable>
void check_callable(const char* field, const Callable& callable) {
  if (!callable.has_null()) return;
  throw OptionsError(field, "null", "must be callable; nothing, or nullptr itself, means none");
}

void check_weights(const Options& options) {
  check_callable("weigh", options.weigh);
  const bool has_limit = options.max_bytes != 0 || options.capacity_bytes != 0;
  if (has_limit && !options.weigh) {
    throw OptionsError("weigh", "none", "must be set where max_bytes or capacity_bytes is");
  }
  if (!has_limit && options.weigh) {
    throw OptionsError("max_bytes", "0", "must be set, or capacity_bytes, where weigh is");
  }
  check_count("max_bytes", options.max_bytes, 0, kMaxBytes);
  check_count("capacity_bytes", options.capacity_bytes, 0, kMaxBytes);
  if (options.capacity_bytes != 0 && options.capacity_bytes < options.max_bytes) {
    throw OptionsError("capacity_bytes", std::to_string(options.capacity_bytes),
                       "must be at least max_bytes = " + std::to_string(options.max_bytes) +
                           ", or a full batch could never gather");
  }
}

void check_retry(const Retry& retry) {
  check_count("retry.attempts", retry.attempts, 1, kMaxAttempts);
  check_duration("retry.initial_backoff", retry.initial_backoff, Duration::zero());
  check_duration("retry.max_backoff", retry.max_backoff, Duration::zero());
  if (retry.max_backoff < retry.initial_backoff) {
    throw OptionsError("retry.max_backoff", text(retry.max_backoff),
                       "must be at least retry.initial_backoff = " + text(retry.initial_backoff));
  }
  check_duration("retry.total_time", retry.total_time, Duration{1});
}

}  // namespace

void Options::validate() const {
  if (name.empty()) throw OptionsError("name", "\"\"", "must not be empty");
  if (name.size() > kMaxNameBytes) {
    std::size_t shown = 32;
    // Not within a character: in UTF-8 it has three bytes behind its first at most.
    while (shown > 29 && (static_cast<unsigned char>(name[shown]) & 0xC0U) == 0x80U) --shown;
    throw OptionsError("name", "\"" + name.substr(0, shown) + "…\"",
                       "must be at most " + std::to_string(kMaxNameBytes) + " bytes, is " +
                           std::to_string(name.size()));
  }
  if (name.find('\0') != std::string::npos) {
    throw OptionsError("name", "a text with a NUL byte", "must not contain one");
  }
  check_count("partitions", partitions, 1, kMaxPartitions);
  check_count("max_size", max_size, 1, kMaxBatchItems);
  check_count("max_size_jitter", max_size_jitter, 0, kMaxBatchItems);
  check_duration("flush_interval", flush_interval, Duration::zero());
  check_duration("flush_jitter", flush_jitter, Duration::zero());
  check_duration("flush_timeout", flush_timeout, Duration{1});
  check_duration("insert_timeout", insert_timeout, Duration::zero());
  check_duration("close_timeout", close_timeout, Duration::zero());
  if (capacity.has_value()) {
    const std::size_t largest_batch = max_size + max_size_jitter;
    if (*capacity < largest_batch) {
      throw OptionsError(
          "capacity", std::to_string(*capacity),
          "must be at least max_size + max_size_jitter = " + std::to_string(largest_batch) +
              ", or a full batch could never gather");
    }
    check_count("capacity", *capacity, 1, kMaxCapacityItems);
  }
  check_weights(*this);
  check_retry(retry);
  check_count("max_abandoned", max_abandoned, 0, kMaxAbandoned);
  check_enum("on_overdue", on_overdue, OnOverdue::kReplace);
  if (on_overdue == OnOverdue::kReplace && threading == Threading::kManual) {
    throw OptionsError("on_overdue", "replace", "needs threading = kOwn: nobody watches otherwise");
  }
  check_enum("overflow", overflow, Overflow::kDropOldest);
  check_callable("on_drop", on_drop);
  check_enum("wait_strategy", wait_strategy, WaitStrategy::kPark);
  check_enum("threading", threading, Threading::kManual);
}

}  // namespace databuffer
