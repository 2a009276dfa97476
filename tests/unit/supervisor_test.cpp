// Goal: a group of buffers is started in order, stopped in reverse order within one deadline, and
// as a whole or not at all.
// Method: buffers run by hand; stop closes them on this thread.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "databuffer/databuffer.hpp"
#include "support/manual_buffer.hpp"
#include "support/print.hpp"

using namespace databuffer;
using namespace std::chrono_literals;
using databuffer::support::numbers;

namespace {

Options by_hand(std::string name) {
  return {.name = std::move(name), .max_size = 3, .threading = Threading::kManual};
}

void ignore(std::span<int>) {}

std::vector<std::string> names(const std::vector<Supervisor::Stopped>& stopped) {
  std::vector<std::string> out;
  for (const auto& entry : stopped) out.push_back(entry.buffer);
  return out;
}

}  // namespace

TEST_SUITE("supervisor") {
  TEST_CASE("buffers of several item types are found by name and type") {
    Supervisor group("group");
    CHECK(group.name() == "group");
    Buffer<int>& numbers_buffer = group.start<int>(by_hand("numbers"), &ignore);
    auto& texts = group.start<std::string>(by_hand("texts"), [](std::span<std::string>) {});
    CHECK(numbers_buffer.insert(1) == InsertStatus::kAccepted);
    CHECK(texts.insert("x") == InsertStatus::kAccepted);
    CHECK(group.find<int>("numbers") == &numbers_buffer);
    CHECK(group.find<std::string>("texts") == &texts);
    CHECK(group.find<std::string>("numbers") == nullptr);
    CHECK(group.find<int>("nobody") == nullptr);
  }

  TEST_CASE("the last started is stopped first, with a report for each") {
    Supervisor group("group");
    for (const char* name : {"a", "b", "c"}) {
      group.start<int>(by_hand(name), &ignore).insert_batch(numbers(0, 2));
    }
    const std::vector<Supervisor::Stopped> stopped = group.stop(1h);
    CHECK(names(stopped) == std::vector<std::string>{"c", "b", "a"});
    for (const auto& entry : stopped) {
      CHECK(entry.report.status == CallStatus::kDone);
      CHECK(entry.report.ledger.flushed == 2);
    }
    CHECK(group.find<int>("a")->insert(1) == InsertStatus::kClosed);
  }

  TEST_CASE("in a chain nothing is lost") {
    std::vector<int> stored;
    {
      Supervisor group("chain");
      auto& sink = group.start<int>(by_hand("sink"), [&](std::span<int> items) {
        stored.insert(stored.end(), items.begin(), items.end());
      });
      auto& middle = group.start<int>(by_hand("middle"), [&](std::span<int> items) {
        CHECK(sink.insert_batch(items).status == InsertStatus::kAccepted);
      });
      auto& source = group.start<int>(by_hand("source"), [&](std::span<int> items) {
        CHECK(middle.insert_batch(items).status == InsertStatus::kAccepted);
      });
      source.insert_batch(numbers(0, 10));
    }
    CHECK(stored == numbers(0, 10));
  }

  TEST_CASE("stopping again reports the same end") {
    Supervisor group("group");
    group.start<int>(by_hand("a"), &ignore).insert(1);
    CHECK(group.stop(1h)[0].report.ledger.flushed == 1);
    CHECK(group.stop(0s)[0].report.status == CallStatus::kDone);
    CHECK(group.stop(0s)[0].report.ledger.flushed == 1);
  }

  TEST_CASE("a deadline that is past gives up what is pending, in every buffer") {
    Supervisor group("group");
    for (const char* name : {"a", "b"}) {
      group.start<int>(by_hand(name), &ignore).insert_batch(numbers(0, 8));
    }
    for (const auto& entry : group.stop(0s)) {
      CHECK(entry.report.status == CallStatus::kTimedOut);
      CHECK(entry.report.dropped == 5);  // One step: one batch of three.
      CHECK(entry.report.ledger.balances());
    }
  }

  TEST_CASE("timeouts of any size and sign are accepted, and none overflows") {
    Supervisor group("group", std::chrono::hours::max());
    group.start<int>(by_hand("a"), &ignore).insert(1);
    CHECK(group.stop(std::chrono::hours::max())[0].report.status == CallStatus::kDone);
    CHECK(group.stop(Duration::max()).size() == 1);
    CHECK(group.stop(std::chrono::hours::min()).size() == 1);
    CHECK(group.stop(Duration::min()).size() == 1);
    CHECK(group.stop(std::chrono::duration<double>(1e300)).size() == 1);
  }

  TEST_CASE("a buffer that does not start stops those before it, and the error names it") {
    std::vector<std::string> ended;
    Supervisor group("group");
    for (const char* name : {"a", "b"}) {
      auto& buffer = group.start<int>(by_hand(name),
                                      [&ended, name](std::span<int>) { ended.emplace_back(name); });
      buffer.insert(1);
    }
    try {
      group.start<int>({.name = "bad", .max_size = 0}, &ignore);
      FAIL("nothing was thrown");
    } catch (const StartError& error) {
      CHECK(error.buffer() == "bad");
      const std::string what = error.what();
      CHECK(what.find("group \"group\"") != std::string::npos);
      CHECK(what.find("buffer \"bad\"") != std::string::npos);
      CHECK(what.find("max_size = 0") != std::string::npos);
    }
    CHECK(ended == std::vector<std::string>{"b", "a"});
    CHECK(group.find<int>("a")->insert(1) == InsertStatus::kClosed);
    CHECK(group.find<int>("bad") == nullptr);
  }

  TEST_CASE("whatever a factory throws is a start error, one that is no std::exception included") {
    Supervisor group("group");
    CHECK_THROWS_WITH_AS(
        group.start_per_partition<int>(
            by_hand("a"),
            [](std::size_t) -> void (*)(std::span<int>) { throw std::runtime_error("no route"); }),
        "group \"group\": buffer \"a\" did not start: no route", StartError);
    CHECK_THROWS_AS(group.start_per_partition<int>(by_hand("b"),
                                                   [](std::size_t) -> void (*)(std::span<int>) {
                                                     throw 42;  // NOLINT: anything
                                                   }),
                    StartError);
  }

  TEST_CASE("a name may be used once in a group") {
    Supervisor group("group");
    group.start<int>(by_hand("a"), &ignore);
    CHECK_THROWS_AS(group.start<int>(by_hand("a"), &ignore), StartError);
    CHECK_THROWS_AS(group.start<std::string>(by_hand("a"), [](std::span<std::string>) {}),
                    StartError);
  }

  TEST_CASE("start_per_partition makes a handler for each partition") {
    int made = 0;
    Supervisor group("group");
    Options options = by_hand("a");
    options.partitions = 3;
    auto& buffer = group.start_per_partition<int>(options, [&](std::size_t) {
      ++made;
      return &ignore;
    });
    CHECK(made == 3);
    CHECK(buffer.insert(1) == InsertStatus::kAccepted);
  }

  TEST_CASE("a group without a name or with a negative timeout is refused") {
    CHECK_THROWS_AS(Supervisor(""), OptionsError);
    CHECK_THROWS_WITH_AS(Supervisor("g", -1ns), "stop_timeout = -1 ns: must not be negative",
                         OptionsError);
    CHECK_NOTHROW(Supervisor("g", 0ns));
    CHECK_NOTHROW(Supervisor("g", kForever));
  }

  TEST_CASE("an empty group stops at once") {
    Supervisor group("group");
    CHECK(group.stop(kForever).empty());
  }
}
