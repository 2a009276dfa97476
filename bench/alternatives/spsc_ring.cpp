#include "bench/alternatives/spsc_ring.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> spsc_ring_entries() {
  const auto can_run = [](const Setup& setup) {
    return setup.producers == 1 && setup.limits.partitions == 1;
  };
  return {make_entry<SpscRing, std::uint64_t>("spsc_ring", can_run),
          make_entry<SpscRing, Item64>("spsc_ring", can_run)};
}

}  // namespace databuffer::bench
