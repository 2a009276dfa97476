// Goal: the turn is held by one at a time, and a thread knows what it holds and whom it works for.
// Method: the two classes alone.

#include <doctest/doctest.h>

#include <memory>
#include <span>

#include "databuffer/databuffer.hpp"
#include "engine/roles.hpp"
#include "engine/turn.hpp"

using namespace databuffer;
using databuffer::detail::Core;
using databuffer::detail::RoleFrame;
using databuffer::detail::Turn;

namespace {

std::shared_ptr<Core> start_core() {
  return Core::start({.name = "b", .threading = Threading::kManual},
                     databuffer::detail::shared_parts<int>([](std::span<int>) {}));
}

}  // namespace

TEST_SUITE("turn") {
  TEST_CASE("a turn that is held is not given again until it is given back") {
    const auto core = start_core();
    Turn turn;
    REQUIRE(turn.try_acquire());
    {
      const Turn::Holder holder(turn, *core);
      CHECK_FALSE(turn.try_acquire());
      CHECK_FALSE(turn.acquire_until(TimePoint{}));  // long past
      CHECK_FALSE(turn.acquire_until(TimePoint{std::chrono::nanoseconds{1}}));
    }
    REQUIRE(turn.try_acquire());
    const Turn::Holder holder(turn, *core);
    CHECK_FALSE(turn.try_acquire());
  }

  TEST_CASE("a turn somebody gave up waiting for can be taken again") {
    const auto core = start_core();
    Turn turn;
    for (int round = 0; round < 3; ++round) {
      turn.acquire();
      const Turn::Holder holder(turn, *core);
      CHECK_FALSE(turn.acquire_until(TimePoint{}));
    }
    CHECK(turn.acquire_until(TimePoint{}));
  }

  TEST_CASE("a thread holds a turn from the holder's construction to its end") {
    const auto core = start_core();
    Turn turn;
    Turn other;
    CHECK_FALSE(RoleFrame::holds(turn));
    {
      turn.acquire();
      const Turn::Holder holder(turn, *core);
      CHECK(RoleFrame::holds(turn));
      CHECK_FALSE(RoleFrame::holds(other));
    }
    CHECK_FALSE(RoleFrame::holds(turn));
  }

  TEST_CASE("a thread works for each buffer it is inside of, however deep") {
    const auto outer_core = start_core();
    const auto inner_core = start_core();
    CHECK_FALSE(RoleFrame::works_for(*outer_core));
    {
      const RoleFrame outer(*outer_core);
      CHECK(RoleFrame::works_for(*outer_core));
      CHECK_FALSE(RoleFrame::works_for(*inner_core));
      {
        const RoleFrame inner(*inner_core);
        CHECK(RoleFrame::works_for(*outer_core));
        CHECK(RoleFrame::works_for(*inner_core));
      }
      CHECK_FALSE(RoleFrame::works_for(*inner_core));
    }
    CHECK_FALSE(RoleFrame::works_for(*outer_core));
  }
}
