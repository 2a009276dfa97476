// Misuse: a weigher that could change the item.
// Message: weigh takes one item, by value or by const reference
#include <string>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Item = std::string&;
#else
using Item = std::string;
#endif

databuffer::Options make_options() {
  return {.name = "events", .weigh = [](Item item) noexcept { return item.size(); }};
}
