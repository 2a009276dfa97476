#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/copy.hpp"
#include "stress/random_numbers.hpp"
#include "stress/random_setting.hpp"
#include "stress/witness.hpp"

namespace databuffer::stress {

/// What only the program can do for a round.
struct Outside {
  using RefuseMemory = void (*)(std::size_t request, const std::function<void()>& call);

  /// Makes a producer's call with memory refused from the n-th request on; null: it cannot.
  RefuseMemory refuse_memory = nullptr;
  /// Other copies of the library, beside the program's own. One of all makes the buffer.
  std::vector<Copy> copies{};
};

/// One buffer, from its start to its end: producers that use every form of insert; others that
/// flush, look, take and listen meanwhile; handlers that dawdle, fail in part or as a
/// whole, ask for a retry, throw and get stuck; hooks that throw; memory that is refused.
class Round {
 public:
  Round(Setting setting, Random& random, Outside outside = {});

  /// Returns what was wrong: items lost, doubled or out of order, or a ledger that does not say
  /// where they went. Empty: nothing.
  [[nodiscard]] std::string run(Random& random);

  /// Items that the buffer took.
  [[nodiscard]] std::uint64_t items() const { return witness_.taken_items(); }

 private:
  void produce(Buffer<Item>& buffer, std::uint32_t index, std::uint64_t seed);
  void insert_one(Buffer<Item>& buffer, Item item, Random& random);
  [[nodiscard]] std::uint32_t insert_many(Buffer<Item>& buffer, std::uint32_t index,
                                          std::uint32_t first, Random& random);
  template <class Call>
  void maybe_without_memory(Random& random, Call call);

  /// Any of them.
  [[nodiscard]] const Copy& copy(Random& random) const;

  [[nodiscard]] FlushResult handle(std::span<Item> items, const FlushContext& context);
  [[nodiscard]] FlushResult fail(std::span<Item> items, Random& random);
  void flush(std::span<const Item> items);
  void check_batch(std::span<const Item> items, const FlushContext& context);
  void dropped(std::span<const Item> items, const DropInfo& info);

  void meddle(Buffer<Item>& buffer, std::uint64_t seed);
  void look_and_take(Buffer<Item>& buffer);
  void listen(Buffer<Item>& buffer);

  void finish(Buffer<Item>& buffer);
  void check_close(const CloseReport& report);
  void check_ledger(const Ledger& ledger);
  void expect_equal(const char* what, std::uint64_t actual, std::uint64_t expected);

  Setting setting_;
  const Outside::RefuseMemory refuse_memory_;
  std::vector<Copy> copies_;  // fixed
  const std::uint64_t handler_seed_;
  Witness witness_;
  DropCounts drops_;
  std::atomic<bool> is_over_{false};    // written by the main thread; read by the others
  std::atomic<bool> is_closed_{false};  // likewise: before close() begins
  std::atomic<std::uint64_t> flushed_items_{0};
  std::atomic<std::uint64_t> taken_items_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> drop_calls_{0};
};

}  // namespace databuffer::stress
