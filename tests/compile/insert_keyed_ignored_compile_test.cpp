// Misuse: insert_keyed() may refuse, so its answer must not be ignored.
// Message: ignoring return.*a refused item is still the caller's
#include "databuffer/databuffer.hpp"

bool insert(databuffer::Buffer<int>& buffer) {
#ifdef DATABUFFER_MISUSE
  buffer.insert_keyed(1, 7);
  return true;
#else
  return buffer.insert_keyed(1, 7) == databuffer::InsertStatus::kAccepted;
#endif
}
