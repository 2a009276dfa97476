// Monitoring with telemetry: hooks on a buffer's events, or on those of all buffers.
#include <databuffer/databuffer.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <span>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::Event;
using databuffer::TelemetryEvent;
using examples::require;

}  // namespace

int main() {
  // For every buffer of the process, also those that start later.
  std::atomic<std::size_t> flushed{0};
  const auto log_flush = [&flushed](const TelemetryEvent& event) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(event.duration);
    std::cout << to_string(event.event) << ": flushed " << event.size << " items from "
              << event.buffer << " in " << took.count() << " us\n";
    flushed += event.size;
  };
  require(databuffer::telemetry().attach("buffer-metrics", Event::kFlushStop, log_flush),
          "attached");
  require(!databuffer::telemetry().attach("buffer-metrics", Event::kFlushStop, log_flush),
          "an id is attached once");

  databuffer::Buffer<int> numbers{{.name = "numbers"}, [](std::span<int> batch) {
                                    return batch.front() >= 0;  // false: the batch has failed
                                  }};

  // For this buffer alone, and for what goes wrong.
  std::atomic<std::size_t> lost{0};
  numbers.telemetry().attach("losses", {Event::kFlushException, Event::kDrop},
                             [&lost](const TelemetryEvent& event) {
                               if (event.event == Event::kDrop) lost += event.size;
                             });
  // A hook that throws is detached and counted; nothing else breaks.
  numbers.telemetry().attach("broken", Event::kInsertStop, [](const TelemetryEvent&) { throw 1; });

  require(numbers.insert_batch(std::vector{1, 2, 3}).accepted == 3, "they are in");
  numbers.sync_flush();
  require(numbers.insert_batch(std::vector{-1, -2}).accepted == 2, "they are in");
  numbers.sync_flush();

  require(flushed == 3, "the hook has seen the flush");
  require(lost == 2, "and the other one the loss");
  require(numbers.telemetry().hook_failures() == 1, "the broken hook was called once");
  require(databuffer::telemetry().detach("buffer-metrics"), "detached");
}
