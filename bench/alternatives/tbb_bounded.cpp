#include "bench/alternatives/tbb_bounded.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> tbb_bounded_entries() {
  return {make_entry<TbbBounded, std::uint64_t>("tbb_bounded"),
          make_entry<TbbBounded, Item64>("tbb_bounded"),
          make_entry<TbbBounded, std::string>("tbb_bounded")};
}

}  // namespace databuffer::bench
