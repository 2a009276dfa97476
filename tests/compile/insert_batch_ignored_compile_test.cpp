// Misuse: insert_batch() may refuse some of the items, so its answer must not be ignored.
// Message: ignoring return.*the items that were refused are still the caller's
#include <vector>

#include "databuffer/databuffer.hpp"

bool insert(databuffer::Buffer<int>& buffer, const std::vector<int>& items) {
#ifdef DATABUFFER_MISUSE
  buffer.insert_batch(items);
  return true;
#else
  return buffer.insert_batch(items).accepted == items.size();
#endif
}
