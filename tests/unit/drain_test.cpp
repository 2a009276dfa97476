// Goal: items leave in passes: every producer gets its share of each pass, a batch that was
// published at once stays in one piece, and a request is covered within bounds however fast others
// insert.
// Method: the drain over a real queue, fed by hand.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "engine/drain.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::CargoOf;
using databuffer::detail::Drain;
using databuffer::detail::FlushRequests;
using databuffer::detail::LaneOf;
using databuffer::detail::LaneSlot;
using databuffer::detail::Slot;
using databuffer::support::numbers;

namespace {

/// A lane with some producers, and the drain behind it.
class Pipe {
 public:
  explicit Pipe(std::size_t producer_count) {
    for (std::size_t index = 0; index < producer_count; ++index) add_producer();
  }

  void add_producer() {
    producers_.push_back(&drain.add());
    slots_.push_back(&static_cast<LaneSlot<int>&>(*producers_.back()->slot));
  }

  void end_producer(std::size_t producer) { drain.depart(*producers_[producer]); }

  void insert(std::size_t producer, const std::vector<int>& items) {
    LaneSlot<int>& slot = *slots_[producer];
    REQUIRE(slot.push_bulk(items.begin(), items.size()) == items.size());
    slot.word = slot.word + items.size();
  }

  std::vector<int> take(std::size_t count) {
    CargoOf<int> cargo;
    cargo.reserve(count);
    const std::size_t taken = drain.take(count, 0, cargo).items;
    REQUIRE(taken == cargo.size());
    return {cargo.items(), cargo.items() + cargo.size()};
  }

  std::vector<int> staged() {
    const auto& cargo = static_cast<CargoOf<int>&>(drain.staged());
    auto* const items = static_cast<int*>(drain.staged().data());
    return {items, items + cargo.size()};
  }

  LaneSlot<int>& slot(std::size_t producer) { return *slots_[producer]; }

  FlushRequests requests;

 private:
  LaneOf<int> lane_;

 public:
  Drain drain{lane_, requests};

 private:
  std::vector<Drain::Producer*> producers_;
  std::vector<LaneSlot<int>*> slots_;
};

}  // namespace

TEST_SUITE("drain") {
  TEST_CASE("an empty drain gives nothing") {
    Pipe none(0);
    CHECK(none.take(10).empty());
    Pipe pipe(3);
    CHECK(pipe.take(10).empty());
    CHECK(pipe.drain.inserted() == 0);
    CHECK(pipe.drain.slot_count() == 3);
  }

  TEST_CASE(
      "one producer's items come out in the order they went in, whatever is taken at a time") {
    Pipe pipe(1);
    std::mt19937 random(1);
    std::vector<int> out;
    int next = 0;
    while (out.size() < 20'000) {
      const std::size_t count = random() % 700;
      pipe.insert(0, numbers(next, count));
      next += static_cast<int>(count);
      const std::vector<int> taken = pipe.take(random() % 800);
      out.insert(out.end(), taken.begin(), taken.end());
    }
    CHECK(out == numbers(0, out.size()));
  }

  TEST_CASE("never more than asked for, never more than the cargo has room for") {
    Pipe pipe(2);
    pipe.insert(0, numbers(0, 10));
    pipe.insert(1, numbers(10, 10));
    CHECK(pipe.take(7).size() == 7);
    CargoOf<int> small;
    small.reserve(2);
    const std::size_t room = small.room();
    CHECK(pipe.drain.take(1000, 0, small).items == std::min<std::size_t>(room, 13));
  }

  TEST_CASE("of one pass the items of older slots leave first") {
    // So a thread may go on with a newer slot, and its items keep their order.
    Pipe pipe(2);
    pipe.insert(1, {3, 4});
    pipe.insert(0, {1, 2});
    pipe.add_producer();
    pipe.insert(2, {5, 6});
    CHECK(pipe.take(10) == std::vector{1, 2, 3, 4, 5, 6});
  }

  TEST_CASE(
      "a producer that has departed is forgotten when its items have left, its count is not") {
    Pipe pipe(4);
    for (int producer = 0; producer < 4; ++producer) {
      pipe.insert(static_cast<std::size_t>(producer), {producer, producer});
    }
    CHECK_FALSE(pipe.drain.has_departed());
    for (const std::size_t producer : {0U, 1U, 3U}) pipe.end_producer(producer);
    CHECK(pipe.drain.departed_count() == 3);
    pipe.drain.forget_departed();  // They have items.
    CHECK(pipe.drain.has_departed());
    CHECK(pipe.take(3) == std::vector{0, 0, 1});
    pipe.drain.forget_departed();  // In the middle of a pass.
    CHECK(pipe.drain.inserted() == 8);
    CHECK(pipe.take(10) == std::vector{1, 2, 2, 3, 3});
    CHECK(pipe.drain.has_departed());
    pipe.drain.forget_departed();
    CHECK_FALSE(pipe.drain.has_departed());
    CHECK(pipe.drain.inserted() == 8);
    pipe.insert(2, {5});
    pipe.add_producer();
    pipe.insert(4, {6});
    CHECK(pipe.take(10) == std::vector{5, 6});
    CHECK(pipe.drain.inserted() == 10);
  }

  TEST_CASE("a pass goes on past producers that are forgotten meanwhile") {
    for (std::size_t gone = 0; gone < 5; ++gone) {
      CAPTURE(gone);
      Pipe pipe(5);
      for (const std::size_t producer : {0U, 4U}) pipe.insert(producer, {1, 2, 3});
      CHECK(pipe.take(1) == std::vector{1});  // The pass is at the first.
      pipe.end_producer(gone);
      pipe.add_producer();
      pipe.insert(5, {9});
      pipe.end_producer(5);  // Newer than the pass.
      pipe.drain.forget_departed();
      pipe.add_producer();  // where the one that is freed was, it may be
      CHECK(pipe.take(5) == std::vector{2, 3, 1, 2, 3});
      CHECK(pipe.drain.passes() == 1);
      pipe.drain.forget_departed();
      CHECK(pipe.take(5) == std::vector{9});
      pipe.drain.forget_departed();
      CHECK_FALSE(pipe.drain.has_departed());
      CHECK(pipe.drain.inserted() == 7);
      CHECK(pipe.drain.slot_count() == 5);
    }
  }

  TEST_CASE("every producer's items of a pass leave before anybody's later ones") {
    Pipe pipe(3);
    pipe.insert(0, {1, 2, 3});
    pipe.insert(1, {11});
    pipe.insert(2, {21, 22});
    CHECK(pipe.take(2).size() == 2);  // The pass has begun.
    for (std::size_t producer = 0; producer < 3; ++producer) pipe.insert(producer, {-1, -1, -1});
    const std::vector<int> rest = pipe.take(4);
    for (const int item : rest) CHECK(item > 0);
    for (const int item : pipe.take(100)) CHECK(item == -1);
  }

  TEST_CASE("a producer that never stops does not starve the others") {
    Pipe pipe(3);
    pipe.insert(1, {1000});
    pipe.insert(2, {2000});
    int next = 0;
    std::vector<int> out;
    for (int round = 0; round < 10; ++round) {
      pipe.insert(0, numbers(next, 10));  // as many as are taken, each time
      next += 10;
      const std::vector<int> taken = pipe.take(10);
      out.insert(out.end(), taken.begin(), taken.end());
    }
    CHECK(std::count(out.begin(), out.end(), 1000) == 1);
    CHECK(std::count(out.begin(), out.end(), 2000) == 1);
  }

  TEST_CASE("items that were published at once leave in one piece, within a pass") {
    Pipe pipe(4);
    for (std::size_t producer = 0; producer < 4; ++producer) {
      pipe.insert(producer, numbers(static_cast<int>(producer) * 100, 50));
    }
    const std::vector<int> out = pipe.take(200);
    REQUIRE(out.size() == 200);
    for (std::size_t index = 1; index < out.size(); ++index) {
      if (out[index] % 100 != 0) CHECK(out[index] == out[index - 1] + 1);
    }
  }

  TEST_CASE("a producer that comes later is drained from the next pass on") {
    Pipe pipe(1);
    pipe.insert(0, {1, 2});
    CHECK(pipe.take(1) == std::vector{1});
    pipe.add_producer();
    pipe.insert(1, {3});
    CHECK(pipe.take(10) == std::vector{2, 3});
    CHECK(pipe.drain.inserted() == 3);
  }

  TEST_CASE("a producer inside an insert is noticed") {
    Pipe pipe(2);
    CHECK_FALSE(pipe.drain.has_producer_inside());
    pipe.slot(1).word = pipe.slot(1).word | Slot::kInside;
    CHECK(pipe.drain.has_producer_inside());
    CHECK(pipe.drain.inserted() == 0);
    pipe.slot(1).word = pipe.slot(1).word & ~Slot::kInside;
    CHECK_FALSE(pipe.drain.has_producer_inside());
  }

  TEST_CASE("a request is covered when all that was there has left, and not before") {
    Pipe pipe(2);
    pipe.insert(0, {1, 2, 3});
    pipe.insert(1, {4, 5});
    const std::uint64_t request = pipe.requests.ask();
    CHECK(pipe.take(4).size() == 4);
    CHECK(pipe.drain.covered() < request);
    CHECK(pipe.take(1).size() == 1);
    CHECK(pipe.drain.covered() == request);
  }

  TEST_CASE("a request asked in the middle of a pass is covered by the next") {
    Pipe pipe(1);
    pipe.insert(0, {1, 2, 3});
    CHECK(pipe.take(1).size() == 1);
    pipe.insert(0, {4});
    const std::uint64_t request = pipe.requests.ask();
    CHECK(pipe.take(2) == std::vector{2, 3});
    CHECK(pipe.drain.covered() < request);
    CHECK(pipe.take(1) == std::vector{4});
    CHECK(pipe.drain.covered() == request);
  }

  // A pass that ends in the middle of a batch counts like any other.
  TEST_CASE("constant inserts cannot hold a request up, however passes and batches fall together") {
    for (std::size_t arriving = 1; arriving <= 25; ++arriving) {
      CAPTURE(arriving);
      constexpr std::size_t kBatch = 10;
      Pipe pipe(1);
      pipe.insert(0, numbers(0, 35));
      const std::uint64_t request = pipe.requests.ask();
      // 35 were there: once these have left, the request is covered, four batches later.
      for (int batch = 0; batch < 4; ++batch) {
        pipe.take(kBatch);
        pipe.insert(0, numbers(0, arriving));
      }
      CHECK(pipe.drain.covered() >= request);
    }
  }

  TEST_CASE("staged items stay in front, in order, and leave first") {
    Pipe pipe(2);
    pipe.insert(0, {1, 2, 3});
    pipe.insert(1, {4});
    pipe.drain.stage_all();
    const std::vector<int> staged = pipe.staged();
    CHECK(staged.size() == 4);
    pipe.insert(0, {5, 6});
    pipe.drain.stage_all();
    CHECK(pipe.staged() == std::vector{staged[0], staged[1], staged[2], staged[3], 5, 6});
    pipe.insert(0, {7});
    CHECK(pipe.take(3) == std::vector{staged[0], staged[1], staged[2]});
    CHECK(pipe.take(100) == std::vector{staged[3], 5, 6, 7});
  }

  TEST_CASE("staging in the middle of a pass keeps the order that delivery would have had") {
    Pipe looked(2);
    Pipe unlooked(2);
    std::vector<int> with_looks;
    std::vector<int> without;
    std::mt19937 random(5);
    int next = 0;
    for (int round = 0; round < 200; ++round) {
      const std::size_t producer = random() % 2;
      const std::vector<int> items = numbers(next, random() % 8);
      next += static_cast<int>(items.size());
      looked.insert(producer, items);
      unlooked.insert(producer, items);
      if (random() % 4 == 0) looked.drain.stage_all();
      const std::size_t count = random() % 8;
      for (const int item : looked.take(count)) with_looks.push_back(item);
      for (const int item : unlooked.take(count)) without.push_back(item);
    }
    // A look ends the pass, so the two producers may interleave otherwise; each one's order holds,
    // and nothing is lost.
    for (const int item : looked.take(10'000)) with_looks.push_back(item);
    for (const int item : unlooked.take(10'000)) without.push_back(item);
    CHECK(with_looks.size() == static_cast<std::size_t>(next));
    std::sort(with_looks.begin(), with_looks.end());
    std::sort(without.begin(), without.end());
    CHECK(with_looks == without);
  }

  TEST_CASE("a request is not covered while its items are staged") {
    Pipe pipe(1);
    pipe.insert(0, {1, 2, 3});
    const std::uint64_t request = pipe.requests.ask();
    pipe.drain.stage_all();
    CHECK(pipe.drain.covered() < request);
    CHECK(pipe.take(2).size() == 2);
    CHECK(pipe.drain.covered() < request);
    CHECK(pipe.take(1).size() == 1);
    CHECK(pipe.drain.covered() == request);
  }

  TEST_CASE("constant inserts cannot hold up a request whose items are staged") {
    Pipe pipe(1);
    pipe.insert(0, numbers(0, 15));
    const std::uint64_t request = pipe.requests.ask();
    pipe.drain.stage_all();
    for (int batch = 0; batch < 2; ++batch) {
      pipe.take(10);
      pipe.insert(0, numbers(0, 11));
    }
    CHECK(pipe.drain.covered() >= request);
  }
}
