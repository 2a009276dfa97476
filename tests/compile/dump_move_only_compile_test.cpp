// Misuse: dump() copies, so it cannot serve an item type that only moves; take() can.
// Message: dump\(\) copies the pending items, and this item type cannot be copied
#include <memory>
#include <vector>

#include "databuffer/databuffer.hpp"

using Item = std::unique_ptr<int>;

std::vector<Item> look(databuffer::Buffer<Item>& buffer) {
#ifdef DATABUFFER_MISUSE
  return buffer.dump();
#else
  return buffer.take();
#endif
}
