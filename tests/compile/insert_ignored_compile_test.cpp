// Misuse: insert() may refuse, so its answer must not be ignored.
// Message: ignoring return.*a refused item is still the caller's
#include "databuffer/databuffer.hpp"

bool insert(databuffer::Buffer<int>& buffer) {
#ifdef DATABUFFER_MISUSE
  buffer.insert(7);
  return true;
#else
  return buffer.insert(7) == databuffer::InsertStatus::kAccepted;
#endif
}
