// Misuse: a key whose type has no std::hash.
// Message: a key's type needs a std::hash
#include "databuffer/databuffer.hpp"

struct User {
  int id = 0;
};

databuffer::InsertStatus insert(databuffer::Buffer<int>& buffer, const User& user) {
#ifdef DATABUFFER_MISUSE
  return buffer.insert_keyed(user, 7);
#else
  return buffer.insert_keyed(user.id, 7);
#endif
}
