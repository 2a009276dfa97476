// Goal: each event is told with its measurements and metadata.
// Method: a hook that notes every event, and one scenario for each kind.

#include <doctest/doctest.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/listener.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"
#include "support/ranges.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::Listener;
using databuffer::support::made_forward;
using databuffer::support::ManualBuffer;
using databuffer::support::Noted;
using databuffer::support::numbers;

TEST_SUITE("telemetry events") {
  TEST_CASE("insert: start with what is offered, stop with what was taken and how") {
    Listener listener;
    ManualBuffer<int> buffer({.name = "named", .max_size = 3, .capacity = 3});
    listener.listen(buffer, {Event::kInsertStart, Event::kInsertStop, Event::kInsertException});
    buffer->insert(1);
    buffer->insert_batch(numbers(0, 5), 0s);
    CHECK(buffer->try_insert(1) == InsertStatus::kFull);
    REQUIRE(listener.kinds() == std::vector{Event::kInsertStart, Event::kInsertStop,
                                            Event::kInsertStart, Event::kInsertStop,
                                            Event::kInsertStart, Event::kInsertStop});
    for (const Noted& event : listener.events) {
      CHECK(event.buffer_name == "named");
      CHECK(event.system_time > 0ns);
    }
    const auto& events = listener.events;
    CHECK(events[0].size == 1);
    CHECK(events[1].size == 1);
    CHECK(events[1].insert_status == InsertStatus::kAccepted);
    CHECK(events[2].size == 5);
    CHECK(events[3].size == 2);
    CHECK(events[3].insert_status == InsertStatus::kTimedOut);
    CHECK(events[4].size == 1);
    CHECK(events[5].size == 0);
    CHECK(events[5].insert_status == InsertStatus::kFull);
  }

  TEST_CASE("insert exception: what the range threw, and how many were in") {
    Listener listener;
    ManualBuffer<int> buffer({.max_size = 100});
    listener.listen(buffer, {Event::kInsertStop, Event::kInsertException});
    CHECK_THROWS_AS(buffer->insert_batch(made_forward(5,
                                                      [](int item) {
                                                        if (item == 3)
                                                          throw std::runtime_error("three");
                                                        return item;
                                                      })),
                    std::runtime_error);
    REQUIRE(listener.kinds() == std::vector{Event::kInsertException});
    CHECK(listener.events[0].size == 3);
    CHECK(listener.events[0].error_text == "three");
  }

  TEST_CASE("an exception that says nothing, or is none of the standard's, comes out as it was") {
    struct SaysNothing : std::exception {
      [[nodiscard]] const char* what() const noexcept override { return nullptr; }
    };
    Listener listener;
    ManualBuffer<int> buffer({.max_size = 100});
    listener.listen(buffer, Event::kInsertException);
    bool is_thrown = false;
    try {  // Not CHECK_THROWS_AS: doctest asks what() and reads through the null.
      buffer->insert_batch(made_forward(5, [](int item) {
        if (item == 3) throw SaysNothing();
        return item;
      }));
    } catch (const SaysNothing&) {
      is_thrown = true;
    }
    CHECK(is_thrown);
    CHECK_THROWS_AS(buffer->insert_batch(made_forward(5,
                                                      [](int item) {
                                                        if (item == 3) throw 42;  // NOLINT
                                                        return item;
                                                      })),
                    int);
    REQUIRE(listener.events.size() == 2);
    CHECK(listener.events[0].error_text.empty());
    CHECK(listener.events[1].error_text == "an exception that is not a std::exception");
  }

  TEST_CASE("flush: start and stop with size, what waits behind, age, reason and number") {
    Listener listener;
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 10s},
                             [&](Batch<int>&, const FlushContext&) {
                               self->advance(2s);
                               return FlushResult::ok();
                             });
    self = &buffer;
    listener.listen(buffer, {Event::kFlushStart, Event::kFlushStop, Event::kFlushException});
    buffer->insert(0);
    buffer.advance(4s);
    buffer->insert_batch(numbers(1, 4));
    buffer.work();
    REQUIRE(listener.kinds() == std::vector{Event::kFlushStart, Event::kFlushStop});
    for (const Noted& event : listener.events) {
      CHECK(event.buffer_name == "b");
      CHECK(event.partition_index == 0);
      CHECK(event.size == 3);
      CHECK(event.waiting_behind == 2);
      CHECK(event.age == 4s);
      CHECK(event.batch_id == 1);
      CHECK(event.reason == FlushReason::kSize);
      CHECK(event.system_time > 0ns);
      CHECK(event.error_text.empty());
    }
    CHECK(listener.events[0].duration == 0s);
    CHECK(listener.events[1].duration == 2s);
  }

  TEST_CASE("flush exception: for a batch that failed and for one that threw, with the text") {
    Listener listener;
    ManualBuffer<int> buffer({.partitions = 2, .max_size = 1},
                             [&](Batch<int>&, const FlushContext& context) {
                               if (context.partition_index == 0) {
                                 return FlushResult::failed("disk full");
                               }
                               throw std::runtime_error("no route");
                             });
    listener.listen(buffer, {Event::kFlushStart, Event::kFlushStop, Event::kFlushException});
    buffer->insert(0);
    buffer->insert(1);
    buffer.work();
    REQUIRE(listener.kinds() == std::vector{Event::kFlushStart, Event::kFlushException,
                                            Event::kFlushStart, Event::kFlushException});
    CHECK(listener.events[1].error_text == "disk full");
    CHECK(listener.events[1].partition_index == 0);
    CHECK(listener.events[3].error_text == "no route");
    CHECK(listener.events[3].partition_index == 1);
    CHECK(listener.events[3].batch_id == 1);
  }

  TEST_CASE("drop: how many, why, of which batch") {
    Listener listener;
    ManualBuffer<int> buffer(
        {.max_size = 2, .capacity = 2, .overflow = Overflow::kDropNewest},
        [](Batch<int>&, const FlushContext&) { return FlushResult::failed("no"); });
    listener.listen(buffer, Event::kDrop);
    buffer->insert_batch(numbers(0, 5));
    buffer.work_all();
    REQUIRE(listener.events.size() == 2);
    CHECK(listener.events[0].size == 3);
    CHECK(listener.events[0].drop_reason == DropReason::kNewest);
    CHECK(listener.events[0].batch_id == 0);
    CHECK(listener.events[1].size == 2);
    CHECK(listener.events[1].drop_reason == DropReason::kFailed);
    CHECK(listener.events[1].batch_id == 1);
    CHECK(listener.events[1].error_text == "no");
  }

  TEST_CASE("flush: no age is negative, though the times that do_work is given go back") {
    Listener listener;
    ManualBuffer<int> buffer({.max_size = 2});
    listener.listen(buffer, {Event::kFlushStart});
    buffer->insert(1);
    buffer->do_work(buffer.now());
    buffer->insert(2);
    buffer->do_work(buffer.now() - 5s);
    REQUIRE(listener.events.size() == 1);
    CHECK(listener.events[0].age == 0ns);
  }

  TEST_CASE("blocked: once for a call that finds no room, with the items that wait") {
    Listener listener;
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 2});
    listener.listen(buffer, Event::kBlocked);
    CHECK(buffer->insert_batch(numbers(0, 5), 0s).accepted == 2);
    REQUIRE(listener.events.size() == 1);
    CHECK(listener.events[0].size == 3);
    CHECK(buffer->try_insert(1) == InsertStatus::kFull);  // does not wait
    CHECK(listener.events.size() == 1);
    CHECK(buffer->insert(1, 0s) == InsertStatus::kTimedOut);
    REQUIRE(listener.events.size() == 2);
    CHECK(listener.events[1].size == 1);
  }

  TEST_CASE("closed: once, with the duration and what could not be flushed") {
    Listener listener;
    ManualBuffer<int>* self = nullptr;
    ManualBuffer<int> buffer({.max_size = 2, .capacity = 10},
                             [&](Batch<int>&, const FlushContext&) {
                               self->advance(3s);
                               return FlushResult::ok();
                             });
    self = &buffer;
    listener.listen(buffer, Event::kClosed);
    buffer->insert_batch(numbers(0, 7));
    SUBCASE("in time") {
      buffer->close();
      REQUIRE(listener.events.size() == 1);
      CHECK(listener.events[0].size == 0);
      CHECK(listener.events[0].duration == 12s);
    }
    SUBCASE("too late for five") {
      buffer->close(0s);
      REQUIRE(listener.events.size() == 1);
      CHECK(listener.events[0].size == 5);
      CHECK(listener.events[0].duration == 3s);
    }
    buffer->close();
    CHECK(listener.events.size() == 1);
  }

  TEST_CASE("every event has its name") {
    CHECK(to_string(Event::kInsertStart) == "databuffer.insert.start");
    CHECK(to_string(Event::kInsertStop) == "databuffer.insert.stop");
    CHECK(to_string(Event::kInsertException) == "databuffer.insert.exception");
    CHECK(to_string(Event::kFlushStart) == "databuffer.flush.start");
    CHECK(to_string(Event::kFlushStop) == "databuffer.flush.stop");
    CHECK(to_string(Event::kFlushException) == "databuffer.flush.exception");
    CHECK(to_string(Event::kDrop) == "databuffer.drop");
    CHECK(to_string(Event::kBlocked) == "databuffer.blocked");
    CHECK(to_string(Event::kOverdue) == "databuffer.overdue");
    CHECK(to_string(Event::kClosed) == "databuffer.closed");
    CHECK(to_string(Event{99}) == "unknown");
  }

  TEST_CASE("a set of events contains what it was made of") {
    const EventSet set{Event::kDrop, Event::kClosed};
    CHECK(set.contains(Event::kDrop));
    CHECK(set.contains(Event::kClosed));
    CHECK_FALSE(set.contains(Event::kInsertStart));
    CHECK(EventSet(Event::kBlocked).contains(Event::kBlocked));
    CHECK_FALSE(EventSet{}.contains(Event::kInsertStart));
    for (unsigned event = 0; event <= static_cast<unsigned>(Event::kClosed); ++event) {
      CHECK(EventSet::all().contains(static_cast<Event>(event)));
    }
  }
}
