// Misuse: a buffer is one thing with threads of its own; it cannot be copied.
// Message: deleted
#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Parameter = databuffer::Buffer<int>;
#else
using Parameter = databuffer::Buffer<int>&;
#endif

std::size_t count(Parameter buffer) { return buffer.size(); }

std::size_t run(databuffer::Buffer<int>& buffer) { return count(buffer); }
