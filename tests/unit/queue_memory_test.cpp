// Goal: a queue holds what was pending at most, and a little for each producer (README, Limits).
// Method: a lane with several producers, driven by hand, in a program that counts memory
// (support/counted_memory.hpp).

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/by_hand.hpp"
#include "support/counted_memory.hpp"
#include "support/items.hpp"
#include "support/manual_buffer.hpp"

using namespace databuffer;
using databuffer::detail::CargoOf;
using databuffer::detail::LaneOf;
using databuffer::detail::LaneSlot;
using databuffer::detail::SegmentPool;
using databuffer::support::by_hand;
using databuffer::support::bytes_held;
using databuffer::support::CountedItem;
using databuffer::support::requests_of;
using databuffer::support::still_clock;
using databuffer::support::work_all;

namespace {

/// A number in an item of so many bytes.
template <std::size_t kBytes>
struct Wide {
  explicit Wide(std::uint64_t item_number = 0) noexcept : number(item_number) {}
  std::uint64_t number;
  std::array<char, kBytes - sizeof(std::uint64_t)> rest{};
};

using Small = Wide<16>;

/// A lane and its producers. Each numbers its items; they must come out as they went in.
template <class T>
class Pipe {
 public:
  static constexpr std::size_t kBlockItems = LaneSlot<T>::kBlockItems;

  explicit Pipe(std::size_t producers) {
    for (std::size_t index = 0; index < producers; ++index) {
      producers_.push_back({.slot = &static_cast<LaneSlot<T>&>(lane_.make_slot())});
    }
    cargo_.reserve(kBlockItems);
  }

  void push(std::size_t producer, bool may_allocate = true) {
    Producer& from = producers_[producer];
    T item(from.inserted);
    if (!from.slot->push_in_place(std::move(item)) &&
        !from.slot->push_bulk_in_place(std::make_move_iterator(&item), 1) &&
        !(may_allocate && from.slot->push(std::move(item)))) {
      FAIL("no room");
    }
    count(from, 1);
  }

  void push_bulk(std::size_t producer, std::size_t items) {
    Producer& from = producers_[producer];
    std::vector<T> batch;
    for (std::size_t item = 0; item < items; ++item) batch.emplace_back(from.inserted + item);
    const auto first = std::make_move_iterator(batch.begin());
    const bool is_in = items <= kBlockItems && from.slot->push_bulk_in_place(first, items);
    if (!is_in) REQUIRE(from.slot->push_bulk(first, items) == items);
    count(from, items);
  }

  void pull(std::size_t producer, std::size_t items) {
    Producer& from = producers_[producer];
    items = std::min(items, static_cast<std::size_t>(from.inserted - from.pulled));
    while (items > 0) {
      const std::size_t part = std::min(items, kBlockItems);
      REQUIRE(lane_.dequeue(*from.slot, part, cargo_) == part);
      REQUIRE(cargo_.size() == part);
      for (std::size_t item = 0; item < part; ++item) {
        if (cargo_.items()[item].number != from.pulled++) FAIL("out of order");
      }
      cargo_.clear();
      pending_ -= part;
      items -= part;
    }
  }

  void pull_all() {
    for (std::size_t index = 0; index < producers_.size(); ++index) {
      pull(index, static_cast<std::size_t>(producers_[index].inserted));
    }
  }

  [[nodiscard]] std::size_t bytes() const { return lane_.bytes(); }

  /// What the README allows.
  [[nodiscard]] std::size_t most_bytes() const {
    return (most_pending_ / kBlockItems + 2 * producers_.size()) * SegmentPool<T>::kSegmentBytes;
  }

 private:
  struct Producer {
    LaneSlot<T>* slot;
    std::uint64_t inserted = 0;
    std::uint64_t pulled = 0;
  };

  void count(Producer& producer, std::size_t items) {
    producer.inserted += items;
    producer.slot->word = producer.inserted;
    pending_ += items;
    most_pending_ = std::max(most_pending_, pending_);
  }

  LaneOf<T> lane_;
  std::vector<Producer> producers_;
  CargoOf<T> cargo_;
  std::size_t pending_ = 0;
  std::size_t most_pending_ = 0;
};

/// Inserts and removals in any order and number, that come and go in tides.
template <class T>
void drive_at_random(std::uint64_t seed) {
  CAPTURE(sizeof(T));
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  constexpr std::size_t kProducers = 5;
  Pipe<T> pipe(kProducers);
  for (int step = 0; step < 3000; ++step) {
    const bool is_rising = step / 300 % 2 == 0;
    const std::size_t producer = below(kProducers);
    const std::size_t most = 1 + Pipe<T>::kBlockItems * (1 + below(3)) / (1 + below(8));
    if (below(5) < (is_rising ? 3 : 2)) {
      if (below(2) == 0) {
        pipe.push_bulk(producer, 1 + below(most));
      } else {
        for (std::size_t left = 1 + below(most); left > 0; --left) pipe.push(producer);
      }
    } else {
      pipe.pull(producer, 1 + below(2 * most));
    }
    REQUIRE(pipe.bytes() <= pipe.most_bytes());
  }
  pipe.pull_all();
  CHECK(pipe.bytes() <= pipe.most_bytes());
}

}  // namespace

TEST_SUITE("queue memory") {
  TEST_CASE(
      "producers that fill the queue in turn hold what one of them needs, and a little each") {
    constexpr std::size_t kProducers = 32;
    constexpr std::size_t kItems = 200'000;
    const std::ptrdiff_t before = bytes_held();
    Pipe<Small> pipe(kProducers);
    const std::ptrdiff_t empty = bytes_held() - before;
    const auto round = [&] {
      for (std::size_t producer = 0; producer < kProducers; ++producer) {
        for (std::size_t item = 0; item < kItems; ++item) pipe.push(producer);
        pipe.pull(producer, kItems);
      }
    };
    for (int warm_up = 0; warm_up < 3; ++warm_up) round();
    const std::ptrdiff_t held = bytes_held() - before - empty;
    CHECK(pipe.bytes() <= pipe.most_bytes());
    CHECK(pipe.bytes() < 2 * kItems * sizeof(Small));
    // info() says what is really there.
    CHECK(held <= static_cast<std::ptrdiff_t>(pipe.bytes()));
    CHECK(held * 10 >= static_cast<std::ptrdiff_t>(pipe.bytes()) * 9);
    CHECK(requests_of(round) == 0);
  }

  TEST_CASE("whatever comes and goes, the bound holds, and each producer's order") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      CAPTURE(seed);
      drive_at_random<Small>(seed);
      drive_at_random<Wide<1000>>(seed);
      drive_at_random<Wide<5000>>(seed);  // two in a block
    }
  }

  TEST_CASE("a segment is what is said of it, for small items and for large ones") {
    const auto check = [](auto item) {
      using T = decltype(item);
      CAPTURE(sizeof(T));
      SegmentPool<T> pool;
      const std::ptrdiff_t empty = bytes_held();
      detail::Segment<T>* const segment = pool.take_or_make();
      REQUIRE(segment != nullptr);
      CHECK(pool.bytes() == SegmentPool<T>::kSegmentBytes);
      const std::ptrdiff_t held = bytes_held() - empty;
      CHECK(held <= static_cast<std::ptrdiff_t>(pool.bytes()));
      CHECK(held + 256 >= static_cast<std::ptrdiff_t>(pool.bytes()));
      pool.put(*segment, *segment);
      CHECK(pool.take() == segment);
      CHECK(pool.take() == nullptr);
      pool.destroy(segment);
      const std::ptrdiff_t left = bytes_held() - empty;
      CHECK(left == 0);
      CHECK(pool.bytes() == 0);
    };
    check(char{});
    check(std::uint64_t{});
    check(Wide<40>{});
    check(Wide<300>{});
    check(Wide<5000>{});  // two in a block
  }

  TEST_CASE(
      "a producer that has not inserted holds no segment, one that is drained stays in its own") {
    Pipe<Small> pipe(2);
    CHECK(pipe.bytes() == 0);
    for (std::size_t item = 0; item < 10 * Pipe<Small>::kBlockItems; ++item) {
      pipe.push(0);
      if (item % 64 == 63) pipe.pull(0, 64);
    }
    CHECK(pipe.bytes() == SegmentPool<Small>::kSegmentBytes);
  }

  TEST_CASE("a producer takes what another has left without asking for memory") {
    using Item = Wide<1000>;
    Pipe<Item> pipe(2);
    const std::size_t items = 10 * Pipe<Item>::kBlockItems;
    for (std::size_t item = 0; item < items; ++item) pipe.push(0);
    pipe.pull(0, items);
    pipe.push(0);  // The last segment is used again: it is drained.
    CHECK(requests_of([&] {
            for (std::size_t item = 0; item < items - Pipe<Item>::kBlockItems; ++item) {
              pipe.push(1, false);
            }
          }) == 0);
  }

  TEST_CASE("large items and a small capacity hold a few blocks of two") {
    using Item = Wide<262'144>;
    std::vector<Item> items(1);
    Buffer<Item> buffer(by_hand({.partitions = 4, .max_size = 4, .capacity = 4}),
                        [](std::span<Item>) {});
    for (int round = 0; round < 20; ++round) {
      while (buffer.insert_batch(items, std::chrono::seconds{0}).accepted == 1) {
      }
      CHECK(buffer.size() == 16);
      work_all(buffer, still_clock().now());
    }
    for (const PartitionInfo& info : buffer.info()) {
      CHECK(info.queue_bytes <= (4 / 2 + 2) * SegmentPool<Item>::kSegmentBytes);
      CHECK(info.queue_bytes > 4 * sizeof(Item));
    }
  }

  TEST_CASE("a lane that ends destroys what is in it, and gives everything back") {
    CountedItem::reset();
    const std::ptrdiff_t before = bytes_held();
    {
      LaneOf<CountedItem> lane;
      auto& slot = static_cast<LaneSlot<CountedItem>&>(lane.make_slot());
      for (int item = 0; item < 10'000; ++item) {
        CHECK(slot.push(CountedItem(item)));
        slot.word = slot.word + 1;
      }
      CargoOf<CountedItem> cargo;
      cargo.reserve(5000);
      CHECK(lane.dequeue(slot, 5000, cargo) == 5000);
      CHECK(CountedItem::alive == 10'000);
    }
    const std::ptrdiff_t left = bytes_held() - before;
    CHECK(left == 0);
    CHECK(CountedItem::alive == 0);
  }
}
