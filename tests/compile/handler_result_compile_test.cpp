// Misuse: a handler whose answer says neither done nor failed.
// Message: a flush handler returns void, bool or databuffer::FlushResult
#include <span>
#include <string>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Outcome = std::string;
#else
using Outcome = databuffer::FlushResult;
#endif

void run() {
  const databuffer::Buffer<int> buffer{{.name = "events"},
                                       [](std::span<int>) { return Outcome{}; }};
}
