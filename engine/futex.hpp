#pragma once

#include <atomic>
#include <cstdint>

#include "databuffer/clock.hpp"

namespace databuffer::detail {

/// Sleeps while `word` holds `expected`, at the latest until `deadline` on the steady clock.
/// May return early for no reason. futex(2), FUTEX_WAIT_BITSET: CLOCK_MONOTONIC, absolute.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                TimePoint deadline) noexcept;

/// Wakes up to `count` threads that sleep on `word`.
void futex_wake(const std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace databuffer::detail
