#include "support/counted_memory.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "databuffer/detail/memory.hpp"

namespace databuffer::support {
namespace {

thread_local std::size_t requests = 0;
thread_local std::ptrdiff_t held = 0;
thread_local std::ptrdiff_t held_bytes = 0;
thread_local std::size_t refused_from = 0;  // requests to go until one is refused; 0: none is
thread_local bool is_refused_once = false;  // and the next ones are granted again
thread_local bool was_refused = false;

bool ask() noexcept {
  ++requests;
  if (refused_from == 0) return true;
  if (refused_from > 1) {
    --refused_from;
    return true;
  }
  was_refused = true;
  if (is_refused_once) refused_from = 0;
  return false;
}

std::ptrdiff_t size_of(void* memory) noexcept {
  return static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (!ask()) return nullptr;
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes == 0 ? 1 : bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) {
    ++held;
    held_bytes += size_of(memory);
  }
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory != nullptr) {
    --held;
    held_bytes -= size_of(memory);
  }
  std::free(memory);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::size_t memory_requests() noexcept { return requests; }

std::ptrdiff_t memory_held() noexcept { return held; }

std::ptrdiff_t bytes_held() noexcept { return held_bytes; }

void refuse_memory_from(std::size_t request) noexcept {
  refused_from = request;
  is_refused_once = false;
  was_refused = false;
}

void refuse_memory_once(std::size_t request) noexcept {
  refuse_memory_from(request);
  is_refused_once = true;
}

bool grant_memory() noexcept {
  refused_from = 0;
  return was_refused;
}

Outcome refuse_from(std::size_t request, const std::function<void()>& call) {
  Outcome outcome;
  refuse_memory_from(request);
  try {
    call();
  } catch (const std::bad_alloc&) {
    outcome.has_thrown = true;
  }
  outcome.was_refused = grant_memory();
  return outcome;
}

}  // namespace databuffer::support

namespace databuffer::detail {

// In the place of engine/memory.cpp, which the linker then leaves in the archive.
void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return support::take(bytes, alignment);
}
void release(void* storage, std::size_t) noexcept { support::give_back(storage); }
const char* allocator_name() noexcept { return "the test's"; }

}  // namespace databuffer::detail

void* operator new(std::size_t bytes) {
  return databuffer::support::take_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return databuffer::support::take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return databuffer::support::take(bytes, alignof(std::max_align_t));
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  databuffer::support::give_back(memory);
}
void operator delete(void* memory) noexcept { databuffer::support::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { databuffer::support::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  databuffer::support::give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  databuffer::support::give_back(memory);
}
