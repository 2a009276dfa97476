// Misuse: inserting a move-only item without giving it away.
// Message: deleted
#include <memory>
#include <utility>

#include "databuffer/databuffer.hpp"

using Item = std::unique_ptr<int>;

databuffer::InsertStatus insert(databuffer::Buffer<Item>& buffer, Item& item) {
#ifdef DATABUFFER_MISUSE
  return buffer.insert(item);
#else
  return buffer.insert(std::move(item));
#endif
}
