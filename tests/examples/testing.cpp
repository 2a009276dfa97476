// Testing: small thresholds, synchronous calls, and a clock that moves when the test says so.
//
// `threading = kManual` gives the consumers to the test: do_work(now) does what is due at `now`, on
// this thread. So a test of a ten-second interval takes no time and never fails on a slow machine.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <span>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::InsertStatus;
using examples::require;
using namespace std::chrono_literals;
using Batches = std::vector<std::vector<int>>;

void buffers_and_flushes_data() {
  Batches batches;
  databuffer::Buffer<int> buffer{
      {.name = "test_buffer", .max_size = 10, .flush_interval = 100ms},
      [&](std::span<int> batch) { batches.emplace_back(batch.begin(), batch.end()); }};
  require(buffer.insert(1) == InsertStatus::kAccepted, "there is room");
  require(buffer.insert(2) == InsertStatus::kAccepted, "there is room");
  const auto results = buffer.sync_flush();
  require(results.size() == 1, "one partition, one result");
  require(buffer.close().ledger.flushed == 2, "both are flushed");
}

void flushes_what_is_there_when_the_interval_has_passed_and_not_before() {
  databuffer::ManualClock clock;
  Batches batches;
  databuffer::Buffer<int> buffer{
      {.name = "test_buffer",
       .max_size = 10,
       .flush_interval = 10s,
       .flush_jitter = 0s,
       .threading = databuffer::Threading::kManual,
       .clock = &clock},
      [&](std::span<int> batch) { batches.emplace_back(batch.begin(), batch.end()); }};

  require(buffer.insert(7) == InsertStatus::kAccepted, "there is room");
  buffer.do_work(clock.now());  // sees the item: its ten seconds began with the insert
  require(buffer.next_deadline() == clock.now() + 10s, "it says when it wants to run");

  buffer.do_work(clock.advance(10s - 1ns));
  require(batches.empty(), "a nanosecond early: nothing");

  buffer.do_work(clock.advance(1ns));
  require(batches == Batches{{7}}, "on time: one batch with the item");
}

void flushes_at_the_insert_that_completes_the_batch() {
  databuffer::ManualClock clock;
  Batches batches;
  databuffer::Buffer<int> buffer{
      {.name = "test_buffer",
       .max_size = 3,
       .threading = databuffer::Threading::kManual,
       .clock = &clock},
      [&](std::span<int> batch) { batches.emplace_back(batch.begin(), batch.end()); }};
  require(buffer.insert_batch(std::vector{1, 2}).accepted == 2, "there is room");
  buffer.do_work(clock.now());
  require(batches.empty(), "two of three: nothing");
  require(buffer.insert(3) == InsertStatus::kAccepted, "there is room");
  buffer.do_work(clock.now());
  require(batches == Batches{{1, 2, 3}}, "three of three");
}

}  // namespace

int main() {
  buffers_and_flushes_data();
  flushes_what_is_there_when_the_interval_has_passed_and_not_before();
  flushes_at_the_insert_that_completes_the_batch();
  std::cout << "3 tests passed\n";
}
