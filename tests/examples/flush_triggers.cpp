// Flush triggers: size, interval, by hand, and the end. The handler is told which it was.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::FlushReason;
using databuffer::InsertStatus;
using examples::require;
using namespace std::chrono_literals;

}  // namespace

int main() {
  std::vector<FlushReason> reasons;
  databuffer::ManualClock clock;
  databuffer::Buffer<int> buffer{
      {.name = "triggers",
       .max_size = 3,
       .flush_interval = 10s,
       .flush_jitter = 0s,
       .threading = databuffer::Threading::kManual,
       .clock = &clock},
      [&](databuffer::Batch<int>& batch, const databuffer::FlushContext& context) {
        std::cout << to_string(context.reason) << ": " << batch.size() << " items\n";
        reasons.push_back(context.reason);
      }};

  require(buffer.insert_batch(std::vector{1, 2, 3}).accepted == 3, "there is room");
  buffer.do_work(clock.now());  // the third item completes the batch

  require(buffer.insert(4) == InsertStatus::kAccepted, "there is room");
  buffer.do_work(clock.advance(10s));  // the item has waited for ten seconds

  require(buffer.insert(5) == InsertStatus::kAccepted, "there is room");
  buffer.flush();
  buffer.do_work(clock.now());  // somebody asked

  require(buffer.insert(6) == InsertStatus::kAccepted, "there is room");
  buffer.close();  // the end; a destructor does the same

  require(reasons == std::vector{FlushReason::kSize, FlushReason::kInterval, FlushReason::kManual,
                                 FlushReason::kClose},
          "each trigger once");
  require(buffer.ledger().flushed == 6, "every item");
}
