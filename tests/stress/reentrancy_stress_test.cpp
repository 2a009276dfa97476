// Goal: whatever a handler, a hook or an item calls on its own buffer, nothing waits for itself,
// and every item has its end. Method: real threads, calls from inside; a deadlock ends the test by
// the watchdog.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
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
using databuffer::Event;
using databuffer::FlushContext;
using databuffer::InsertStatus;
using databuffer::Options;
using databuffer::Overflow;
using databuffer::stress::eventually;

constexpr Overflow kPolicies[] = {Overflow::kBlock, Overflow::kReject, Overflow::kDropNewest,
                                  Overflow::kDropOldest};

/// What a handler calls on its own buffer, which it does not own.
struct Loop {
  std::atomic<Buffer<int>*> buffer{nullptr};
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> refused{0};

  void insert(int item) {
    const InsertStatus status = buffer.load()->insert(int{item}, databuffer::kForever);
    if (status != InsertStatus::kAccepted && status != InsertStatus::kDropped) ++refused;
  }
};

/// An item that calls back the first times it is moved: on its way into the queue, by its producer,
/// and on its way out, by who removes it.
struct CallingItem {
  static inline std::function<void()> on_move;

  explicit CallingItem(int move_calls) : calls(move_calls) {}
  CallingItem(CallingItem&& other) noexcept : calls(std::exchange(other.calls, 0)) {
    if (calls == 0) return;
    --calls;
    on_move();
  }
  CallingItem& operator=(CallingItem&&) = delete;

  int calls;
};

void call_own_buffer(Buffer<CallingItem>& buffer, int call) {
  switch (call) {
    case 0:
      static_cast<void>(buffer.insert(CallingItem(0), databuffer::kForever));
      break;
    case 1:
      buffer.flush();
      break;
    case 2:
      static_cast<void>(buffer.sync_flush(1ms));
      break;
    case 3:
      static_cast<void>(buffer.close(databuffer::kForever));
      break;
    default:
      try {
        static_cast<void>(buffer.take());
      } catch (const databuffer::ReentrantCall&) {  // On the way out: it would wait for itself.
      }
  }
}

/// A buffer whose only owner is what runs in it.
struct SelfOwned {
  std::unique_ptr<Buffer<int>> buffer;
};

}  // namespace

TEST_SUITE("re-entrancy") {
  TEST_CASE("a handler that inserts into its own full buffer never waits") {
    for (const Overflow overflow : kPolicies) {
      CAPTURE(to_string(overflow));
      Loop loop;
      std::latch is_ready{1};
      Options options{.name = "self", .max_size = 3, .capacity = 3, .overflow = overflow};
      Buffer<int> buffer(std::move(options), [&](std::span<int> batch) {
        is_ready.wait();
        loop.handled += batch.size();
        for (const int item : batch) {
          if (item > 0) loop.insert(item - 1);  // so that it ends some time
        }
      });
      loop.buffer = &buffer;
      for (int item = 0; item < 6; ++item) static_cast<void>(buffer.try_insert(50));
      is_ready.count_down();
      for (int item = 0; item < 200; ++item) {
        static_cast<void>(buffer.insert(50, databuffer::kForever));
      }
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(buffer.ledger().balances());
      CHECK(buffer.ledger().flushed == loop.handled);
    }
  }

  TEST_CASE("flush from a handler works, sync_flush and close are refused") {
    std::atomic<Buffer<int>*> own{nullptr};
    std::atomic<int> as_wanted{0};
    Buffer<int> buffer({.name = "refuses", .max_size = 1}, [&](std::span<int>) {
      Buffer<int>& self = *own.load();
      self.flush();
      as_wanted += self.sync_flush(databuffer::kForever)[0].status == CallStatus::kReentrant;
      as_wanted += self.close(databuffer::kForever).status == CallStatus::kReentrant;
      static_cast<void>(self.dump());
      static_cast<void>(self.take());
      static_cast<void>(self.info());
    });
    own = &buffer;
    REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(as_wanted == 2);
  }

  TEST_CASE("on_drop may insert into its own buffer, under every policy") {
    for (const Overflow overflow : kPolicies) {
      CAPTURE(to_string(overflow));
      Loop loop;
      std::latch may_return{1};
      Options options{.name = "drops", .max_size = 2, .capacity = 2, .overflow = overflow};
      options.insert_timeout = 1ms;
      options.on_drop = [&](std::span<int> items, const databuffer::DropInfo&) {
        for (const int item : items) {
          if (item > 0) loop.insert(item - 1);
        }
      };
      Buffer<int> buffer(std::move(options), [&](std::span<int> batch) {
        may_return.wait();
        loop.handled += batch.size();
        if (batch[0] % 2 == 1) throw 7;  // gives the batch to on_drop
      });
      loop.buffer = &buffer;
      for (int item = 0; item < 50; ++item) static_cast<void>(buffer.insert(int{item}));
      may_return.count_down();
      CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
      CHECK(buffer.ledger().balances());
      CHECK(buffer.ledger().flushed + buffer.ledger().failed == loop.handled);
    }
  }

  TEST_CASE("an item's constructor may call its own buffer, on both sides") {
    for (int call = 0; call < 5; ++call) {
      CAPTURE(call);
      std::atomic<Buffer<CallingItem>*> own{nullptr};
      std::atomic<int> calls{0};
      CallingItem::on_move = [&] {
        ++calls;
        call_own_buffer(*own.load(), call);
      };
      Buffer<CallingItem> buffer({.name = "items", .max_size = 2, .capacity = 4},
                                 [](std::span<CallingItem>) {});
      own = &buffer;
      for (int item = 0; item < 20; ++item) static_cast<void>(buffer.insert(CallingItem(2)));
      static_cast<void>(buffer.sync_flush());
      CHECK(calls == 40);
      static_cast<void>(buffer.close(databuffer::kForever));
      CHECK(buffer.ledger().balances());
      CHECK(buffer.ledger().pending == 0);
    }
  }

  TEST_CASE("a range that inserts while it is read does not open the gate") {
    Options options{
        .name = "range", .max_size = 64, .capacity = 128, .overflow = Overflow::kReject};
    options.flush_interval = 1h;
    std::latch may_return{1};
    Buffer<int> buffer(std::move(options), [&](std::span<int>) { may_return.wait(); });
    for (int round = 0; round < 50; ++round) {
      const auto range = databuffer::support::made_forward(1, [&](int item) {
        static_cast<void>(buffer.insert(2));
        return item;
      });
      static_cast<void>(buffer.insert_batch(range));
    }
    for (int item = 0; item < 2000; ++item) static_cast<void>(buffer.insert(3));
    CHECK(buffer.size() <= 128 + 2);  // one producer, asked every second item
    may_return.count_down();
  }

  TEST_CASE("insert_batch into a buffer that others have filled answers, and does not spin") {
    for (const Overflow overflow : {Overflow::kReject, Overflow::kBlock}) {
      CAPTURE(to_string(overflow));
      Options options{.name = "filled", .max_size = 128, .capacity = 128, .overflow = overflow};
      options.threading = databuffer::Threading::kManual;
      Buffer<int> buffer(std::move(options), [](std::span<int>) {});
      REQUIRE(buffer.insert(1) == InsertStatus::kAccepted);  // It may insert one more unasked.
      std::thread([&] {
        while (buffer.try_insert(2) == InsertStatus::kAccepted) continue;
      }).join();
      // Not waited for on the thread that made the buffer, which nobody else drives.
      CHECK(buffer.insert_batch(std::vector{1, 2, 3}, 10ms) ==
            databuffer::InsertBatchResult{InsertStatus::kFull, 0});
      databuffer::InsertBatchResult result;
      std::thread([&] { result = buffer.insert_batch(std::vector{1, 2, 3}, 10ms); }).join();
      CHECK(result.status ==
            (overflow == Overflow::kReject ? InsertStatus::kFull : InsertStatus::kTimedOut));
      CHECK(result.accepted == 0);
    }
  }
}

TEST_SUITE("last owner") {
  TEST_CASE("a handler that destroys its buffer has everything flushed behind it") {
    for (int round = 0; round < 100; ++round) {
      auto owner = std::make_shared<SelfOwned>();
      auto handled = std::make_shared<std::atomic<int>>(0);
      std::latch is_ready{1};
      owner->buffer = std::make_unique<Buffer<int>>(
          Options{.name = "owned", .partitions = 2, .max_size = 1},
          [owner = owner.get(), handled, &is_ready](std::span<int> batch) {
            if (batch[0] == 0) {
              is_ready.wait();
              owner->buffer.reset();
            }
            *handled += static_cast<int>(batch.size());
          });
      for (int item = 0; item < 8; ++item) {
        REQUIRE(owner->buffer->insert(int{item}) == InsertStatus::kAccepted);
      }
      is_ready.count_down();
      REQUIRE(eventually([&] { return *handled == 8; }));
    }
    CHECK(eventually([] { return databuffer::stress::tasks_named("owned.").empty(); }));
  }

  TEST_CASE("a hook on a flush that destroys the buffer ends it") {
    SelfOwned owner;
    const auto is_inserted = std::make_shared<std::latch>(1);
    std::atomic<int> handled{0};
    owner.buffer = std::make_unique<Buffer<int>>(Options{.name = "hooked-out", .max_size = 1},
                                                 [&](std::span<int>) { ++handled; });
    owner.buffer->telemetry().attach("end", Event::kFlushStop,
                                     [&, is_inserted](const databuffer::TelemetryEvent&) {
                                       is_inserted->wait();
                                       owner.buffer.reset();
                                     });
    REQUIRE(owner.buffer->insert(1) == InsertStatus::kAccepted);
    is_inserted->count_down();
    CHECK(eventually([] { return databuffer::stress::tasks_named("hooked-out").empty(); }));
    CHECK(handled == 1);
  }

  TEST_CASE("a hook on an overdue handler that destroys the buffer ends it") {
    SelfOwned owner;
    const auto is_inserted = std::make_shared<std::latch>(1);
    std::latch is_over{1};
    owner.buffer = std::make_unique<Buffer<int>>(
        Options{.name = "watched-out", .max_size = 1, .flush_timeout = 5ms},
        [&](std::span<int>) { is_over.wait(); });
    owner.buffer->telemetry().attach("end", Event::kOverdue,
                                     [&, is_inserted](const databuffer::TelemetryEvent&) {
                                       is_inserted->wait();
                                       owner.buffer.reset();
                                       is_over.count_down();
                                     });
    REQUIRE(owner.buffer->insert(1) == InsertStatus::kAccepted);
    is_inserted->count_down();
    CHECK(eventually([] { return databuffer::stress::tasks_named("watched-out").empty(); }));
  }

  TEST_CASE("on_thread_stop may close the buffer it belongs to") {
    std::atomic<Buffer<int>*> own{nullptr};
    std::atomic<int> refused{0};
    Options options{.name = "stopping", .partitions = 2};
    options.on_thread_stop = [&](std::size_t) {
      refused += own.load()->close(databuffer::kForever).status == CallStatus::kReentrant;
    };
    Buffer<int> buffer(std::move(options), [](std::span<int>) {});
    own = &buffer;
    CHECK(buffer.close(databuffer::kForever).status == CallStatus::kDone);
    CHECK(refused == 2);
  }
}
