#include "bench/alternatives/ceiling.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

namespace {
template <class T, class Handler>
using CeilingOfLibrary = Ceiling<T, Handler>;  // with the library's block size
}  // namespace

std::vector<Entry> ceiling_entries() {
  return {make_entry<CeilingOfLibrary, std::uint64_t>("ceiling"),
          make_entry<CeilingOfLibrary, Item64>("ceiling"),
          make_entry<CeilingOfLibrary, std::string>("ceiling")};
}

}  // namespace databuffer::bench
