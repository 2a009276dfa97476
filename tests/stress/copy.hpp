#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random_numbers.hpp"
#include "stress/witness.hpp"

namespace databuffer::stress {

/// The code of one copy of the library: the program's, or that of a plugin made of the same file.
/// Buffers go from one to the other.
struct Copy {
  using Handler = std::function<FlushResult(std::span<Item>, const FlushContext&)>;

  std::unique_ptr<Buffer<Item>> (*start)(const Options& options, const Handler& handler);
  /// In one way of many.
  InsertStatus (*insert)(Buffer<Item>& buffer, const Item& item, Random& random);
  InsertBatchResult (*insert_vector)(Buffer<Item>& buffer, const std::vector<Item>& items,
                                     Duration timeout);
  InsertBatchResult (*insert_list)(Buffer<Item>& buffer, std::list<Item> items);
};

}  // namespace databuffer::stress

extern "C" [[gnu::visibility("default")]] databuffer::stress::Copy databuffer_test_copy();
