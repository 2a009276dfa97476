// Misuse: an on_drop that does not take the items and a DropInfo.
// Message: on_drop takes the items and why they were dropped
#include <span>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Info = int;
#else
using Info = const databuffer::DropInfo&;
#endif

databuffer::Options make_options() {
  return {.name = "events", .on_drop = [](std::span<int>, Info) {}};
}
