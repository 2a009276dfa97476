// Misuse: try_insert() may refuse, so its answer must not be ignored.
// Message: ignoring return
#include "databuffer/databuffer.hpp"

bool insert(databuffer::Buffer<int>& buffer) {
#ifdef DATABUFFER_MISUSE
  buffer.try_insert(7);
  return true;
#else
  return buffer.try_insert(7) == databuffer::InsertStatus::kAccepted;
#endif
}
