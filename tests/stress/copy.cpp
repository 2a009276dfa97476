#include "stress/copy.hpp"

#include <chrono>
#include <list>
#include <utility>
#include <vector>

namespace databuffer::stress {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Buffer<Item>> start(const Options& options, const Copy::Handler& handler) {
  return std::make_unique<Buffer<Item>>(options, handler);
}

InsertStatus insert(Buffer<Item>& buffer, const Item& item, Random& random) {
  switch (random.number(0, 4)) {
    case 0:
      return buffer.try_insert(item);
    case 1:
      return buffer.insert(item, std::chrono::microseconds{random.number(0, 500)});
    case 2:
      // One key for each producer: the items of a key keep their order anyhow.
      return buffer.insert_keyed(item.producer, item);
    default:
      return buffer.insert(item);
  }
}

InsertBatchResult insert_vector(Buffer<Item>& buffer, const std::vector<Item>& items,
                                Duration timeout) {
  return buffer.insert_batch(items, timeout);
}

InsertBatchResult insert_list(Buffer<Item>& buffer, std::list<Item> items) {
  return buffer.insert_batch(std::move(items), 1ms);
}

}  // namespace
}  // namespace databuffer::stress

databuffer::stress::Copy databuffer_test_copy() {
  return {.start = &databuffer::stress::start,
          .insert = &databuffer::stress::insert,
          .insert_vector = &databuffer::stress::insert_vector,
          .insert_list = &databuffer::stress::insert_list};
}
