// Misuse: a per_partition factory that returns something that is no handler.
// Message: a per_partition factory returns a flush handler for items of T
#include <span>

#include "databuffer/databuffer.hpp"

auto make_handler(std::size_t partition_index) {
#ifdef DATABUFFER_MISUSE
  return partition_index;
#else
  return [partition_index](std::span<int> batch) { return batch.size() > partition_index; };
#endif
}

void run() {
  const auto buffer = databuffer::Buffer<int>::per_partition({.name = "events"}, make_handler);
}
