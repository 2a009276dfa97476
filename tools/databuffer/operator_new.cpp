// What `new` does in the command where it runs on mimalloc: std::bad_alloc when there is no memory.
//
// Debian's libmimalloc is compiled as C, and C cannot throw: its operator new calls abort(). Then
// the command would end without a message, without a summary, and with its scratch files left. So
// these come first in link order, and take their memory from malloc, which is mimalloc's.
//
// For the executable only: a library must not choose its user's allocator.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// As the standard wants it: asks the new-handler, if there is one, and tries again.
template <class Allocate>
void* allocate_or_throw(Allocate allocate) {
  for (;;) {
    void* const memory = allocate();
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

// malloc(0) may answer with null, which would look like a failure.
std::size_t at_least_one(std::size_t size) noexcept { return std::max<std::size_t>(size, 1); }

void* allocate(std::size_t size) {
  return allocate_or_throw([size] { return std::malloc(at_least_one(size)); });
}

void* allocate(std::size_t size, std::align_val_t alignment) {
  const std::size_t bytes = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  return allocate_or_throw([size, bytes]() -> void* {
    void* memory = nullptr;
    return ::posix_memalign(&memory, bytes, at_least_one(size)) == 0 ? memory : nullptr;
  });
}

template <class... Arguments>
void* allocate_or_null(Arguments... arguments) noexcept {
  try {
    return allocate(arguments...);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, alignment);
}

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(size);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
  return allocate_or_null(size, alignment);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/,
                     const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/,
                       const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
