// Misuse: a weigher for items of any type; it must name the one it is for.
// Message: weigh takes one item, by value or by const reference.*no auto
#include <string>

#include "databuffer/databuffer.hpp"

databuffer::Options make_options() {
#ifdef DATABUFFER_MISUSE
  return {.name = "events", .weigh = [](const auto& item) { return item.size(); }};
#else
  return {.name = "events", .weigh = [](const std::string& item) { return item.size(); }};
#endif
}
