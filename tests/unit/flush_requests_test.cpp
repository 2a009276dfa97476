// Goal: a request is done when its number is, and its ticket collects every batch in between.
// Method: the class alone; only waits that are over already.

#include <doctest/doctest.h>

#include <any>
#include <memory>
#include <string>
#include <utility>

#include "engine/flush_requests.hpp"
#include "support/print.hpp"

using namespace databuffer;
using databuffer::detail::FlushRequests;

namespace {

/// A deadline that is past: wait() looks and returns.
constexpr TimePoint kPast{};

/// Calls back when the last copy of it ends.
std::any calls_at_end(std::function<void()> call) {
  return std::shared_ptr<void>(nullptr, [call = std::move(call)](void*) { call(); });
}

}  // namespace

TEST_SUITE("flush_requests") {
  TEST_CASE("requests are numbered, and done up to a number") {
    FlushRequests requests;
    CHECK(requests.asked() == 0);
    CHECK(requests.done() == 0);
    CHECK(requests.ask() == 1);
    CHECK(requests.ask() == 2);
    CHECK(requests.asked() == 2);
    requests.complete(1);
    CHECK(requests.done() == 1);
    requests.complete(2);
    CHECK(requests.done() == 2);
  }

  TEST_CASE("done never goes back") {
    FlushRequests requests;
    requests.complete(5);
    requests.complete(3);
    CHECK(requests.done() == 5);
  }

  TEST_CASE("a ticket is done when its number is, not when an earlier one is") {
    FlushRequests requests;
    requests.ask();
    FlushRequests::Ticket ticket;
    requests.enter(ticket);
    CHECK(ticket.number == 2);
    requests.complete(1);
    CHECK_FALSE(requests.wait(ticket, kPast));
    requests.enter(ticket);
    requests.complete(3);
    CHECK(requests.wait(ticket, kPast));
    CHECK(requests.wait(ticket, TimePoint::max()));  // returns: it is done
  }

  TEST_CASE("a ticket collects the batches that end while it is open") {
    FlushRequests requests;
    requests.add_batch(100, 0, FlushResult::ok());  // nobody waits
    FlushRequests::Ticket first;
    requests.enter(first);
    requests.add_batch(3, 0, FlushResult::ok());
    FlushRequests::Ticket second;
    requests.enter(second);
    requests.add_batch(4, 0, FlushResult::ok(std::any(7)));
    requests.complete(2);
    CHECK(requests.wait(first, kPast));
    CHECK(requests.wait(second, kPast));
    requests.add_batch(1000, 0, FlushResult::ok());  // too late for both

    CHECK(first.report.batches == 2);
    CHECK(first.report.items == 7);
    CHECK(first.report.failed_items == 0);
    CHECK(second.report.batches == 1);
    CHECK(second.report.items == 4);
    REQUIRE(second.report.result != nullptr);
    CHECK(std::any_cast<int>(second.report.result->value()) == 7);
    CHECK(first.report.result == second.report.result);
  }

  TEST_CASE("without a batch there is no result") {
    FlushRequests requests;
    FlushRequests::Ticket ticket;
    requests.enter(ticket);
    requests.complete(1);
    CHECK(requests.wait(ticket, kPast));
    CHECK(ticket.report.batches == 0);
    CHECK(ticket.report.result == nullptr);
  }

  TEST_CASE("the first failure is the result that stays") {
    FlushRequests requests;
    FlushRequests::Ticket ticket;
    requests.enter(ticket);
    requests.add_batch(1, 0, FlushResult::ok());
    requests.add_batch(2, 2, FlushResult::failed("first"));
    requests.add_batch(4, 0, FlushResult::ok());
    requests.add_batch(8, 8, FlushResult::failed("second"));
    requests.complete(1);
    CHECK(requests.wait(ticket, kPast));
    CHECK(ticket.report.batches == 4);
    CHECK(ticket.report.items == 15);
    CHECK(ticket.report.failed_items == 10);
    REQUIRE(ticket.report.result != nullptr);
    CHECK(ticket.report.result->message() == "first");
  }

  TEST_CASE("of batches that did not fail the last one's result stays") {
    FlushRequests requests;
    FlushRequests::Ticket ticket;
    requests.enter(ticket);
    requests.add_batch(1, 0, FlushResult::ok(std::any(1)));
    requests.add_batch(1, 0, FlushResult::ok(std::any(2)));
    requests.complete(1);
    CHECK(requests.wait(ticket, kPast));
    CHECK(std::any_cast<int>(ticket.report.result->value()) == 2);
  }

  // The destructor of a user's value asks anew: with our mutex held it would hang.
  TEST_CASE("no lock is held while a result's value ends") {
    FlushRequests requests;
    FlushRequests::Ticket ticket;
    requests.enter(ticket);
    int ended = 0;
    const auto value = [&] {
      return calls_at_end([&] {
        FlushRequests::Ticket inner;
        requests.enter(inner);
        CHECK_FALSE(requests.wait(inner, kPast));
        ++ended;
      });
    };
    SUBCASE("a result that is replaced") {
      requests.add_batch(1, 0, FlushResult::ok(value()));
      requests.add_batch(1, 0, FlushResult::ok());
    }
    SUBCASE("a result behind a failure, which nobody keeps") {
      requests.add_batch(1, 1, FlushResult::failed("no"));
      requests.add_batch(1, 0, FlushResult::ok(value()));
    }
    CHECK(ended == 1);
    requests.wait(ticket, kPast);
  }
}
