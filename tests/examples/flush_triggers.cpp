// Flush triggers: size, interval, by hand, and the end. The handler is told which it was.
#include <databuffer/databuffer.hpp>

#include <chrono>
#include <iostream>
#include <vector>

#include "examples/require.hpp"

namespace {

using databuffer::FlushReason;
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

  buffer.insert_batch(std::vector{1, 2, 3});
  buffer.do_work(clock.now());  // the third item completes the batch

  buffer.insert(4);
  buffer.do_work(clock.advance(10s));  // the item has waited for ten seconds

  buffer.insert(5);
  buffer.flush();
  buffer.do_work(clock.now());  // somebody asked

  buffer.insert(6);
  buffer.close();  // the end; a destructor does the same

  require(reasons == std::vector{FlushReason::kSize, FlushReason::kInterval, FlushReason::kManual,
                                 FlushReason::kClose},
          "each trigger once");
  require(buffer.ledger().flushed == 6, "every item");
}
