// The grid: what a space stands for, and what it refuses.

#include "tools/tuning/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "databuffer/options.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace tuning;
using Counts = std::vector<std::size_t>;

Space small_space() {
  return {.partitions = {1, 2},
          .max_sizes = {100, 1000},
          .capacities = {{4, true}},
          .waits = {WaitStrategy::kAdaptive}};
}

// The field that candidates_of() complains of.
std::string refused_field(const Space& space) {
  try {
    static_cast<void>(candidates_of(space));
  } catch (const SpaceError& error) {
    const std::string message = error.what();
    CHECK(message.find(error.field().substr(0, 4)) == 0);  // "wait_strategy", "max_size and …"
    return error.field();
  }
  return {};
}

TEST_SUITE("space") {
  TEST_CASE("a range goes in steps of 1, 2 and 5 and has both its ends") {
    CHECK(geometric_steps(100, 20'000) == Counts{100, 200, 500, 1000, 2000, 5000, 10'000, 20'000});
    CHECK(geometric_steps(1, 8) == Counts{1, 2, 5, 8});
    CHECK(geometric_steps(3, 3) == Counts{3});
    CHECK(geometric_steps(3, 4) == Counts{3, 4});
    CHECK(geometric_steps(7, 123) == Counts{7, 10, 20, 50, 100, 123});
    CHECK(geometric_steps(1, std::size_t{1} << 40U).back() == std::size_t{1} << 40U);
    CHECK(geometric_steps(1, SIZE_MAX).back() == SIZE_MAX);
  }

  TEST_CASE("the default space has the library's defaults in it, and more partitions than cores") {
    for (const std::size_t cores : {1U, 2U, 3U, 8U, 64U, 500U}) {
      CAPTURE(cores);
      const Space space = default_space(cores);
      const std::vector<Candidate> grid = candidates_of(space);
      CHECK(std::find(grid.begin(), grid.end(), default_candidate()) != grid.end());
      CHECK(space.partitions.front() == 1);
      CHECK(space.partitions.back() >= 8);
      CHECK(space.partitions.back() <= 64);
    }
    CHECK(default_space(8).partitions == Counts{1, 2, 4, 8, 16});
  }

  TEST_CASE("every combination is there once, and a buffer accepts it") {
    Space space = default_space(2);
    space.capacities = {{1, true}, {4, true}, {20'000, false}};
    space.waits = {WaitStrategy::kAdaptive, WaitStrategy::kPark};
    const std::vector<Candidate> grid = candidates_of(space);
    // 4 × max_size and 20,000 are one at max_size 5000, 1 × and 20,000 at 20,000.
    CHECK(grid.size() == 4 * (8 * 3 - 2) * 2);
    for (const Candidate& candidate : grid) {
      CHECK(std::count(grid.begin(), grid.end(), candidate) == 1);
      Options options;
      options.name = "b";
      options.partitions = candidate.partitions;
      options.max_size = candidate.max_size;
      options.capacity = candidate.capacity;
      CHECK_NOTHROW(options.validate());
    }
  }

  TEST_CASE("a capacity below its max_size is left out and counted; if all are, that is an error") {
    Space space = small_space();
    space.capacities = {{500, false}};
    std::size_t left_out = 0;
    const std::vector<Candidate> grid = candidates_of(space, &left_out);
    CHECK(grid.size() == 2);
    CHECK(left_out == 2);
    CHECK(grid[0].max_size == 100);

    space.capacities = {{99, false}};
    CHECK_THROWS_WITH_AS(static_cast<void>(candidates_of(space)),
                         doctest::Contains("expected 100 or more"), SpaceError);
    CHECK(refused_field(space) == "capacity");
  }

  TEST_CASE("values outside the limits of a buffer are refused, and named") {
    const auto refused = [](auto change) {
      Space space = small_space();
      change(space);
      return refused_field(space);
    };
    CHECK(refused([](Space& space) { space.partitions = {0}; }) == "partitions");
    CHECK(refused([](Space& space) { space.partitions = {1025}; }) == "partitions");
    CHECK(refused([](Space& space) { space.partitions.clear(); }) == "partitions");
    CHECK(refused([](Space& space) { space.max_sizes = {0}; }) == "max_size");
    CHECK(refused([](Space& space) { space.max_sizes = {(std::size_t{1} << 31U) + 1}; }) ==
          "max_size");
    CHECK(refused([](Space& space) { space.max_sizes.clear(); }) == "max_size");
    CHECK(refused([](Space& space) { space.capacities = {{0, true}}; }) == "capacity");
    CHECK(refused([](Space& space) { space.capacities = {{SIZE_MAX, true}}; }) == "capacity");
    CHECK(refused([](Space& space) {
            space.capacities = {{std::size_t{1} << 35U, true}};
          }) == "capacity");
    CHECK(refused([](Space& space) { space.capacities.clear(); }) == "capacity");
    CHECK(refused([](Space& space) { space.waits.clear(); }) == "wait_strategy");
    CHECK(refused([](Space&) {}).empty());
  }

  TEST_CASE("a space of too many combinations is refused instead of searched for days") {
    Space space = small_space();
    space.partitions = geometric_steps(1, 1024);
    space.max_sizes = geometric_steps(1, std::size_t{1} << 31U);
    space.capacities.assign(kMaxCandidates / 100, CapacityRule{});
    CHECK(refused_field(space) == "max_size");
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
