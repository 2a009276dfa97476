// Goal: every accepted form of handler is called with the batch and its answer is understood; the
// context tells the truth; a handler may throw anything and the buffer goes on.
// Method: one handler of each form, of each answer, and of each failure.

#include <doctest/doctest.h>

#include <any>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::ManualBuffer;
using databuffer::support::numbers;

namespace {

std::vector<int> seen;

void see(std::span<int> items) { seen.insert(seen.end(), items.begin(), items.end()); }

/// Runs `handler` with a batch of three and returns what became of them.
template <class Handler>
Ledger ledger_with(Handler&& handler) {
  seen.clear();
  const ManualClock clock;
  Options options{.name = "b", .threading = Threading::kManual, .clock = &clock};
  Buffer<int> buffer(options, std::forward<Handler>(handler));
  buffer.insert_batch(std::vector{1, 2, 3});
  buffer.flush();
  buffer.do_work(clock.now());
  return buffer.ledger();
}

constexpr Ledger kFlushed{.accepted = 3, .flushed = 3};
constexpr Ledger kFailed{.accepted = 3, .failed = 3};

struct SaysNothing : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

}  // namespace

TEST_SUITE("handler") {
  TEST_CASE("it may take a batch or a span, with or without a context") {
    CHECK(ledger_with([](Batch<int>& batch, const FlushContext&) { see(batch.items()); }) ==
          kFlushed);
    CHECK(seen == numbers(1, 3));
    CHECK(ledger_with([](std::span<int> items, const FlushContext&) { see(items); }) == kFlushed);
    CHECK(seen == numbers(1, 3));
    CHECK(ledger_with([](Batch<int>& batch) { see(batch.items()); }) == kFlushed);
    CHECK(seen == numbers(1, 3));
    CHECK(ledger_with([](std::span<int> items) { see(items); }) == kFlushed);
    CHECK(seen == numbers(1, 3));
    CHECK(ledger_with([](std::span<const int> items) { CHECK(items.size() == 3); }) == kFlushed);
    CHECK(ledger_with([](auto& batch) { CHECK(batch.size() == 3); }) == kFlushed);
  }

  TEST_CASE("it may answer nothing, a bool, or a result") {
    CHECK(ledger_with([](std::span<int>) {}) == kFlushed);
    CHECK(ledger_with([](std::span<int>) { return true; }) == kFlushed);
    CHECK(ledger_with([](std::span<int>) { return false; }) == kFailed);
    CHECK(ledger_with([](std::span<int>) { return FlushResult(); }) == kFlushed);
    CHECK(ledger_with([](std::span<int>) { return FlushResult::ok(7); }) == kFlushed);
    CHECK(ledger_with([](std::span<int>) { return FlushResult::failed("no"); }) == kFailed);
  }

  TEST_CASE("it may be a function, a function object, a std::function, or move-only") {
    CHECK(ledger_with(&see) == kFlushed);
    CHECK(ledger_with(see) == kFlushed);
    const std::function<bool(Batch<int>&)> function = [](Batch<int>&) { return false; };
    CHECK(ledger_with(function) == kFailed);
    struct Object {
      FlushResult operator()(Batch<int>&, const FlushContext&) { return FlushResult::failed(""); }
    };
    CHECK(ledger_with(Object{}) == kFailed);
    CHECK(ledger_with([only = std::make_unique<int>(1)](std::span<int>) { return *only == 1; }) ==
          kFlushed);
  }

  TEST_CASE("it may keep state from batch to batch") {
    std::vector<int> counts;
    {
      const ManualClock clock;
      Options options{.name = "b", .max_size = 1, .threading = Threading::kManual, .clock = &clock};
      Buffer<int> buffer(
          options, [&counts, count = 0](std::span<int>) mutable { counts.push_back(++count); });
      buffer.insert_batch(numbers(0, 3));
      buffer.close();
    }
    CHECK(counts == std::vector{1, 2, 3});
  }

  TEST_CASE("a batch is contiguous, mutable, and all its views agree") {
    ManualBuffer<int> buffer({.max_size = 4}, [](Batch<int>& batch, const FlushContext& context) {
      CHECK(batch.size() == 4);
      CHECK(context.size == 4);
      CHECK(batch.end() - batch.begin() == 4);
      CHECK(batch.data() == &batch[0]);
      CHECK(batch.items().data() == batch.data());
      CHECK(batch.items().size() == 4);
      for (int& item : batch) item *= 10;
      CHECK(batch[3] == 30);
      return FlushResult::ok();
    });
    buffer->insert_batch(numbers(0, 4));
    buffer.work();
    CHECK(buffer->ledger().flushed == 4);
  }

  TEST_CASE("items may be moved out; the batch still counts them") {
    std::vector<std::unique_ptr<int>> kept;
    ManualBuffer<std::unique_ptr<int>> buffer(
        {.max_size = 2}, [&](Batch<std::unique_ptr<int>>& batch, const FlushContext&) {
          for (auto& item : batch) kept.push_back(std::move(item));
          return FlushResult::ok();
        });
    buffer->insert(std::make_unique<int>(1));
    buffer->insert(std::make_unique<int>(2));
    buffer.work();
    CHECK(kept.size() == 2);
    CHECK(buffer->ledger().flushed == 2);
  }

  TEST_CASE("whatever it throws fails its batch, and the next is handled") {
    const std::string unknown = "an exception that is not a std::exception";
    const std::vector<std::pair<std::function<void()>, std::string>> throws{
        {[] { throw std::runtime_error("disk full"); }, "disk full"},
        {[] { throw 42; }, unknown},                   // NOLINT
        {[] { throw "text"; }, unknown},               // NOLINT
        {[] { throw std::string("text"); }, unknown},  // NOLINT
        {[] { throw SaysNothing(); }, ""},
        {[] { throw std::bad_alloc(); }, std::bad_alloc().what()},
        {[] { throw FlushResult::ok(); }, unknown},  // NOLINT
    };
    for (const auto& thrown : throws) {
      const auto& throw_it = thrown.first;  // clang 14 captures no structured binding.
      const std::string& text = thrown.second;
      for (const std::uint64_t bad_batch : {1U, 2U, 3U}) {  // the first, one between, the last
        CAPTURE(text);
        CAPTURE(bad_batch);
        std::vector<int> dropped;
        std::string error;
        Options options{.max_size = 2};
        options.on_drop = [&](std::span<int> items, const DropInfo& info) {
          dropped.insert(dropped.end(), items.begin(), items.end());
          error = info.error;
        };
        ManualBuffer<int> buffer(options, [&](Batch<int>&, const FlushContext& context) {
          if (context.batch_id == bad_batch) throw_it();
          return FlushResult::ok();
        });
        buffer->insert_batch(numbers(0, 6));
        buffer.work_all();
        CHECK(buffer.handled() == numbers(0, 6));
        CHECK(buffer->ledger() == Ledger{.accepted = 6, .flushed = 4, .failed = 2});
        CHECK(dropped == numbers(2 * static_cast<int>(bad_batch) - 2, 2));
        CHECK(error == text);
        CHECK(buffer->info()[0].last_error == text);
        CHECK(buffer->info()[0].failed_batches == 1);
        CHECK(buffer->info()[0].batches == 3);
        CHECK(buffer->close().status == CallStatus::kDone);
      }
    }
  }

  TEST_CASE("a handler that answered false has an error text of ours") {
    const ManualClock clock;
    Options options{.name = "b", .threading = Threading::kManual, .clock = &clock};
    Buffer<int> buffer(options, [](std::span<int>) { return false; });
    buffer.insert(1);
    buffer.flush();
    buffer.do_work(clock.now());
    CHECK(buffer.info()[0].last_error == "the handler returned false");
  }

  // Every call that takes a lock of ours inside; with one held it would hang.
  TEST_CASE("no lock of ours is held while the handler runs") {
    Buffer<int>* self = nullptr;
    int calls = 0;
    ManualBuffer<int> buffer({.max_size = 3}, [&](Batch<int>&, const FlushContext&) {
      ++calls;
      CHECK(self->dump().empty());
      CHECK(self->take().empty());
      CHECK(self->size() == 0);
      CHECK(self->info()[0].is_flushing);
      CHECK(self->ledger().in_flight == 3);
      self->flush();
      CHECK(self->telemetry().attach("t", Event::kDrop, [](const TelemetryEvent&) {}));
      CHECK(self->telemetry().detach("t"));
      CHECK(self->next_deadline() <= TimePoint::max());
      return FlushResult::ok();
    });
    self = &*buffer;
    buffer->insert_batch(numbers(0, 3));
    buffer.work_all();
    CHECK(calls == 1);
  }
}

TEST_SUITE("flush context") {
  TEST_CASE("it names buffer, partition and batch, and says what waits behind") {
    std::vector<std::string> seen_names;
    ManualBuffer<int> buffer(
        {.name = "events", .partitions = 2, .max_size = 3, .capacity = 100},
        [&](Batch<int>& batch, const FlushContext& context) {
          CHECK(context.buffer == "events");
          CHECK(context.partition == "events." + std::to_string(context.partition_index));
          CHECK(context.size == batch.size());
          CHECK(context.attempt == 1);
          CHECK_FALSE(context.stop_token.stop_requested());
          seen_names.emplace_back(context.partition);
          return FlushResult::ok();
        });
    for (int item = 0; item < 10; ++item) buffer->insert(item);
    buffer.work_all();
    CHECK(seen_names == std::vector<std::string>{"events.0", "events.1"});
    CHECK(buffer.batches()[0].waiting_behind == 2);
    CHECK(buffer.batches()[1].waiting_behind == 2);
    CHECK(buffer.batches()[0].batch_id == 1);
    CHECK(buffer.batches()[1].batch_id == 1);
  }

  TEST_CASE("each reason is told") {
    ManualBuffer<int> buffer({.max_size = 3, .flush_interval = 10s});
    buffer->insert_batch(numbers(0, 3));
    buffer.work_all();
    buffer->insert(3);
    buffer.work_after(10s);
    buffer->insert(4);
    buffer->flush();
    buffer.work_all();
    buffer->insert(5);
    buffer->sync_flush();
    buffer->insert(6);
    buffer->close();
    std::vector<FlushReason> reasons;
    for (const auto& batch : buffer.batches()) reasons.push_back(batch.reason);
    CHECK(reasons == std::vector{FlushReason::kSize, FlushReason::kInterval, FlushReason::kManual,
                                 FlushReason::kManual, FlushReason::kClose});
  }

  TEST_CASE("the meta is the options', by reference, and never null") {
    const std::any* first = nullptr;
    ManualBuffer<int> buffer({.max_size = 1, .flush_meta = std::string("analytics")},
                             [&](Batch<int>&, const FlushContext& context) {
                               REQUIRE(context.meta != nullptr);
                               CHECK(std::any_cast<std::string>(*context.meta) == "analytics");
                               if (first == nullptr) first = context.meta;
                               CHECK(context.meta == first);
                               return FlushResult::ok();
                             });
    buffer->insert_batch(numbers(0, 2));
    buffer.work_all();
    CHECK(first != nullptr);

    bool is_empty = false;
    ManualBuffer<int> without({.max_size = 1}, [&](Batch<int>&, const FlushContext& context) {
      is_empty = context.meta != nullptr && !context.meta->has_value();
      return FlushResult::ok();
    });
    without->insert(1);
    without.work();
    CHECK(is_empty);
  }
}
