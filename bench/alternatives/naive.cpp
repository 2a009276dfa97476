#include "bench/alternatives/naive.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> naive_entries() {
  return {make_entry<Naive, std::uint64_t>("naive"), make_entry<Naive, Item64>("naive"),
          make_entry<Naive, std::string>("naive")};
}

}  // namespace databuffer::bench
