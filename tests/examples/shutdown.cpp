// Shutdown: SIGINT and SIGTERM end the program in good order, within a deadline.
//
// A signal handler may not close a buffer: it interrupts a thread anywhere. So the signals are
// blocked before any thread starts, and sigwait() takes them on the main thread, as a return value.
#include <databuffer/databuffer.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <thread>

#include "examples/require.hpp"

namespace {

using databuffer::InsertStatus;
using examples::require;
using namespace std::chrono_literals;

// What the supervisor of the process allows (systemd: 90 s; Kubernetes: 30 s), less a margin.
constexpr auto kShutdown = 20s;

sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // every thread from here on inherits it
  return signals;
}

}  // namespace

int main() {
  const sigset_t signals = block_signals();

  std::atomic<std::size_t> stored{0};
  databuffer::Buffer<int> events{{.name = "events", .partitions = 2},
                                 [&stored](std::span<int> batch) { stored += batch.size(); }};
  std::atomic<bool> is_stopping{false};
  std::thread producer([&] {
    for (int event = 0; !is_stopping; ++event) {
      if (events.insert(event) == InsertStatus::kClosed) return;  // else waited for room in vain
      std::this_thread::yield();
    }
  });

  // Here the program sends the signal to itself, when it has something to lose.
  while (events.ledger().accepted < 1000) std::this_thread::yield();
  kill(getpid(), SIGTERM);

  int signal = 0;
  sigwait(&signals, &signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // a second one ends the program at once

  // Producers first: what they still have goes in. Then the buffer flushes what is pending.
  is_stopping = true;
  producer.join();
  const databuffer::CloseReport report = events.close(kShutdown);

  const databuffer::Ledger& ledger = report.ledger;
  const std::uint64_t lost = ledger.dropped() + ledger.failed + ledger.in_flight;
  std::cout << "signal " << signal << ": " << to_string(report.status) << ", " << ledger.flushed
            << " stored, " << lost << " lost, " << ledger.refused() << " refused\n";
  require(signal == SIGTERM, "the signal that was sent");
  require(lost == 0 && ledger.flushed == ledger.accepted, "nothing is lost");
  require(ledger.flushed == stored, "the books agree with the store");
  return lost == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
