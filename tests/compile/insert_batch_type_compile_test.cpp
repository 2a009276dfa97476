// Misuse: insert_batch() of a range whose elements do not make items.
// Message: RangeOf
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Range = std::vector<int*>;
#else
using Range = std::vector<const char*>;
#endif

databuffer::InsertBatchResult insert(databuffer::Buffer<std::string>& buffer, const Range& range) {
  return buffer.insert_batch(range);
}
