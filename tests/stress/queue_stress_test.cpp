// Goal: segments that go from producer to producer lose nothing, mix nothing up, and are no more
// than they may be. Method: items so large that each segment holds two; producers that come and go,
// one at a time and in batches; each item is checked by its number.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "stress/witness.hpp"
#include "support/print.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::stress::Budget;
using databuffer::stress::Crew;
using databuffer::stress::Findings;

constexpr std::size_t kProducers = 5;

struct LargeItem {
  std::uint32_t producer = 0;
  std::uint32_t sequence = 0;
  std::array<std::uint64_t, 500> payload{};
};
using Segments = databuffer::detail::SegmentPool<LargeItem>;
constexpr std::size_t kBlockItems = databuffer::detail::QueueTraits<LargeItem>::block_items();
static_assert(kBlockItems == 2);

/// Inserts until the time is over: single items, and batches beyond a block.
std::uint32_t insert_all(Buffer<LargeItem>& buffer, std::uint32_t producer, const Budget& budget) {
  std::uint32_t sequence = 0;
  std::vector<LargeItem> batch;
  while (budget.is_left()) {
    const std::size_t count = sequence % 7;
    batch.clear();
    for (std::size_t item = 0; item < count; ++item) {
      LargeItem large{.producer = producer, .sequence = sequence++};
      large.payload.front() = large.payload.back() = large.sequence;
      batch.push_back(large);
    }
    if (count == 0) {
      LargeItem large{.producer = producer, .sequence = sequence++};
      large.payload.front() = large.payload.back() = large.sequence;
      static_cast<void>(buffer.insert(large, databuffer::kForever));
    } else {
      static_cast<void>(buffer.insert_batch(batch, databuffer::kForever));
    }
  }
  return sequence;
}

}  // namespace

TEST_SUITE("queue") {
  TEST_CASE("segments go from producer to producer, and order, number and bound stay") {
    constexpr std::size_t kCapacity = 64;
    const Budget budget(1s);
    Findings findings;
    std::array<std::int64_t, kProducers> last{};
    last.fill(-1);
    // One partition: all of a producer's items come in order, none is missing.
    Buffer<LargeItem> buffer(
        {.name = "segments", .max_size = 20, .capacity = kCapacity},
        [&](std::span<LargeItem> items) {
          for (const LargeItem& item : items) {
            if (item.sequence != ++last[item.producer]) findings.add("out of order, or lost");
            if (item.payload.front() != item.sequence || item.payload.back() != item.sequence) {
              findings.add("mixed up");
            }
          }
        });
    std::array<std::uint32_t, kProducers> inserted{};
    Crew crew;
    crew.add(kProducers, [&](std::size_t producer) {
      inserted[producer] = insert_all(buffer, static_cast<std::uint32_t>(producer), budget);
    });
    std::size_t most_bytes = 0;
    while (budget.is_left()) {
      most_bytes = std::max(most_bytes, buffer.info()[0].queue_bytes);
      static_cast<void>(buffer.dump());
    }
    crew.join();
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(findings.text() == "");
    for (std::size_t producer = 0; producer < kProducers; ++producer) {
      CHECK(last[producer] + 1 == inserted[producer]);
    }
    // Pending, with what each producer may pass the capacity by, and the batch that is on its way.
    const std::size_t most_pending = kCapacity + kProducers * (1 + 7);
    CHECK(most_bytes <= (most_pending / kBlockItems + 2 * kProducers) * Segments::kSegmentBytes);
  }
}
