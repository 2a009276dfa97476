// Goal: hooks hear what they asked for, from attach to detach, and may do anything.
// Method: hooks on one buffer and on the process, that note, throw, and call back.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/listener.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::Listener;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

void ignore(const TelemetryEvent&) {}

}  // namespace

TEST_SUITE("telemetry hooks") {
  TEST_CASE("a hook hears what it asked for, from attach to detach") {
    std::vector<Event> heard;
    ManualBuffer<int> buffer({.max_size = 1});
    const auto insert = [&] {
      buffer->insert(1);
      buffer.work_all();
    };
    insert();
    CHECK(buffer->telemetry().attach("one", Event::kFlushStop, [&](const TelemetryEvent& event) {
      heard.push_back(event.event);
    }));
    insert();
    CHECK(heard == std::vector{Event::kFlushStop});
    CHECK(buffer->telemetry().detach("one"));
    insert();
    CHECK(heard.size() == 1);
  }

  TEST_CASE("an id is taken until it is detached, and only once") {
    ManualBuffer<int> buffer;
    Telemetry telemetry = buffer->telemetry();
    CHECK_FALSE(telemetry.detach("id"));
    CHECK(telemetry.attach("id", Event::kDrop, &ignore));
    CHECK_FALSE(telemetry.attach("id", Event::kClosed, &ignore));
    CHECK(telemetry.attach("other", Event::kDrop, &ignore));
    CHECK(telemetry.detach("id"));
    CHECK_FALSE(telemetry.detach("id"));
    CHECK(telemetry.attach("id", Event::kDrop, &ignore));
  }

  TEST_CASE("a null hook is refused, and leaves its id free") {
    ManualBuffer<int> buffer;
    Telemetry telemetry = buffer->telemetry();
    CHECK_THROWS_WITH_AS(telemetry.attach("id", Event::kDrop, TelemetryHook()),
                         "databuffer: the telemetry hook 'id' is null", std::invalid_argument);
    CHECK_THROWS_AS(telemetry.attach("id", Event::kDrop, nullptr), std::invalid_argument);
    void (*const pointer)(const TelemetryEvent&) = nullptr;
    CHECK_THROWS_AS(databuffer::telemetry().attach("id", Event::kDrop, pointer),
                    std::invalid_argument);
    CHECK_FALSE(databuffer::telemetry().detach("id"));
    CHECK(telemetry.attach("id", Event::kDrop, &ignore));
  }

  TEST_CASE("a hook may be noexcept and take its event by value") {
    int calls = 0;
    ManualBuffer<int> buffer({.max_size = 1});
    buffer->telemetry().attach("id", Event::kFlushStop, [&](TelemetryEvent) noexcept { ++calls; });
    static_cast<void>(buffer->insert(1));
    buffer.work_all();
    CHECK(calls == 1);
  }

  TEST_CASE("several hooks are called in the order in which they were attached") {
    std::string order;
    ManualBuffer<int> buffer({.max_size = 1});
    for (const char name : {'a', 'b', 'c'}) {
      buffer->telemetry().attach(std::string(1, name), Event::kFlushStop,
                                 [&order, name](const TelemetryEvent&) { order += name; });
    }
    buffer->telemetry().detach("b");
    buffer->insert(1);
    buffer.work_all();
    CHECK(order == "ac");
  }

  TEST_CASE("one buffer's hooks do not hear another's events") {
    Listener listener;
    ManualBuffer<int> one({.max_size = 1});
    ManualBuffer<int> other({.max_size = 1});
    listener.listen(one);
    other->insert(1);
    other.work_all();
    other->close();
    CHECK(listener.events.empty());
  }

  TEST_CASE("a hook may detach itself and attach others, from inside") {
    int calls = 0;
    int other_calls = 0;
    ManualBuffer<int> buffer({.max_size = 1});
    Telemetry telemetry = buffer->telemetry();
    telemetry.attach("self", Event::kFlushStop, [&, telemetry](const TelemetryEvent&) mutable {
      ++calls;
      CHECK(telemetry.detach("self"));
      CHECK(telemetry.attach("other", Event::kFlushStop,
                             [&](const TelemetryEvent&) { ++other_calls; }));
    });
    for (int item = 0; item < 3; ++item) {
      buffer->insert(item);
      buffer.work_all();
    }
    CHECK(calls == 1);
    CHECK(other_calls == 2);
  }

  TEST_CASE("a hook that throws is detached and counted, and nothing else breaks") {
    int calls = 0;
    int other_calls = 0;
    ManualBuffer<int> buffer({.max_size = 1});
    Telemetry telemetry = buffer->telemetry();
    telemetry.attach("bad", EventSet::all(), [&](const TelemetryEvent&) {
      ++calls;
      throw 42;  // NOLINT: anything
    });
    telemetry.attach("good", EventSet::all(), [&](const TelemetryEvent&) { ++other_calls; });
    CHECK(buffer->insert(1) == InsertStatus::kAccepted);
    buffer.work_all();
    CHECK(calls == 1);
    CHECK(other_calls == 4);  // insert start, stop, flush start, stop
    CHECK(telemetry.hook_failures() == 1);
    CHECK_FALSE(telemetry.detach("bad"));
    CHECK(buffer->ledger() == Ledger{.accepted = 1, .flushed = 1});
  }

  TEST_CASE("a hook that throws goes alone: what has its id by then stays") {
    ManualBuffer<int> buffer({.max_size = 1});
    const Telemetry telemetry = buffer->telemetry();
    int calls = 0;
    CHECK(buffer->telemetry().attach("x", Event::kFlushStop, [&](const TelemetryEvent&) {
      CHECK(buffer->telemetry().detach("x"));
      CHECK(buffer->telemetry().attach("x", Event::kFlushStop,
                                       [&](const TelemetryEvent&) { ++calls; }));
      throw std::runtime_error("the old one");
    }));
    for (int item = 0; item < 3; ++item) {
      CHECK(buffer->insert(item) == InsertStatus::kAccepted);
      buffer.work_all();
    }
    CHECK(telemetry.hook_failures() == 1);
    CHECK(calls == 2);
    CHECK(buffer->telemetry().detach("x"));
  }

  TEST_CASE("a hook may insert into its own buffer, and hears nothing of its own doing") {
    int calls = 0;
    ManualBuffer<int> buffer({.max_size = 100, .capacity = 100});
    buffer->telemetry().attach("insert", Event::kInsertStop, [&](const TelemetryEvent&) {
      REQUIRE(++calls < 100);
      CHECK(buffer->insert(1000) == InsertStatus::kAccepted);
    });
    buffer->insert(1);
    buffer->insert(2);
    CHECK(calls == 2);
    CHECK(buffer->dump() == std::vector{1, 1000, 2, 1000});
  }

  TEST_CASE("a hook of the process that inserts into many buffers costs as many inserts") {
    constexpr std::size_t kBuffers = 8;
    std::deque<ManualBuffer<int>> buffers;
    for (std::size_t index = 0; index < kBuffers; ++index)
      buffers.emplace_back(Options{.max_size = 1000});
    int calls = 0;
    REQUIRE(telemetry().attach("copy", EventSet::all(), [&](const TelemetryEvent&) {
      ++calls;
      for (auto& buffer : buffers) buffer->insert(calls);
    }));
    buffers[0]->insert(0);
    CHECK(telemetry().detach("copy"));
    CHECK(calls == 2);  // the beginning and the end of the one insert
    CHECK(buffers[0]->size() == 3);
    for (std::size_t index = 1; index < kBuffers; ++index) CHECK(buffers[index]->size() == 2);
  }

  TEST_CASE("inside a hook of an insert every other call works, too") {
    int calls = 0;
    ManualBuffer<int> buffer({.max_size = 100, .capacity = 100});
    buffer->telemetry().attach("all", Event::kInsertStop, [&](const TelemetryEvent&) {
      ++calls;
      CHECK(buffer->dump() == std::vector{1});
      CHECK(buffer->size() == 1);
      CHECK(buffer->info().size() == 1);
      buffer->flush();
      CHECK(buffer->sync_flush()[0].items == 1);
      CHECK(buffer->take().empty());
    });
    buffer->insert(1);
    CHECK(calls == 1);
    CHECK(buffer.handled() == std::vector{1});
  }

  TEST_CASE("hooks of the process hear every buffer, those there are and those to come") {
    std::vector<std::string> heard;
    ManualBuffer<int> before({.name = "before", .max_size = 1});
    REQUIRE(telemetry().attach(
        "all", {Event::kFlushStop, Event::kInsertStop}, [&](const TelemetryEvent& event) {
          heard.push_back(std::string(event.buffer) + " " + std::string(to_string(event.event)));
        }));
    CHECK_FALSE(telemetry().attach("all", Event::kDrop, &ignore));
    ManualBuffer<std::string> after({.name = "after", .max_size = 1});
    before->insert(1);
    before.work_all();
    after->insert(std::string("x"));
    after.work_all();
    CHECK(telemetry().detach("all"));
    before->insert(1);
    before.work_all();
    CHECK(heard ==
          std::vector<std::string>{"before databuffer.insert.stop", "before databuffer.flush.stop",
                                   "after databuffer.insert.stop", "after databuffer.flush.stop"});
  }

  TEST_CASE("a buffer's and the process's hooks both hear, and a throwing one goes from its own") {
    int own = 0;
    int process = 0;
    ManualBuffer<int> buffer({.max_size = 1});
    const std::uint64_t failures = telemetry().hook_failures();
    buffer->telemetry().attach("x", Event::kFlushStop, [&](const TelemetryEvent&) { ++own; });
    telemetry().attach("x", Event::kFlushStop, [&](const TelemetryEvent&) {
      ++process;
      throw std::runtime_error("no");
    });
    for (int item = 0; item < 2; ++item) {
      buffer->insert(item);
      buffer.work_all();
    }
    CHECK(own == 2);
    CHECK(process == 1);
    CHECK(telemetry().hook_failures() == failures + 1);
    CHECK(buffer->telemetry().hook_failures() == 0);
    CHECK_FALSE(telemetry().detach("x"));
  }

  TEST_CASE("a telemetry object may outlive its buffer") {
    auto buffer = std::make_unique<ManualBuffer<int>>();
    Telemetry telemetry = (*buffer)->telemetry();
    buffer.reset();
    CHECK(telemetry.attach("late", EventSet::all(), &ignore));
    CHECK(telemetry.detach("late"));
    CHECK(telemetry.hook_failures() == 0);
  }

  TEST_CASE("a detached hook is destroyed, and may use telemetry as it goes") {
    ManualBuffer<int> buffer;
    Telemetry telemetry = buffer->telemetry();
    bool is_attached = true;
    const auto at_end = std::shared_ptr<void>(nullptr, [&](void*) {
      is_attached = telemetry.detach("id");  // Would hang if a lock were held.
    });
    telemetry.attach("id", Event::kDrop, [kept = at_end](const TelemetryEvent&) {});
    CHECK(telemetry.detach("id"));
    CHECK(at_end.use_count() == 1);
    CHECK(is_attached);
  }

  // Nothing attached: no clock is read. A clock that counts says so.
  TEST_CASE("while nobody listens an insert reads no clock") {
    class CountingClock final : public Clock {
     public:
      [[nodiscard]] TimePoint now() const noexcept override {
        ++looks;
        return TimePoint{};
      }
      mutable int looks = 0;
    };
    const CountingClock clock;
    Buffer<int> buffer({.name = "b", .threading = Threading::kManual, .clock = &clock},
                       [](std::span<int>) {});
    buffer.insert(0);  // The first item notes its time.
    const int looks = clock.looks;
    for (int item = 0; item < 100; ++item) buffer.insert(item);
    buffer.insert_batch(numbers(0, 100));
    CHECK(clock.looks == looks);
    buffer.telemetry().attach("x", Event::kInsertStop, &ignore);
    buffer.insert(0);
    CHECK(clock.looks > looks);
  }
}
