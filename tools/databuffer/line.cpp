#include "tools/databuffer/line.hpp"

#include "databuffer/detail/assert.hpp"

namespace databuffer::tools {

Chunk::Chunk(Source& source, std::size_t capacity, TextMemory& memory)
    : source_(&source),
      memory_(&memory),
      capacity_(capacity),
      bytes_(std::make_unique_for_overwrite<char[]>(capacity)) {}  // NOLINT: as above

Chunk* Chunk::make(Source& source, std::size_t capacity, TextMemory& memory) {
  return new Chunk(source, capacity, memory);
}

void Chunk::retire(std::uint64_t lines) noexcept {
  DATABUFFER_ASSERT(lines <= capacity_);
  memory_->add(capacity_);
  release(kStock - lines);
}

void Chunk::destroy() noexcept {
  memory_->remove(capacity_);
  delete this;
}

}  // namespace databuffer::tools
