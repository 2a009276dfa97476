// Misuse: a key that points to bytes, through a pointer that is not const.
// Message: would be hashed by its address, not by its text.*std::string_view
#include <cstdint>

#include "databuffer/databuffer.hpp"

databuffer::InsertStatus insert(databuffer::Buffer<int>& buffer, unsigned char* key) {
#ifdef DATABUFFER_MISUSE
  return buffer.insert_keyed(key, 7);
#else
  return buffer.insert_keyed(*key, 7);
#endif
}
