// Misuse: an item whose destructor may throw.
// Message: the item type must be movable and destructible without throwing
#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
constexpr bool kIsNothrow = false;
#else
constexpr bool kIsNothrow = true;
#endif

struct Item {
  Item() = default;
  Item(Item&&) noexcept {}
  ~Item() noexcept(kIsNothrow) {}
};

void insert(databuffer::Buffer<Item>& buffer) { static_cast<void>(buffer.insert(Item{})); }
