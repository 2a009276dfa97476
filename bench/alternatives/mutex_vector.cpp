#include "bench/alternatives/mutex_vector.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> mutex_vector_entries() {
  return {make_entry<MutexVector, std::uint64_t>("mutex_vector"),
          make_entry<MutexVector, Item64>("mutex_vector"),
          make_entry<MutexVector, std::string>("mutex_vector")};
}

}  // namespace databuffer::bench
