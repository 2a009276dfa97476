// Misuse: a buffer does not move, so a vector of buffers cannot grow; here is how to keep several.
// Message: deleted
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"

using Buffer = databuffer::Buffer<int>;

void store(std::span<int> items);
void (*make_handler(std::size_t partition_index))(std::span<int>);

#ifdef DATABUFFER_MISUSE
void keep(std::vector<Buffer>& vector) {
  vector.emplace_back(databuffer::Options{.name = "events"}, store);
}
#endif

std::size_t run() {
  std::map<std::string, Buffer> map;
  map.try_emplace("events", databuffer::Options{.name = "events"}, store);
  std::deque<Buffer> deque;
  deque.emplace_back(databuffer::Options{.name = "events"}, store);
  std::optional<Buffer> optional;
  optional.emplace(databuffer::Options{.name = "events"}, store);
  std::vector<std::unique_ptr<Buffer>> vector;
  vector.push_back(std::make_unique<Buffer>(databuffer::Options{.name = "events"}, store));
  vector.emplace_back(new Buffer(Buffer::per_partition({.name = "events"}, make_handler)));
  const std::array<Buffer, 2> array{Buffer{{.name = "a"}, store}, Buffer{{.name = "b"}, store}};
  return map.size() + deque.size() + optional->size() + vector.size() + array[0].size();
}
