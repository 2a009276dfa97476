// Misuse: an on_drop for items of any type; it must name the one it is for.
// Message: on_drop takes the items and why they were dropped.*no auto
#include <span>

#include "databuffer/databuffer.hpp"

databuffer::Options make_options() {
#ifdef DATABUFFER_MISUSE
  return {.name = "events", .on_drop = [](auto, const databuffer::DropInfo&) {}};
#else
  return {.name = "events", .on_drop = [](std::span<int>, const databuffer::DropInfo&) {}};
#endif
}
