// A loop of your own: one thread waits for clients with epoll, inserts what they send, and runs the
// buffer's handler.
//
// With `threading = kManual` there are no consumer threads. do_work(now) does what is due, and says
// when it wants to be called next: that is epoll_wait's timeout. An insert on this thread never
// waits. With flush_timeout = kForever there is no thread that watches for overdue handlers either.
#include <databuffer/databuffer.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "examples/require.hpp"

namespace {

using databuffer::InsertStatus;
using databuffer::TimePoint;
using examples::require;
using namespace std::chrono_literals;

constexpr std::size_t kLines = 1000;

// As epoll_wait wants it: rounded up, or it would wake too early and again; -1: no limit.
int milliseconds_until(TimePoint next) {
  if (next == TimePoint::max()) return -1;
  const auto left = next - databuffer::steady_clock().now();
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<decltype(rounded)>(rounded, 0, INT_MAX));
}

// A client that sends lines, some at once, some after a while.
void send_lines(int to) {
  for (std::size_t line = 0; line < kLines; ++line) {
    const std::string text = "line " + std::to_string(line) + "\n";
    require(write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "sent");
    if (line % 300 == 299) std::this_thread::sleep_for(30ms);
  }
  close(to);
}

}  // namespace

int main() {
  std::size_t batches = 0;
  std::size_t lines_handled = 0;
  databuffer::Buffer<std::string> lines({.name = "lines",
                                         .max_size = 100,
                                         .flush_interval = 10ms,
                                         .flush_jitter = 0ms,
                                         .flush_timeout = databuffer::kForever,
                                         .threading = databuffer::Threading::kManual},
                                        [&](std::span<std::string> batch) {
                                          ++batches;
                                          lines_handled += batch.size();
                                        });

  std::array<int, 2> ends{};
  require(pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe");
  const int client = ends[0];
  std::thread sender(send_lines, ends[1]);

  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  require(epoll_ctl(poller, EPOLL_CTL_ADD, client, &wanted) == 0, "the client is watched");

  std::string text;  // received, and not yet a whole line
  for (bool is_open = true; is_open;) {
    const TimePoint next = lines.do_work(databuffer::steady_clock().now());
    epoll_event event{};
    if (epoll_wait(poller, &event, 1, milliseconds_until(next)) < 1) continue;

    std::array<char, 4096> received{};
    const ssize_t bytes = read(client, received.data(), received.size());
    is_open = bytes > 0;
    if (is_open) text.append(received.data(), static_cast<std::size_t>(bytes));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      std::string line = text.substr(0, end);
      while (lines.insert(std::move(line)) == InsertStatus::kFull) {  // It is still there then.
        lines.do_work(databuffer::steady_clock().now());              // That makes room.
      }
      text.erase(0, end + 1);
    }
  }
  const databuffer::CloseReport report = lines.close(1s);
  sender.join();
  close(client);
  close(poller);

  std::cout << lines_handled << " lines in " << batches << " batches\n";
  require(report.is_complete() && lines_handled == kLines, "every line is handled");
  require(batches >= kLines / 100 && batches < kLines, "in batches");
}
