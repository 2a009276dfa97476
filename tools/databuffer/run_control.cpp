#include "tools/databuffer/run_control.hpp"

namespace databuffer::tools {

int RunControl::stop_for_signal(int signal) {
  // relaxed: whoever reads it has been woken by the stop below, which orders it.
  signal_.store(signal, std::memory_order_relaxed);
  // relaxed: a count; only its own order matters.
  const int requests = requests_.fetch_add(1, std::memory_order_relaxed) + 1;
  stop();
  if (requests > 1) {
    abort_.request_stop();
    abort_flag_.set();
  }
  return requests;
}

void RunControl::stop() {
  stop_.request_stop();
  stop_flag_.set();
}

}  // namespace databuffer::tools
