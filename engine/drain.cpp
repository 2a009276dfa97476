#include "engine/drain.hpp"

#include <algorithm>
#include <memory>

#include "databuffer/detail/assert.hpp"
#include "engine/gate.hpp"

namespace databuffer::detail {

namespace {

// Items that are unpacked at a time to be weighed.
constexpr std::size_t kWeighItems = 64;

}  // namespace

Drain::Drain(Lane& lane, const FlushRequests& requests, const Weigh* weigh)
    : lane_(lane), requests_(requests), weigh_(weigh), staged_(lane.make_cargo()) {
  if (weigh_ != nullptr) staged_->reserve(kWeighItems);
}

Drain::~Drain() {
  for (Producer* producer = newest(); producer != nullptr;) {
    const std::unique_ptr<Producer> gone(producer);
    producer = gone->older;
    lane_.free_slot(*gone->slot);
  }
}

Drain::Producer& Drain::add() {
  const MutexLock lock(list_mutex_);
  auto producer = std::make_unique<Producer>(lane_.make_slot());
  // relaxed: written under the lock.
  producer->older = newest_.load(std::memory_order_relaxed);
  // release: who finds the producer finds it whole.
  newest_.store(producer.get(), std::memory_order_release);
  slot_count_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  return *producer.release();
}

void Drain::depart(Producer& producer) noexcept {
  const MutexLock lock(list_mutex_);
  producer.has_departed = true;
  // relaxed: a hint; who rings the consumer after it has it seen.
  departed_count_.fetch_add(1, std::memory_order_relaxed);
  departures_.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t Drain::departures() const noexcept {
  return departures_.load(std::memory_order_relaxed);  // relaxed: as in depart()
}

std::size_t Drain::departed_count() const noexcept {
  return departed_count_.load(std::memory_order_relaxed);  // relaxed: as in depart()
}

std::size_t Drain::forget_departed() noexcept {
  std::size_t forgotten = 0;
  Producer* gone = nullptr;
  {
    const MutexLock lock(list_mutex_);
    // relaxed, all five: the lock, the turn and the consumer's own order exclude every reader.
    Producer* producer = newest_.load(std::memory_order_relaxed);
    Producer* kept = nullptr;
    while (producer != nullptr) {
      Producer* const older = producer->older;
      // relaxed: a producer that has departed writes no more.
      const std::uint64_t items =
          Slot::items_of(producer->slot->word.load(std::memory_order_relaxed));
      if (!producer->has_departed || producer->drained != items) {
        kept = producer;
      } else {
        if (kept == nullptr) {
          newest_.store(older, std::memory_order_relaxed);  // relaxed: the lock excludes readers
        } else {
          kept->older = older;
        }
        // A pass goes the other way. It is not at this producer, of which nothing is left.
        if (older != nullptr && older->newer == producer) older->newer = producer->newer;
        forgotten_items_ += items;
        departed_count_.fetch_sub(1, std::memory_order_relaxed);
        slot_count_.fetch_sub(1, std::memory_order_relaxed);
        producer->older = gone;
        gone = producer;
        ++forgotten;
      }
      producer = older;
    }
  }
  while (gone != nullptr) {
    const std::unique_ptr<Producer> producer(gone);
    gone = producer->older;
    const MutexLock lock(list_mutex_);  // as add(): one at a time
    lane_.free_slot(*producer->slot);
  }
  return forgotten;
}

std::uint64_t Drain::inserted() const noexcept {
  const MutexLock lock(list_mutex_);
  return inserted_here();
}

std::uint64_t Drain::inserted_here() const noexcept {
  std::uint64_t items = forgotten_items_;
  for (const Producer* producer = newest(); producer != nullptr; producer = producer->older) {
    // acquire: pairs with [P3]: a counted item is in the queue. (seq_cst costs the same here, and
    // is what the handshakes ask for where there is no membarrier.)
    items += Slot::items_of(producer->slot->word.load(std::memory_order_seq_cst));
  }
  return items;
}

bool Drain::has_producer_inside() const noexcept {
  const MutexLock lock(list_mutex_);
  for (const Producer* producer = newest(); producer != nullptr; producer = producer->older) {
    // seq_cst: pairs with [P1]: close has set `attention` and passed a heavy fence before.
    if ((producer->slot->word.load(std::memory_order_seq_cst) & Slot::kInside) != 0) return true;
  }
  return false;
}

std::size_t Drain::slot_count() const noexcept {
  return slot_count_.load(std::memory_order_relaxed);  // relaxed: a statistic
}

Drain::Taken Drain::take(std::size_t count, std::size_t max_weight, Cargo& to) noexcept {
  count = std::min(count, to.room());
  Taken taken;
  if (weigh_ != nullptr) {
    taken = take_weighed(count, max_weight, to);
  } else {
    taken.items = std::min(count, staged_->size());
    staged_->move_front(taken.items, to);
    if (taken.items > 0 && staged_->size() == 0) staged_->free_storage();
    taken.items += dequeue(count - taken.items, to);
  }
  if (cursor_ == nullptr && staged_->size() == 0) covered_ = pass_number_;
  return taken;
}

// Moves up to `count` items from the queues, pass by pass.
std::size_t Drain::dequeue(std::size_t count, Cargo& to) noexcept {
  std::size_t taken = 0;
  while (taken < count) {
    if (cursor_ == nullptr) {
      if (taken > 0 && &to == staged_.get()) break;  // They have not left yet.
      covered_ = pass_number_;  // That pass has left, and so has what was staged before it.
      if (!begin_pass()) break;
    }
    const std::uint64_t left = cursor_->pass_end - cursor_->drained;
    const std::size_t wanted = std::min<std::uint64_t>(left, count - taken);
    const std::size_t got = lane_.dequeue(*cursor_->slot, wanted, to);
    DATABUFFER_ASSERT(got == wanted);
    if (got == 0) break;  // Cannot be; a lost item must not become a hang as well.
    cursor_->drained += got;
    taken += got;
    skip_finished();
  }
  return taken;
}

// Item by item: the first that would make it too heavy stays in front.
Drain::Taken Drain::take_weighed(std::size_t count, std::size_t max_weight, Cargo& to) noexcept {
  Taken taken;
  while (taken.items < count) {
    if (staged_->size() == 0) {
      is_staged_of_all_ = false;  // dequeue() stages no further than to the end of a pass.
      if (dequeue(std::min(kWeighItems, staged_->room()), *staged_) == 0) break;
    }
    const std::size_t weight = weight_of(staged_->at(0));
    if (taken.items > 0 && max_weight > 0 && taken.weight + weight > max_weight) break;
    staged_->move_front(1, to);
    ++taken.items;
    taken.weight += weight;
  }
  return taken;
}

std::size_t Drain::weight_of(void* item) const noexcept {
  try {
    return std::min((*weigh_)(item), kHeaviestItem);
  } catch (...) {
    return 0;  // It did not throw at the insert: the contract of `weigh` is broken.
  }
}

void Drain::stage_all() {
  is_staged_of_all_ = true;
  // The rest of the pass that is under way, then one more: that covers what was there at the call.
  for (int pass = 0; pass < 2; ++pass) {
    if (cursor_ == nullptr && !begin_pass()) return;
    std::uint64_t left = 0;
    for (const Producer* producer = cursor_; producer != nullptr; producer = producer->newer) {
      left += producer->pass_end - producer->drained;
    }
    staged_->reserve(left);
    while (cursor_ != nullptr) {
      const std::uint64_t wanted = cursor_->pass_end - cursor_->drained;
      const std::size_t got = lane_.dequeue(*cursor_->slot, wanted, *staged_);
      DATABUFFER_ASSERT(got == wanted);
      if (got == 0) return;  // As in take().
      cursor_->drained += got;
      skip_finished();
    }
  }
}

Drain::Taken Drain::staged_total() const noexcept {
  Taken total{.items = staged_->size()};
  if (weigh_ == nullptr) return total;
  for (std::size_t index = 0; index < total.items; ++index) {
    total.weight += weight_of(staged_->at(index));
  }
  return total;
}

void Drain::discard_staged() noexcept {
  staged_->clear();
  if (weigh_ == nullptr) staged_->free_storage();
  if (cursor_ == nullptr) covered_ = pass_number_;
}

Drain::Producer* Drain::newest() const noexcept {
  return newest_.load(std::memory_order_acquire);  // acquire: pairs with add()
}

bool Drain::begin_pass() noexcept {
  ++passes_;
  pass_number_ = requests_.asked();  // Before the counts: see FlushRequests.
  // From the newest to the oldest: see the top of drain.hpp.
  for (Producer* producer = newest(); producer != nullptr; producer = producer->older) {
    // acquire: pairs with [P3]; and the older slots are read after it.
    producer->pass_end = Slot::items_of(producer->slot->word.load(std::memory_order_acquire));
    producer->newer = cursor_;
    cursor_ = producer;
  }
  skip_finished();
  return cursor_ != nullptr;
}

void Drain::skip_finished() noexcept {
  while (cursor_ != nullptr && cursor_->drained == cursor_->pass_end) cursor_ = cursor_->newer;
}

}  // namespace databuffer::detail
