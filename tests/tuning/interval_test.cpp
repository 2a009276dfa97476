// Medians and their intervals, against tables and by drawing.

#include "tools/tuning/interval.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

namespace databuffer::tuning_tests {
namespace {

using namespace tuning;

TEST_SUITE("interval") {
  TEST_CASE("medians of odd, even and no numbers, and pseudo-medians") {
    CHECK(median({3, 1, 2}) == 2);
    CHECK(median({4, 1, 2, 3}) == 2.5);
    CHECK(median({}) == 0);
    CHECK(pseudo_median({1, 2, 3}) == 2);
    CHECK(pseudo_median({1, 2, 1000}) == (2 + 500.5) / 2);
    CHECK(pseudo_median({1, 1, 1, 1, 1, 1e9}) == 1);
  }

  TEST_CASE("the chances of a coin are those of the binomial distribution") {
    CHECK(chance_of_heads(0, 5) == doctest::Approx(1));
    CHECK(chance_of_heads(5, 5) == doctest::Approx(1.0 / 32));
    CHECK(chance_of_heads(3, 3) == doctest::Approx(1.0 / 8));
    CHECK(chance_of_heads(7, 8) == doctest::Approx(9.0 / 256));
    CHECK(chance_of_heads(500, 1000) == doctest::Approx(0.5126).epsilon(0.001));
    CHECK(chance_of_heads(0, 0) == 1);
  }

  TEST_CASE("the ranks of the limits are those of the table for the sign test") {
    // From the k-th lowest to the k-th highest of n, for 95 %: n = 6, 8: k = 1; 9: 2; 15: 4; 20: 6.
    const auto rank_of = [](std::size_t count) {
      std::vector<double> values;
      for (std::size_t value = 1; value <= count; ++value) {
        values.push_back(static_cast<double>(value));
      }
      const Interval interval = median_interval(values, 0.95);
      CHECK(interval.high == static_cast<double>(count) + 1 - interval.low);
      return interval.is_range ? 0 : static_cast<int>(interval.low);
    };
    CHECK(rank_of(5) == 0);
    CHECK(rank_of(6) == 1);
    CHECK(rank_of(8) == 1);
    CHECK(rank_of(9) == 2);
    CHECK(rank_of(15) == 4);
    CHECK(rank_of(20) == 6);
  }

  TEST_CASE("of too few values it is the range, and says so") {
    const Interval three = median_interval({3, 1, 2}, 0.95);
    CHECK(three.is_range);
    CHECK(three.low == 1);
    CHECK(three.median == 2);
    CHECK(three.high == 3);
    CHECK(median_interval({}, 0.95).is_range);
  }

  TEST_CASE("it holds the true median as often as it says, of a skewed distribution too") {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> draw(1);
    int held = 0;
    constexpr int kTrials = 4000;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(12);
      for (double& value : values) value = draw(random);
      const Interval interval = median_interval(values, 0.95);
      held += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
    }
    CHECK(held >= kTrials * 0.95);
    CHECK(held <= kTrials * 0.975);
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
