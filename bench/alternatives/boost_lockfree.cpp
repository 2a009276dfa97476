#include "bench/alternatives/boost_lockfree.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> boost_lockfree_entries() {
  return {make_entry<BoostLockfree, std::uint64_t>("boost_lockfree"),
          make_entry<BoostLockfree, Item64>("boost_lockfree")};
}

}  // namespace databuffer::bench
