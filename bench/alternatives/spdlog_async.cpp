#include "bench/alternatives/spdlog_async.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "bench/entries.hpp"

namespace databuffer::bench {

std::vector<Entry> spdlog_async_entries() {
  const auto can_run = [](const Setup& setup) { return setup.batch == 1; };
  return {make_entry<SpdlogAsync, std::string>("spdlog_async", can_run)};
}

}  // namespace databuffer::bench
