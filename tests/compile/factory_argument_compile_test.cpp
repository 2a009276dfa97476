// Misuse: a per_partition factory that cannot be told its partition.
// Message: a per_partition factory is callable with the partition's index, a std::size_t
#include <span>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
auto make_handler() {
#else
auto make_handler(std::size_t /*partition_index*/) {
#endif
  return [](std::span<int>) {};
}

void run() {
  const auto buffer = databuffer::Buffer<int>::per_partition({.name = "events"}, make_handler);
}
