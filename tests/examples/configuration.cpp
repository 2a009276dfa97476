// Configuration: every option that `data_buffer` had, with its default, and what a bad one gets.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <span>
#include <string>

#include "examples/require.hpp"

namespace {

using examples::require;
using namespace std::chrono_literals;

void ignore(std::span<int> /*batch*/) {}

}  // namespace

int main() {
  // The defaults are data_buffer's.
  const databuffer::Options defaults{.name = "defaults"};
  require(defaults.partitions == 1, "one partition");
  require(defaults.max_size == 5000 && defaults.max_size_jitter == 0, "5000 items, no jitter");
  require(defaults.flush_interval == 10s && defaults.flush_jitter == 2s, "10 s, up to 2 s jitter");
  require(defaults.flush_timeout == 60s, "a handler is overdue after 60 s");
  require(!defaults.flush_meta.has_value(), "no metadata");

  // All of them set. Jitter keeps the buffers of many processes from flushing at the same moment.
  databuffer::Buffer<int> numbers{{.name = "numbers",
                                   .partitions = 2,
                                   .max_size = 1000,
                                   .max_size_jitter = 100,
                                   .flush_interval = 5s,
                                   .flush_jitter = 500ms,
                                   .flush_timeout = 30s,
                                   .flush_meta = std::string("analytics")},
                                  ignore};
  require(numbers.options().effective_capacity() == 4400, "room for four of the largest batches");

  // Options are checked together, before any thread starts. Nothing is clipped.
  try {
    const databuffer::Buffer<int> wrong{{.name = "wrong", .max_size = 1000, .capacity = 100},
                                        ignore};
    require(false, "a capacity below max_size is refused");
  } catch (const databuffer::OptionsError& error) {
    std::cout << error.what() << '\n';
    require(error.field() == "capacity", "the error names the option");
  }
}
