#pragma once

#include <cstddef>

namespace databuffer::detail {

/// Storage for queue blocks and batches: mimalloc where the library was built with it
/// (DATABUFFER_MIMALLOC), else the C allocator. Compiled once, so that both sides always agree.
/// Returns null when there is none.
[[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
void release(void* storage, std::size_t alignment) noexcept;

/// Where the storage comes from: "mimalloc" or "malloc".
[[nodiscard]] const char* allocator_name() noexcept;

}  // namespace databuffer::detail
