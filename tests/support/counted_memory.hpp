#pragma once

#include <cstddef>
#include <functional>

// For a test program of its own: counted_memory.cpp brings an operator new, and a detail::allocate
// in the place of the library's, that count each thread's requests and refuse them when told to.
namespace databuffer::support {

/// Requests for memory on this thread so far.
[[nodiscard]] std::size_t memory_requests() noexcept;

/// Those granted, less what this thread has given back.
[[nodiscard]] std::ptrdiff_t memory_held() noexcept;

/// What it holds in bytes, as the allocator rounds them up.
[[nodiscard]] std::ptrdiff_t bytes_held() noexcept;

/// Requests for memory during `call`.
template <class Call>
[[nodiscard]] std::size_t requests_of(Call call) {
  const std::size_t before = memory_requests();
  call();
  return memory_requests() - before;
}

/// From here on this thread's n-th request, from 1, and all that follow are refused.
void refuse_memory_from(std::size_t request) noexcept;

/// As refuse_memory_from(), but only that one request is refused.
void refuse_memory_once(std::size_t request) noexcept;

/// Memory is granted again. Returns whether any was refused.
bool grant_memory() noexcept;

struct Outcome {
  bool was_refused = false;  // it asked that often
  bool has_thrown = false;   // std::bad_alloc
};

/// Runs `call` with its n-th request refused, and all that follow. (No CHECK inside: it asks, too.)
Outcome refuse_from(std::size_t request, const std::function<void()>& call);

}  // namespace databuffer::support
