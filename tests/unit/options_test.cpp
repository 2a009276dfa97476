// Goal: every bad option and combination is refused, naming field, value and limit, before anything
// starts; the defaults are the design's.
// Method: one table of bad options, tried through validate() and through both constructors.

#include <doctest/doctest.h>

#include <any>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kTwoTo31 = std::size_t{1} << 31U;
constexpr std::size_t kTwoTo40 = std::size_t{1} << 40U;

struct BadOptions {
  std::string field;
  std::string value;  // as the message must show it
  std::string limit;  // as the message must show it
  Options options;
};

std::vector<BadOptions> bad_options() {
  const std::string too_long(257, 'n');
  const std::string too_long_in_utf8 = std::string(31, 'n') + "ä" + too_long;  // is not cut in two
  const std::string with_nul("a\0b", 3);
  std::vector<BadOptions> rows{
      {"name", "\"\"", "must not be empty", {}},
      {"name", "nnnn", "at most 256 bytes, is 257", {.name = too_long}},
      {"name", "n…\"", "at most 256 bytes, is 290", {.name = too_long_in_utf8}},
      {"name", "NUL", "must not contain", {.name = with_nul}},
      {"partitions", "0", "1 to 1024", {.name = "b", .partitions = 0}},
      {"partitions", "1025", "1 to 1024", {.name = "b", .partitions = 1025}},
      {"partitions", "18446744073709551615", "1 to 1024", {.name = "b", .partitions = kMost}},
      {"max_size", "0", "1 to 2147483648", {.name = "b", .max_size = 0}},
      {"max_size", "2147483649", "1 to 2147483648", {.name = "b", .max_size = kTwoTo31 + 1}},
      {"max_size", "18446744073709551615", "1 to 2147483648", {.name = "b", .max_size = kMost}},
      {"max_size_jitter",
       "2147483649",
       "0 to 2147483648",
       {.name = "b", .max_size_jitter = kTwoTo31 + 1}},
      {"max_size_jitter",
       "18446744073709551615",
       "0 to 2147483648",
       {.name = "b", .max_size_jitter = kMost}},
      {"flush_interval", "-1 ns", "not be negative", {.name = "b", .flush_interval = -1ns}},
      {"flush_interval",
       "-9223372036854775808 ns",
       "not be negative",
       {.name = "b", .flush_interval = Duration::min()}},
      {"flush_jitter", "-1 ns", "not be negative", {.name = "b", .flush_jitter = -1ns}},
      {"flush_timeout", "0 ns", "more than 0", {.name = "b", .flush_timeout = 0ns}},
      {"flush_timeout", "-1 ns", "more than 0", {.name = "b", .flush_timeout = -1ns}},
      {"insert_timeout", "-1 ns", "not be negative", {.name = "b", .insert_timeout = -1ns}},
      {"close_timeout", "-1 ns", "not be negative", {.name = "b", .close_timeout = -1ns}},
      {"capacity", "0", "at least", {.name = "b", .capacity = 0}},
      {"capacity",
       "9",
       "max_size + max_size_jitter = 10",
       {.name = "b", .max_size = 10, .capacity = 9}},
      {"capacity",
       "14",
       "max_size + max_size_jitter = 15",
       {.name = "b", .max_size = 10, .max_size_jitter = 5, .capacity = 14}},
      {"capacity", "1099511627777", "1 to 1099511627776", {.name = "b", .capacity = kTwoTo40 + 1}},
      {"capacity", "18446744073709551615", "1 to 1099511627776", {.name = "b", .capacity = kMost}},
  };
  rows.push_back({"overflow", "4", "0 to 3", {.name = "b", .overflow = Overflow{4}}});
  rows.push_back({"overflow", "255", "0 to 3", {.name = "b", .overflow = Overflow{255}}});
  rows.push_back({"wait_strategy", "4", "0 to 3", {.name = "b", .wait_strategy = WaitStrategy{4}}});
  rows.push_back({"threading", "2", "0 to 1", {.name = "b", .threading = Threading{2}}});
  return rows;
}

template <class Call>
void check_refused(const BadOptions& bad, Call call) {
  CAPTURE(bad.field);
  CAPTURE(bad.value);
  try {
    call();
    FAIL("nothing was thrown");
  } catch (const OptionsError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.field() == bad.field);
    CHECK(message.find(bad.field) == 0);
    CHECK(message.find(bad.value) != std::string::npos);
    CHECK(message.find(bad.limit) != std::string::npos);
  }
}

}  // namespace

TEST_SUITE("options") {
  TEST_CASE("every bad value is refused, naming field, value and limit") {
    for (const BadOptions& bad : bad_options()) {
      check_refused(bad, [&] { bad.options.validate(); });
    }
  }

  TEST_CASE("a buffer with a bad option does not start: no hook, no factory, no handler") {
    int called = 0;
    for (BadOptions bad : bad_options()) {
      bad.options.on_thread_start = [&](std::size_t) { ++called; };
      bad.options.on_thread_stop = [&](std::size_t) { ++called; };
      check_refused(bad,
                    [&] { Buffer<int> buffer(bad.options, [&](std::span<int>) { ++called; }); });
      check_refused(bad, [&] {
        static_cast<void>(Buffer<int>::per_partition(bad.options, [&](std::size_t) {
          ++called;
          return [](std::span<int>) {};
        }));
      });
      CHECK(called == 0);
    }
  }

  TEST_CASE("an on_drop for another item type is refused before anything starts") {
    Options options{.name = "b"};
    options.on_drop = [](std::span<double>, const DropInfo&) {};
    int called = 0;
    options.on_thread_start = [&](std::size_t) { ++called; };
    check_refused({"on_drop", "items of type double", "items, of type int", {}},
                  [&] { Buffer<int> buffer(options, [](std::span<int>) {}); });
    CHECK(called == 0);
  }

  TEST_CASE("an on_drop for the item type, or none, is accepted") {
    Options options{.name = "b", .threading = Threading::kManual};
    CHECK_NOTHROW(Buffer<int>(options, [](std::span<int>) {}));
    options.on_drop = [](std::span<int>, const DropInfo&) {};
    CHECK_NOTHROW(Buffer<int>(options, [](std::span<int>) {}));
    options.on_drop = nullptr;
    CHECK_NOTHROW(Buffer<int>(options, [](std::span<int>) {}));
  }

  TEST_CASE("the first bad field is the one that is named") {
    const Options options{.name = "", .partitions = 0, .max_size = 0};
    CHECK_THROWS_WITH_AS(options.validate(), "name = \"\": must not be empty", OptionsError);
  }

  TEST_CASE("an options error is a std::invalid_argument") {
    CHECK_THROWS_AS(Options{}.validate(), std::invalid_argument);
  }

  TEST_CASE("the defaults are those of the design") {
    const Options options;
    CHECK(options.name.empty());
    CHECK(options.partitions == 1);
    CHECK(options.max_size == 5000);
    CHECK(options.max_size_jitter == 0);
    CHECK(options.flush_interval == 10s);
    CHECK(options.flush_jitter == 2s);
    CHECK(options.flush_timeout == 60s);
    CHECK_FALSE(options.flush_meta.has_value());
    CHECK_FALSE(options.capacity.has_value());
    CHECK(options.overflow == Overflow::kBlock);
    CHECK(options.insert_timeout == 5s);
    CHECK(options.close_timeout == 60s);
    CHECK_FALSE(static_cast<bool>(options.on_drop));
    CHECK(options.wait_strategy == WaitStrategy::kAdaptive);
    CHECK(options.threading == Threading::kOwn);
    CHECK(options.clock == nullptr);
    CHECK_FALSE(static_cast<bool>(options.on_thread_start));
    CHECK_FALSE(static_cast<bool>(options.on_thread_stop));
  }

  TEST_CASE("the default capacity is four of the largest batches") {
    CHECK(Options{}.effective_capacity() == 20'000);
    CHECK(Options{.max_size = 10, .max_size_jitter = 5}.effective_capacity() == 60);
    CHECK(Options{.max_size = 10, .capacity = 17}.effective_capacity() == 17);
    CHECK(Options{.max_size = kTwoTo31, .max_size_jitter = kTwoTo31}.effective_capacity() ==
          std::size_t{1} << 34U);
  }

  TEST_CASE("the lowest and the highest value of each option are good") {
    const std::string longest(256, 'n');
    const std::vector<Options> good{
        {.name = longest},
        {.name = "b", .partitions = 1024},
        {.name = "b", .max_size = 1},
        {.name = "b", .max_size = kTwoTo31},
        {.name = "b", .max_size_jitter = kTwoTo31},
        {.name = "b", .flush_interval = 0ns},
        {.name = "b", .flush_interval = kForever},
        {.name = "b", .flush_jitter = 0ns},
        {.name = "b", .flush_jitter = kForever},
        {.name = "b", .flush_timeout = 1ns},
        {.name = "b", .flush_timeout = kForever},
        {.name = "b", .insert_timeout = 0ns},
        {.name = "b", .insert_timeout = kForever},
        {.name = "b", .close_timeout = 0ns},
        {.name = "b", .close_timeout = kForever},
        {.name = "b", .max_size = 10, .max_size_jitter = 5, .capacity = 15},
        {.name = "b", .capacity = kTwoTo40},
    };
    for (const Options& options : good) CHECK_NOTHROW(options.validate());
  }

  TEST_CASE("a buffer with every option at its highest value works, and takes no memory for it") {
    std::vector<int> handled;
    Options options{.name = "b",
                    .max_size = kTwoTo31,
                    .max_size_jitter = kTwoTo31,
                    .flush_interval = kForever,
                    .flush_jitter = kForever,
                    .flush_timeout = kForever,
                    .capacity = kTwoTo40,
                    .insert_timeout = kForever,
                    .close_timeout = kForever,
                    .threading = Threading::kManual};
    Buffer<int> buffer(options, [&](std::span<int> batch) {
      handled.insert(handled.end(), batch.begin(), batch.end());
    });
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(buffer.close().status == CallStatus::kDone);
    CHECK(handled == std::vector{1});
  }

  TEST_CASE("options() shows the options in force") {
    const Options options{.name = "shown",
                          .max_size = 7,
                          .flush_meta = std::string("meta"),
                          .threading = Threading::kManual};
    const Buffer<int> buffer(options, [](std::span<int>) {});
    CHECK(buffer.options().name == "shown");
    CHECK(buffer.options().max_size == 7);
    CHECK(std::any_cast<std::string>(buffer.options().flush_meta) == "meta");
  }

  TEST_CASE("every enumerator has its name, and a value out of range is unknown") {
    CHECK(to_string(Overflow::kBlock) == "block");
    CHECK(to_string(Overflow::kReject) == "reject");
    CHECK(to_string(Overflow::kDropNewest) == "drop-newest");
    CHECK(to_string(Overflow::kDropOldest) == "drop-oldest");
    CHECK(to_string(Overflow{9}) == "unknown");
    CHECK(to_string(Threading::kOwn) == "own");
    CHECK(to_string(Threading::kManual) == "manual");
    CHECK(to_string(Threading{9}) == "unknown");
    CHECK(to_string(WaitStrategy::kAdaptive) == "adaptive");
    CHECK(to_string(WaitStrategy::kSpin) == "spin");
    CHECK(to_string(WaitStrategy::kYield) == "yield");
    CHECK(to_string(WaitStrategy::kPark) == "park");
    CHECK(to_string(WaitStrategy{9}) == "unknown");
    CHECK(to_string(InsertStatus::kAccepted) == "accepted");
    CHECK(to_string(InsertStatus::kFull) == "full");
    CHECK(to_string(InsertStatus::kTimedOut) == "timed_out");
    CHECK(to_string(InsertStatus::kClosed) == "closed");
    CHECK(to_string(InsertStatus::kDropped) == "dropped");
    CHECK(to_string(InsertStatus::kNoMemory) == "no_memory");
    CHECK(to_string(InsertStatus{9}) == "unknown");
    CHECK(to_string(FlushStatus::kOk) == "ok");
    CHECK(to_string(FlushStatus::kFailed) == "failed");
    CHECK(to_string(FlushReason::kSize) == "size");
    CHECK(to_string(FlushReason::kInterval) == "interval");
    CHECK(to_string(FlushReason::kManual) == "manual");
    CHECK(to_string(FlushReason::kClose) == "close");
    CHECK(to_string(DropReason::kNewest) == "newest");
    CHECK(to_string(DropReason::kOldest) == "oldest");
    CHECK(to_string(DropReason::kFailed) == "failed");
    CHECK(to_string(DropReason::kClosed) == "closed");
    CHECK(to_string(DropReason::kNoMemory) == "no_memory");
    CHECK(to_string(CallStatus::kDone) == "done");
    CHECK(to_string(CallStatus::kTimedOut) == "timed_out");
    CHECK(to_string(CallStatus::kReentrant) == "reentrant");
    CHECK(to_string(CallStatus::kClosed) == "closed");
  }
}
