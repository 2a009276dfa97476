#include "engine/drain.hpp"

#include <algorithm>

#include "databuffer/detail/assert.hpp"

namespace databuffer::detail {

Drain::Drain(Lane& lane, const FlushRequests& requests)
    : lane_(lane), requests_(requests), staged_(lane.make_cargo()) {}

void Drain::add(Slot& slot) {
  Producer& producer = producers_.emplace_back(slot);
  producer.next = first_.load(std::memory_order_relaxed);  // relaxed: its only writer, by the mutex
  // release: who finds the producer finds it whole.
  first_.store(&producer, std::memory_order_release);
  slot_count_.store(producers_.size(), std::memory_order_relaxed);  // relaxed: a statistic
}

std::uint64_t Drain::inserted() const noexcept {
  std::uint64_t items = 0;
  for (const Producer* producer = first(); producer != nullptr; producer = producer->next) {
    // acquire: pairs with [P3]: a counted item is in the queue. (seq_cst costs the same here, and
    // is what the handshakes ask for where there is no membarrier.)
    items += Slot::items_of(producer->slot->word.load(std::memory_order_seq_cst));
  }
  return items;
}

bool Drain::has_producer_inside() const noexcept {
  for (const Producer* producer = first(); producer != nullptr; producer = producer->next) {
    // seq_cst: pairs with [P1]: close has set `attention` and passed a heavy fence before.
    if ((producer->slot->word.load(std::memory_order_seq_cst) & Slot::kInside) != 0) return true;
  }
  return false;
}

std::size_t Drain::slot_count() const noexcept {
  return slot_count_.load(std::memory_order_relaxed);  // relaxed: a statistic
}

std::size_t Drain::take(std::size_t count, Cargo& to) noexcept {
  count = std::min(count, to.room());
  std::size_t taken = std::min(count, staged_->size());
  staged_->move_front(taken, to);
  while (taken < count) {
    if (cursor_ == nullptr) {
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
  if (cursor_ == nullptr && staged_->size() == 0) covered_ = pass_number_;
  return taken;
}

void Drain::stage_all() {
  // The rest of the pass that is under way, then one more: that covers what was there at the call.
  for (int pass = 0; pass < 2; ++pass) {
    if (cursor_ == nullptr && !begin_pass()) return;
    std::uint64_t left = 0;
    for (const Producer* producer = cursor_; producer != nullptr; producer = producer->next) {
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

Drain::Producer* Drain::first() const noexcept {
  return first_.load(std::memory_order_acquire);  // acquire: pairs with add()
}

bool Drain::begin_pass() noexcept {
  pass_number_ = requests_.asked();  // Before the counts: see FlushRequests.
  cursor_ = first();
  for (Producer* producer = cursor_; producer != nullptr; producer = producer->next) {
    // acquire: pairs with [P3].
    producer->pass_end = Slot::items_of(producer->slot->word.load(std::memory_order_acquire));
  }
  skip_finished();
  return cursor_ != nullptr;
}

void Drain::skip_finished() noexcept {
  while (cursor_ != nullptr && cursor_->drained == cursor_->pass_end) cursor_ = cursor_->next;
}

}  // namespace databuffer::detail
