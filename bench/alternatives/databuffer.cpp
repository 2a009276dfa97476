#include "bench/alternatives/databuffer_contender.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> databuffer_entries() {
  return {make_entry<DatabufferContender, std::uint64_t>("databuffer"),
          make_entry<DatabufferContender, Item64>("databuffer"),
          make_entry<DatabufferContender, std::string>("databuffer")};
}

}  // namespace databuffer::bench
