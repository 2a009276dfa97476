// Goal: a thread that is cancelled inside a call, or that ends itself there, takes neither the
// process nor an item with it. Method: the user's code says that it is inside and stays there, at a
// cancellation point, until the thread has been cancelled.

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "stress/random.hpp"
#include "stress/threads.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

namespace {

using namespace std::chrono_literals;
using databuffer::Buffer;
using databuffer::CallStatus;
using databuffer::DropInfo;
using databuffer::Event;
using databuffer::InsertStatus;
using databuffer::kForever;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::stress::eventually;
using databuffer::support::made_one_by_one;

/// A thread that is to be cancelled, or to end itself, inside a call.
class Victim {
 public:
  explicit Victim(std::function<void()> body) : body_(std::move(body)) {
    pthread_create(&thread_, nullptr, &run, this);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  /// Cancels it, and tells whoever is in stay_inside() that it has.
  void cancel() {
    pthread_cancel(thread_);
    is_cancelled_ = true;
  }
  /// Waits for its end; returns whether it was cancelled.
  bool join() {
    void* result = nullptr;
    pthread_join(thread_, &result);
    return result == PTHREAD_CANCELED;
  }

  /// For the user's code: stays at a cancellation point until the thread has been cancelled.
  static void stay_inside() {
    is_inside_ = true;
    while (!is_cancelled_) usleep(100);
    usleep(100);
    was_left_ = true;
  }
  static void reset() { is_inside_ = is_cancelled_ = was_left_ = false; }
  [[nodiscard]] static bool is_inside() { return is_inside_; }
  /// Whether the user's code came to its end all the same.
  [[nodiscard]] static bool was_left() { return was_left_; }

 private:
  static void* run(void* self) {
    static_cast<Victim*>(self)->body_();
    return nullptr;
  }

  std::function<void()> body_;
  pthread_t thread_{};
  static std::atomic<bool> is_inside_;
  static std::atomic<bool> is_cancelled_;
  static std::atomic<bool> was_left_;
};
std::atomic<bool> Victim::is_inside_{false};
std::atomic<bool> Victim::is_cancelled_{false};
std::atomic<bool> Victim::was_left_{false};

/// Calls `call` on a thread that is cancelled while the user's code is inside; then the call ends
/// first, and the thread after it.
void cancel_inside(const std::function<void()>& call) {
  Victim::reset();
  std::atomic<bool> has_returned{false};
  Victim victim([&] {
    call();
    has_returned = true;
  });
  REQUIRE(eventually([] { return Victim::is_inside(); }));
  victim.cancel();
  CHECK(victim.join());
  CHECK(Victim::was_left());
  CHECK_FALSE(has_returned);  // The call's end is the cancellation point.
}

/// The buffer goes on after that.
template <class T>
void check_alive(Buffer<T>& buffer, T item) {
  CHECK(buffer.insert(std::move(item), kForever) != InsertStatus::kClosed);
  CHECK(buffer.close(kForever).status == CallStatus::kDone);
  CHECK(buffer.ledger().balances());
  CHECK(buffer.size() == 0);
}

Options by_hand(const char* name) {
  Options options{.name = name};
  options.threading = databuffer::Threading::kManual;
  return options;
}

}  // namespace

TEST_SUITE("cancellation") {
  TEST_CASE("in on_drop: held back until the insert is through") {
    Options options = by_hand("drop");
    options.max_size = 1;
    options.capacity = 1;
    options.overflow = Overflow::kDropNewest;
    std::atomic<int> dropped{0};
    options.on_drop = [&](std::span<int> items, const DropInfo&) {
      dropped += static_cast<int>(items.size());
      Victim::stay_inside();
    };
    Buffer<int> buffer(options, [](std::span<int>) {});
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    cancel_inside([&] {
      for (;;) buffer.insert(2);
    });
    CHECK(dropped == 1);
    check_alive(buffer, 3);
  }

  TEST_CASE("in a hook: held back until the insert is through") {
    Buffer<int> buffer(by_hand("hook"), [](std::span<int>) {});
    buffer.telemetry().attach("stays", Event::kInsertStop,
                              [](const databuffer::TelemetryEvent&) { Victim::stay_inside(); });
    cancel_inside([&] { buffer.insert(1); });
    CHECK(buffer.size() == 1);
    check_alive(buffer, 2);
  }

  TEST_CASE("in a range: all of the batch goes in first") {
    Buffer<int> buffer(by_hand("range"), [](std::span<int>) {});
    cancel_inside([&] {
      buffer.insert_batch(made_one_by_one(100, []([[maybe_unused]] int item) {
        if (item == 50) Victim::stay_inside();
        return item;
      }));
    });
    CHECK(buffer.size() == 100);
    check_alive(buffer, 2);
  }

  TEST_CASE("in a weigher: the item goes in first") {
    Options options = by_hand("weigh");
    options.max_bytes = 1000;
    std::atomic<bool> stays{true};
    options.weigh = [&](const int&) {
      if (stays.exchange(false)) Victim::stay_inside();
      return std::size_t{1};
    };
    Buffer<int> buffer(options, [](std::span<int>) {});
    cancel_inside([&] { buffer.insert(1); });
    CHECK(buffer.size() == 1);
    check_alive(buffer, 2);
  }

  TEST_CASE("in a handler that do_work, sync_flush or close runs: its batch is done first") {
    const std::vector<std::function<void(Buffer<int>&)>> calls{
        [](Buffer<int>& buffer) { buffer.do_work(databuffer::steady_clock().now()); },
        [](Buffer<int>& buffer) { static_cast<void>(buffer.sync_flush()); },
        [](Buffer<int>& buffer) { static_cast<void>(buffer.close(kForever)); }};
    for (std::size_t index = 0; index < calls.size(); ++index) {
      CAPTURE(index);
      Options options = by_hand("handler");
      options.max_size = 1;
      std::atomic<bool> stays{true};
      Buffer<int> buffer(options, [&](std::span<int>) {
        if (stays.exchange(false)) Victim::stay_inside();
      });
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
      cancel_inside([&] { calls[index](buffer); });
      CHECK(buffer.ledger().flushed == 1);
      CHECK(buffer.close(kForever).status == CallStatus::kDone);
      CHECK(buffer.ledger().balances());
    }
  }

  TEST_CASE("while an insert, a sync_flush or a close waits: it waits on, and ends then") {
    const std::vector<std::function<void(Buffer<int>&)>> calls{
        [](Buffer<int>& buffer) {
          for (;;) buffer.insert(1, kForever);
        },
        [](Buffer<int>& buffer) { static_cast<void>(buffer.sync_flush()); },
        [](Buffer<int>& buffer) { static_cast<void>(buffer.close(kForever)); }};
    for (std::size_t index = 0; index < calls.size(); ++index) {
      CAPTURE(index);
      std::atomic<bool> is_stuck{true};
      Buffer<int> buffer({.name = "waits", .max_size = 1, .capacity = 1}, [&](std::span<int>) {
        while (is_stuck) std::this_thread::sleep_for(100us);
      });
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
      REQUIRE(eventually([&] { return buffer.size() == 0; }));  // in the handler's hands
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);     // and the place is taken again
      Victim::reset();
      std::atomic<bool> has_begun{false};
      Victim victim([&] {
        has_begun = true;
        calls[index](buffer);
      });
      REQUIRE(eventually([&] { return has_begun.load(); }));
      std::this_thread::sleep_for(2ms);  // It waits now, or will find itself cancelled.
      victim.cancel();
      is_stuck = false;
      CHECK(victim.join());
      CHECK(buffer.close(kForever).status == CallStatus::kDone);
      CHECK(buffer.ledger().balances());
    }
  }

  TEST_CASE("inside a group's stop: every buffer is closed first") {
    databuffer::Supervisor group("group");
    Buffer<int>& first = group.start<int>({.name = "first"}, [](std::span<int>) {});
    Buffer<int>& second =
        group.start<int>({.name = "second"}, [](std::span<int>) { Victim::stay_inside(); });
    REQUIRE(first.insert(1) == InsertStatus::kAccepted);
    REQUIRE(second.insert(2) == InsertStatus::kAccepted);
    cancel_inside([&] { static_cast<void>(group.stop(kForever)); });
    CHECK(first.ledger().flushed == 1);
    CHECK(second.ledger().flushed == 1);
    CHECK(first.insert(3) == InsertStatus::kClosed);
  }

  TEST_CASE("pthread_exit in a handler fails its batch, and a fresh thread carries on") {
    for (const bool is_replaced : {false, true}) {
      CAPTURE(is_replaced);
      std::mutex mutex;
      std::set<pid_t> threads;
      std::atomic<int> calls{0};
      std::atomic<int> dropped{0};
      Options options{.name = "exits", .partitions = 2, .max_size = 1};
      if (is_replaced) {
        options.flush_timeout = 1ms;
        options.on_overdue = databuffer::OnOverdue::kReplace;
      }
      options.on_drop = [&](std::span<int> items, const DropInfo& info) {
        if (info.error == "the handler ended its thread") dropped += static_cast<int>(items.size());
      };
      {
        Buffer<int> buffer(options, [&](std::span<int>) {
          {
            const std::lock_guard lock(mutex);
            threads.insert(gettid());
          }
          if (is_replaced && calls % 4 == 0) std::this_thread::sleep_for(3ms);
          if (++calls % 2 == 0) pthread_exit(nullptr);
        });
        for (int item = 0; item < 20; ++item) {
          REQUIRE(buffer.insert(int{item}, kForever) == InsertStatus::kAccepted);
        }
        for (const auto& report : buffer.sync_flush()) CHECK(report.status == CallStatus::kDone);
        CHECK(calls == 20);
        CHECK(buffer.ledger().balances());
        CHECK(buffer.ledger().failed == 10);
        CHECK(buffer.ledger().flushed == 10);
        CHECK(buffer.insert(20) == InsertStatus::kAccepted);
        CHECK(buffer.insert(21) == InsertStatus::kAccepted);
      }
      CHECK(calls == 22);  // The destructor waited for the fresh threads, too.
      CHECK(dropped == 11);
      CHECK(threads.size() > 10);
      CHECK(eventually([] { return databuffer::stress::tasks_named("exits.").empty(); }));
    }
  }

  TEST_CASE("pthread_exit in a handler that do_work runs ends that thread; another drives on") {
    Options options = by_hand("exits");
    options.max_size = 1;
    int calls = 0;
    Buffer<int> buffer(options, [&](std::span<int>) {
      if (++calls == 1) pthread_exit(nullptr);
    });
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    std::atomic<bool> has_returned{false};
    Victim victim([&] {
      buffer.do_work(databuffer::steady_clock().now());
      has_returned = true;
    });
    CHECK_FALSE(victim.join());  // It ended by itself.
    CHECK_FALSE(has_returned);
    CHECK(buffer.insert(2) == InsertStatus::kAccepted);
    buffer.do_work(databuffer::steady_clock().now());
    CHECK(buffer.close(kForever).status == CallStatus::kDone);
    CHECK(buffer.ledger() == databuffer::Ledger{.accepted = 2, .flushed = 1, .failed = 1});
  }

  TEST_CASE("pthread_exit in an inserting thread's own code ends the insert, and holds no room") {
    Options options = by_hand("exits");
    options.max_size = 4;
    options.capacity = 4;
    options.overflow = Overflow::kReject;
    Buffer<int> buffer(options, [](std::span<int>) {});
    for (int times = 0; times < 10; ++times) {
      Victim in_range([&] {
        buffer.insert_batch(made_one_by_one(4, []([[maybe_unused]] int item) {
          if (item == 2) pthread_exit(nullptr);
          return item;
        }));
      });
      CHECK_FALSE(in_range.join());
    }
    CHECK(buffer.insert_batch(std::vector<int>(4)).accepted == 4);
    buffer.telemetry().attach("exits", Event::kInsertStop,
                              [](const databuffer::TelemetryEvent&) { pthread_exit(nullptr); });
    Victim in_hook([&] { buffer.insert(1); });
    CHECK_FALSE(in_hook.join());
    buffer.telemetry().detach("exits");
    CHECK(buffer.close(kForever).status == CallStatus::kDone);
    CHECK(buffer.ledger().balances());
  }

  TEST_CASE("pthread_exit in on_drop ends the insert") {
    for (const Overflow overflow : {Overflow::kDropNewest, Overflow::kDropOldest}) {
      CAPTURE(to_string(overflow));
      Options options = by_hand("exits");
      options.max_size = 1;
      options.capacity = 1;
      options.overflow = overflow;
      int dropped = 0;
      options.on_drop = [&](std::span<int>, const DropInfo&) {
        ++dropped;
        pthread_exit(nullptr);
      };
      Buffer<int> buffer(options, [](std::span<int>) {});
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
      Victim victim([&] {
        for (;;) buffer.insert(2);
      });
      CHECK_FALSE(victim.join());
      CHECK(dropped == 1);
      CHECK(buffer.ledger().balances());
      CHECK(buffer.close(kForever).status == CallStatus::kDone);
    }
  }
}
