#include "databuffer/detail/memory.hpp"

#include <cstdlib>
#include <new>

#ifdef DATABUFFER_HAS_MIMALLOC
#include <mimalloc.h>
#endif

namespace databuffer::detail {

#ifdef DATABUFFER_HAS_MIMALLOC

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return mi_malloc_aligned(bytes, alignment);
}
void release(void* storage, std::size_t /*alignment*/) noexcept { mi_free(storage); }
const char* allocator_name() noexcept { return "mimalloc"; }

#else

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void release(void* storage, std::size_t /*alignment*/) noexcept { std::free(storage); }
const char* allocator_name() noexcept { return "malloc"; }

#endif

}  // namespace databuffer::detail
