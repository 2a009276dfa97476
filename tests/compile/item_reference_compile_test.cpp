// Misuse: a buffer of references would keep what its caller may destroy.
// Message: the item type is a value
#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Item = int&;
#else
using Item = int;
#endif

std::size_t count(const databuffer::Buffer<Item>& buffer) { return buffer.size(); }
