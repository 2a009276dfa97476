#pragma once

#include <atomic>
#include <cstdint>

#include "databuffer/clock.hpp"
#include "engine/roles.hpp"

namespace databuffer::detail {

/// The right to remove items from a partition, held by one thread at a time: its consumer for the
/// moment it gathers a batch, take(), dump(), and an insert that drops the oldest.
///
/// Not a lock in the sense of the contract: nobody needs it to insert, count, flush or look, no
/// handler or hook runs under it, and a thread that holds it knows that it does (RoleFrame). Items
/// are moved under it, so an item's constructor runs; what that may call is decided by the
/// RoleFrame.
class Turn {
 public:
  class Holder {
   public:
    Holder(Turn& turn, const Core& core) noexcept : turn_(&turn), role_(core, &turn) {}
    ~Holder() { turn_->give_back(); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    Turn* turn_;
    RoleFrame role_;
  };

  /// Returns whether the calling thread has it now; it then makes a Holder.
  [[nodiscard]] bool try_acquire() noexcept;
  [[nodiscard]] bool acquire_until(TimePoint deadline) noexcept;
  void acquire() noexcept { static_cast<void>(acquire_until(TimePoint::max())); }

 private:
  enum State : std::uint32_t { kFree, kHeld, kAwaited };

  void give_back() noexcept;

  std::atomic<std::uint32_t> state_{kFree};  // a futex
};

}  // namespace databuffer::detail
