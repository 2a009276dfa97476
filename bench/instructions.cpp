// Work to count the instructions of: bench/check_instructions runs it under callgrind.
//
//   instructions insert|insert_batch|insert_string|flush|flush_string
//
// Only what the named part does is counted, for exactly kItems items in steady state: every slot,
// block and batch was used before. One thread, and consumers that are worked by hand, so that the
// count is the same in every run.

#include <valgrind/callgrind.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"

namespace {

constexpr std::size_t kItems = 96'000;  // keep in step with bench/check_instructions
constexpr std::size_t kPending = 1000;  // inserted, then flushed, again and again
constexpr std::size_t kBatch = 100;     // of one insert_batch

template <class T>
T make_item(std::uint64_t number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(32, static_cast<char>('a' + number % 26));
  } else {
    return number;
  }
}

/// Counts while it lives, if it is to count.
class Counting {
 public:
  explicit Counting(bool is_counted) : is_counted_(is_counted) {
    if (is_counted_) CALLGRIND_TOGGLE_COLLECT;
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() {
    if (is_counted_) CALLGRIND_TOGGLE_COLLECT;
  }

 private:
  const bool is_counted_;
};

enum class Part { kInsert, kInsertBatch, kFlush };

template <class T>
void insert(databuffer::Buffer<T>& buffer, Part part, std::vector<T>& items) {
  if (part == Part::kInsertBatch) {
    for (std::size_t first = 0; first < items.size(); first += kBatch) {
      const std::span<T> batch(items.data() + first, kBatch);
      static_cast<void>(buffer.insert_batch(batch));
    }
  } else {
    for (T& item : items) static_cast<void>(buffer.insert(std::move(item)));
  }
}

template <class T>
int run(Part part) {
  databuffer::ManualClock clock;
  std::uint64_t handled = 0;
  databuffer::Buffer<T> buffer({.name = "counted",
                                .partitions = 4,
                                .max_size = kPending,
                                .threading = databuffer::Threading::kManual,
                                .clock = &clock},
                               [&](std::span<T> items) { handled += items.size(); });
  constexpr std::size_t kWarmUp = 20;  // rounds
  for (std::size_t round = 0; round < kWarmUp + kItems / kPending; ++round) {
    const bool is_warm = round >= kWarmUp;
    std::vector<T> items;
    for (std::size_t number = 0; number < kPending; ++number) {
      items.push_back(make_item<T>(number));
    }
    {
      const Counting counting(is_warm && part != Part::kFlush);
      insert(buffer, part, items);
    }
    buffer.flush();
    const Counting counting(is_warm && part == Part::kFlush);
    while (buffer.do_work(clock.now()) <= clock.now()) {
    }
  }
  if (handled == kPending * kWarmUp + kItems) return 0;
  std::fprintf(stderr, "instructions: items are missing\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  if (name == "insert") return run<std::uint64_t>(Part::kInsert);
  if (name == "insert_batch") return run<std::uint64_t>(Part::kInsertBatch);
  if (name == "insert_string") return run<std::string>(Part::kInsert);
  if (name == "flush") return run<std::uint64_t>(Part::kFlush);
  if (name == "flush_string") return run<std::string>(Part::kFlush);
  std::fprintf(stderr,
               "instructions: '%.*s': expected insert, insert_batch, insert_string, flush or "
               "flush_string\n",
               static_cast<int>(name.size()), name.data());
  return 2;
}
