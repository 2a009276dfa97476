// Misuse: a key that points to characters: the hash of the address sends equal keys different ways.
// Message: would be hashed by its address, not by its text.*std::string_view
#include <string_view>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Key = const char*;
#else
using Key = std::string_view;
#endif

databuffer::InsertStatus insert(databuffer::Buffer<int>& buffer, const char* key) {
  return buffer.insert_keyed(Key(key), 7);
}
