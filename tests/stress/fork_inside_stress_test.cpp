// Goal: the user's code may fork wherever the library calls it. In the child the call that was
// under way, and every other, ends at once and delivers nothing; the parent does not notice.
// Method: at each such place the code forks, while other threads take every lock of the buffer
// again and again. A child that hangs is ended by SIGALRM.

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::Event;
using databuffer::EventSet;
using databuffer::FlushContext;
using databuffer::FlushResult;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::TelemetryEvent;
using databuffer::stress::Crew;
using databuffer::stress::eventually;
using databuffer::stress::scaled;
using databuffer::support::made_one_by_one;

constexpr unsigned kChildSeconds = 60;

enum class Place {
  kNone,
  kHandler,
  kOnDrop,
  kInsertStart,
  kInsertStop,
  kFlushStart,
  kFlushStop,
  kOverdue,
  kStopCallback,
  kRange,
  kWeigher,
  kMove,
  kCopy,
  kThreadStart,
  kThreadStop,
  kFactory,
  kHandlersEnd,
};

// One place at a time forks, once.
std::atomic<Place> due_place{Place::kNone};
std::atomic<pid_t> child{0};
std::atomic<bool> is_child{false};
std::atomic<int>* delivered_by_children = nullptr;  // shared by all

/// The user's code is at `place`. Forks if that is due.
void at(Place place) {
  Place due = place;
  if (!due_place.compare_exchange_strong(due, Place::kNone)) return;
  std::fflush(nullptr);
  const pid_t forked = fork();
  if (forked == 0) {
    is_child = true;
    alarm(kChildSeconds);
  } else {
    child = forked;
  }
}

/// What no child may come to, unless it forked there.
void delivered() {
  if (is_child) ++*delivered_by_children;
}

struct Item {
  Item() = default;
  Item(const Item&) { at(Place::kCopy); }
  Item(Item&&) noexcept { at(Place::kMove); }
  Item& operator=(const Item&) = delete;
  Item& operator=(Item&&) = delete;
};

/// A handler of a partition's own, whose end may fork.
struct Handler {
  Handler() = default;
  Handler(Handler&& other) noexcept : is_here(std::exchange(other.is_here, false)) {}
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  Handler& operator=(Handler&&) = delete;
  ~Handler() {
    if (is_here) at(Place::kHandlersEnd);
  }
  FlushResult operator()(std::span<Item>, const FlushContext& context) const {
    delivered();
    const std::stop_callback callback(context.stop_token, [] { at(Place::kStopCallback); });
    at(Place::kHandler);
    if (due_place == Place::kOverdue || due_place == Place::kStopCallback) {
      while (due_place != Place::kNone && !is_child) std::this_thread::sleep_for(100us);
    }
    if (due_place == Place::kOnDrop) return FlushResult::failed("to be dropped");
    return FlushResult::ok();
  }
  bool is_here = true;
};

Options forking_options(Overflow overflow, databuffer::Threading threading) {
  Options options{.name = "forks", .partitions = 2, .max_size = 4, .capacity = 8};
  options.threading = threading;
  options.overflow = overflow;
  options.flush_timeout = 5ms;
  options.flush_interval = 1ms;
  options.capacity_bytes = 1000;
  options.weigh = [](const Item&) {
    at(Place::kWeigher);
    return std::size_t{1};
  };
  options.on_drop = [](std::span<Item>, const databuffer::DropInfo&) {
    delivered();
    at(Place::kOnDrop);
  };
  options.on_thread_start = [](std::size_t) { at(Place::kThreadStart); };
  options.on_thread_stop = [](std::size_t) {
    delivered();
    at(Place::kThreadStop);
  };
  return options;
}

std::unique_ptr<Buffer<Item>> make_buffer(Overflow overflow, databuffer::Threading threading) {
  return std::unique_ptr<Buffer<Item>>(new Buffer<Item>(
      Buffer<Item>::per_partition(forking_options(overflow, threading), [](std::size_t) {
        at(Place::kFactory);
        return Handler();
      })));
}

void listen(databuffer::Telemetry telemetry, const std::string& name) {
  telemetry.attach(name, EventSet::all(), [](const TelemetryEvent& event) {
    delivered();
    if (event.event == Event::kInsertStart) at(Place::kInsertStart);
    if (event.event == Event::kInsertStop) at(Place::kInsertStop);
    if (event.event == Event::kFlushStart) at(Place::kFlushStart);
    if (event.event == Event::kFlushStop) at(Place::kFlushStop);
    if (event.event == Event::kOverdue) at(Place::kOverdue);
  });
}

/// A child that returns here is through with its call.
void leave_child() {
  if (is_child) _exit(0);
}

/// Takes locks again and again.
void meddle(Buffer<Item>& buffer, const std::atomic<bool>& is_over) {
  while (!is_over) {
    static_cast<void>(buffer.info());
    buffer.telemetry().attach("meddles", Event::kClosed, [](const TelemetryEvent&) {});
    buffer.telemetry().detach("meddles");
    static_cast<void>(buffer.sync_flush(0s));
    leave_child();
    std::thread([&] { static_cast<void>(buffer.try_insert(Item())); }).join();
  }
}

/// Everything that may call the user's code, on this thread.
void call_everything(std::unique_ptr<Buffer<Item>>& buffer) {
  for (int item = 0; item < 20; ++item) {
    static_cast<void>(buffer->insert(Item(), 0s));
    leave_child();
  }
  auto items = made_one_by_one(12, []([[maybe_unused]] int item) {
    at(Place::kRange);
    return Item();
  });
  static_cast<void>(buffer->insert_batch(items, 0s));
  leave_child();
  static_cast<void>(buffer->dump());
  leave_child();
  const Item item;  // Copied in any case; dump() may have come too late.
  static_cast<void>(buffer->insert(item, 0s));
  leave_child();
  buffer->do_work(databuffer::steady_clock().now());
  leave_child();
  static_cast<void>(buffer->sync_flush(1s));
  leave_child();
  static_cast<void>(buffer->insert(Item(), 0s));
  static_cast<void>(buffer->take());
  leave_child();
  static_cast<void>(buffer->insert(Item(), 0s));
}

/// How the child ended: its exit code, or minus the signal; 0 if there was none.
int ending_of_child() {
  const pid_t forked = child.exchange(0);
  int status = 0;
  if (forked == 0) return 0;
  if (waitpid(forked, &status, 0) != forked) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Forks at one place. Returns whether the place was come to.
bool fork_at(Place place, Overflow overflow, databuffer::Threading threading) {
  due_place = place;
  std::unique_ptr<Buffer<Item>> buffer = make_buffer(overflow, threading);
  leave_child();
  listen(buffer->telemetry(), "listens");
  listen(buffer->telemetry(), "listens as well");
  std::atomic<bool> is_over{false};
  Crew crew;
  crew.add([&] { meddle(*buffer, is_over); });
  call_everything(buffer);
  leave_child();
  if (place == Place::kOverdue || place == Place::kStopCallback) {
    static_cast<void>(eventually([] { return due_place == Place::kNone; }));
  }
  is_over = true;
  crew.join();
  leave_child();
  const auto report = buffer->close(kForever);
  leave_child();
  buffer.reset();
  leave_child();
  CHECK(report.ledger.balances());
  CHECK(report.ledger.pending == 0);
  CHECK(ending_of_child() == 0);
  CHECK(*delivered_by_children == 0);
  return due_place.exchange(Place::kNone) == Place::kNone;
}

void fork_everywhere(databuffer::Threading threading, const std::vector<Place>& places) {
  void* const shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  delivered_by_children = new (shared) std::atomic<int>(0);
  listen(databuffer::telemetry(), "the process listens");
  for (std::size_t round = 0; round < scaled(3); ++round) {
    for (const Overflow overflow :
         {Overflow::kBlock, Overflow::kDropOldest, Overflow::kDropNewest}) {
      for (const Place place : places) {
        CAPTURE(static_cast<int>(place));
        CAPTURE(to_string(overflow));
        const bool was_there = fork_at(place, overflow, threading);
        // Under kBlock nothing is dropped but what a handler fails.
        CHECK((was_there || place == Place::kOnDrop));
      }
    }
  }
  databuffer::telemetry().detach("the process listens");
  munmap(shared, sizeof(std::atomic<int>));
}

}  // namespace

TEST_SUITE("fork inside") {
  TEST_CASE("at every place of a buffer with threads: the child ends, and delivers nothing") {
    fork_everywhere(
        databuffer::Threading::kOwn,
        {Place::kHandler, Place::kOnDrop, Place::kInsertStart, Place::kInsertStop,
         Place::kFlushStart, Place::kFlushStop, Place::kOverdue, Place::kStopCallback,
         Place::kRange, Place::kWeigher, Place::kMove, Place::kCopy, Place::kThreadStart,
         Place::kThreadStop, Place::kFactory, Place::kHandlersEnd});
  }

  TEST_CASE("at every place of a buffer run by hand: the call returns, and delivers nothing") {
    fork_everywhere(databuffer::Threading::kManual,
                    {Place::kHandler, Place::kOnDrop, Place::kInsertStart, Place::kInsertStop,
                     Place::kFlushStart, Place::kFlushStop, Place::kRange, Place::kWeigher,
                     Place::kMove, Place::kCopy, Place::kFactory, Place::kHandlersEnd});
  }
}
