// Misuse: a handler that does not take a batch.
// Message: a flush handler for items of T is callable with std::span<T> or databuffer::Batch<T>&
#include <span>
#include <vector>

#include "databuffer/databuffer.hpp"

#ifdef DATABUFFER_MISUSE
using Batch = const std::vector<int>&;
#else
using Batch = std::span<int>;
#endif

void run() {
  const databuffer::Buffer<int> buffer{{.name = "events"}, [](Batch) {}};
}
