// A shared library that owns a buffer, for library_stress_test.cpp: loaded, used, and unloaded
// while the process goes on. It has its own copy of the engine.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>

#include "databuffer/databuffer.hpp"

namespace {

std::atomic<std::size_t>* handled = nullptr;  // borrowed from the process; set before any insert

databuffer::Buffer<int>& buffer() {
  static databuffer::Buffer<int> items(
      {.name = "library", .partitions = 2, .flush_interval = std::chrono::hours{1}},
      [](std::span<int> batch) { handled->fetch_add(batch.size()); });
  return items;
}

}  // namespace

extern "C" {

/// Where the handler counts.
[[gnu::visibility("default")]] void library_count_in(std::atomic<std::size_t>* count) {
  handled = count;
}

/// Returns how many of `count` items went in.
[[gnu::visibility("default")]] int library_insert(int count) {
  int accepted = 0;
  for (int item = 0; item < count; ++item) {
    if (buffer().insert(int{item}) == databuffer::InsertStatus::kAccepted) ++accepted;
  }
  return accepted;
}
}
