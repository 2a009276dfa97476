// Misuse: insert_batch() of elements that become items by an explicit constructor only: owners of
// what the caller owns, vectors of that length.
// Message: RangeOf
#include <memory>
#include <vector>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Element = int*;
#else
using Element = std::unique_ptr<int>;
#endif

void insert(databuffer::Buffer<std::unique_ptr<int>>& buffer, std::vector<Element> elements) {
  static_cast<void>(buffer.insert_batch(std::move(elements)));
}
