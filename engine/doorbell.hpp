#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "databuffer/clock.hpp"
#include "databuffer/detail/cache_line.hpp"
#include "databuffer/detail/fence.hpp"

namespace databuffer::detail {

// How a consumer sleeps until the batch it waits for is complete, without a shared write or a fence
// in each insert. Two layers:
//
// The parker (`state_`): ring() leaves a token or wakes the sleeper; sleep_until() takes the token
// or sleeps. A ring is never lost, whichever comes first.
//
// The countdown (`watch_`, `missing_`): a consumer that wants to be rung at the threshold-th
// pending item calls arm(). While `watch_` is set, every producer counts its items down after
// publishing them; the one that takes `missing_` from above zero to zero or below rings.
//
//   Invariant: while armed, missing_ <= threshold - (items published). So the ring comes no later
//   than the threshold-th item. It may come early, by items that are counted twice in the instant
//   of arming; the consumer then looks, and arms again.
//
// The lost-wakeup rule: a producer publishes its item [P3], passes a light fence, and reads
// `watch_` [P4]. arm() sets `watch_` [A1], passes a heavy fence, and counts again [A2]. So a
// producer that saw no watch has its item in that count, and every other counts itself down.
// Checked by tests/model/park_ring.pml and tests/stress/doorbell_stress_test.cpp.
class Doorbell {
 public:
  static constexpr Duration kNoTime = Duration::min();

  /// Read by producers after each insert: not 0 while somebody waits for a count.
  [[nodiscard]] const std::atomic<std::uint64_t>& watch() const noexcept { return watch_; }

  // Producers.

  /// `items` were published and `watch` was set. Returns whether this call rang.
  bool count_down(std::size_t items, const Clock& clock) noexcept;

  /// Any thread: wakes the consumer, now or at its next sleep.
  void ring() noexcept;

  /// The buffer gives up: from now on every insert that has published its items finds a watch, and
  /// the consumer arms no more. A heavy fence must follow. Any thread.
  void seal() noexcept;
  [[nodiscard]] bool is_sealed() const noexcept;

  // The consumer.

  /// Asks to be rung when `count()`, which must include every published item, reaches `threshold`.
  /// Returns false, unarmed, if it has already, or if a producer that comes late with an item long
  /// gone has used the arming up: then look, and try again. Requires: not armed.
  template <class Count>
  [[nodiscard]] bool arm(std::size_t threshold, Count count) noexcept {
    const auto wanted = static_cast<std::int64_t>(threshold);
    const auto before = static_cast<std::int64_t>(count());
    if (before >= wanted) return false;
    begin_watch(wanted - before);
    heavy_fence();
    // Order matters: those already counted down are read first, so that an item in both is
    // subtracted twice (an early ring), never not at all (a late one).
    const std::int64_t counted_down = (wanted - before) - missing();
    const auto after = static_cast<std::int64_t>(count());  // [A2]
    correct(after - before - counted_down);
    if (is_armed()) return true;
    disarm();
    return false;
  }

  void disarm() noexcept;

  /// Whether the last arming can still ring. It cannot once it has rung, be it for an item that
  /// take() has removed since, or for one that was counted down late.
  [[nodiscard]] bool is_armed() const noexcept;

  /// When the item that was waited for came, or kNoTime; forgets it.
  [[nodiscard]] Duration take_rung_at() noexcept;

  /// Sleeps until a ring or the deadline (steady clock). A ring since the last call returns at
  /// once.
  void sleep_until(TimePoint deadline) noexcept;

  // Statistics, any thread.
  [[nodiscard]] Duration rung_at() const noexcept;  // as take_rung_at(), which it leaves alone
  [[nodiscard]] std::uint64_t rings() const noexcept;
  [[nodiscard]] std::uint64_t wake_ups() const noexcept;

 private:
  friend struct Layout;

  enum State : std::uint32_t { kAwake, kRung, kAsleep };
  static constexpr std::uint64_t kSealed = std::uint64_t{1} << 63U;

  void begin_watch(std::int64_t missing) noexcept;
  [[nodiscard]] std::int64_t missing() const noexcept;
  void correct(std::int64_t unseen) noexcept;

  // Read by every producer at every insert: on a line of its own, the second of its pair, quiet
  // while the partition is hot. Written by the consumer, and once by the producer that rings. 0, or
  // the number of the arming; kSealed for good once the buffer has given up.
  alignas(kDestructiveBytes) char before_[kLineBytes]{};
  std::atomic<std::uint64_t> watch_{0};

  // Written by producers while armed, and by the consumer.
  alignas(kDestructiveBytes) std::atomic<std::int64_t> missing_{0};
  std::atomic<Duration> rung_at_{kNoTime};    // written by the producer that rings
  std::atomic<std::uint32_t> state_{kAwake};  // a futex: see State
  std::atomic<std::uint64_t> rings_{0};       // written by whoever rings

  // The consumer's own.
  alignas(kDestructiveBytes) std::uint64_t armings_ = 0;
  std::atomic<std::uint64_t> wake_ups_{0};  // written by the consumer; read by info()
};

}  // namespace databuffer::detail
