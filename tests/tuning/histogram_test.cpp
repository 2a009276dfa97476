#include "tools/tuning/histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace databuffer::tuning {
namespace {

using namespace std::chrono_literals;

constexpr double kMaxError = 1.0 / 128;

double relative_error(Duration found, Duration exact) {
  return std::abs(static_cast<double>((found - exact).count())) /
         static_cast<double>(exact.count());
}

TEST_SUITE("histogram") {
  TEST_CASE("an empty one has zeros everywhere") {
    const Histogram histogram;
    CHECK(histogram.total() == 0);
    CHECK(histogram.quantile(0.5) == 0ns);
    CHECK(histogram.percentiles().max == 0);
  }

  TEST_CASE("durations below 128 ns are exact") {
    for (int value = 0; value < 128; ++value) {
      Histogram histogram;
      histogram.record(Duration(value));
      CHECK(histogram.quantile(0.5) == Duration(value));
    }
  }

  TEST_CASE("any single duration is found again with an error of at most 1/128") {
    std::mt19937_64 random(1);
    for (int bits = 7; bits < 63; ++bits) {
      const std::uint64_t base = std::uint64_t{1} << static_cast<unsigned>(bits);
      std::vector<std::uint64_t> values{base - 1, base, base + 1, 2 * base - 1};
      for (int extra = 0; extra < 100; ++extra) values.push_back(base + random() % base);
      for (const std::uint64_t value : values) {
        CAPTURE(value);
        const Duration exact(static_cast<Duration::rep>(value));
        Histogram histogram;
        histogram.record(exact);
        histogram.note_max(kForever);  // so that the maximum does not correct the estimate
        CHECK(relative_error(histogram.quantile(0.5), exact) <= kMaxError);
      }
    }
  }

  TEST_CASE("quantiles of many values are those of the sorted values, within the error") {
    std::mt19937_64 random(2);
    std::lognormal_distribution<double> draw(8, 2);
    Histogram histogram;
    std::vector<Duration> values;
    for (int index = 0; index < 20'000; ++index) {
      values.emplace_back(static_cast<Duration::rep>(draw(random)) + 1);
      histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double share : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      CAPTURE(share);
      const auto rank = static_cast<std::size_t>(std::ceil(share * 20'000.0));
      CHECK(relative_error(histogram.quantile(share), values[rank - 1]) <= kMaxError);
    }
    CHECK(histogram.max() == values.back());
    CHECK(histogram.total() == 20'000);
  }

  TEST_CASE("a value with a count weighs as that many values") {
    Histogram histogram;
    histogram.record(10ns, 98);
    histogram.record(100ns, 2);
    CHECK(histogram.total() == 100);
    CHECK(histogram.quantile(0.98) == 10ns);
    CHECK(histogram.quantile(0.981) == 100ns);
  }

  TEST_CASE("a sum is what one histogram of all values would be") {
    Histogram first;
    Histogram second;
    Histogram all;
    for (int value = 1; value <= 1000; ++value) {
      (value % 3 == 0 ? first : second).record(Duration(value * 1000));
      all.record(Duration(value * 1000));
    }
    first.add(second);
    CHECK(first.total() == all.total());
    CHECK(first.max() == all.max());
    for (const double share : {0.01, 0.5, 0.99}) {
      CHECK(first.quantile(share) == all.quantile(share));
    }
  }

  TEST_CASE("a noted maximum is no sample") {
    Histogram histogram;
    histogram.record(5ns);
    histogram.note_max(1s);
    histogram.note_max(2ns);
    CHECK(histogram.total() == 1);
    CHECK(histogram.quantile(0.999) == 5ns);
    CHECK(histogram.max() == 1s);
  }

  TEST_CASE("a negative duration counts as none, and the longest has its place") {
    Histogram histogram;
    histogram.record(-5ns);
    CHECK(histogram.quantile(1) == 0ns);
    histogram.record(kForever, 2);
    CHECK(histogram.max() == kForever);
    CHECK(relative_error(histogram.quantile(0.6), kForever) <= kMaxError);
  }

  TEST_CASE("percentiles are in seconds") {
    Histogram histogram;
    for (int index = 0; index < 1000; ++index) histogram.record(100ns);
    histogram.record(2s);
    const Percentiles found = histogram.percentiles();
    CHECK(found.p50 == doctest::Approx(100e-9));
    CHECK(found.p999 == doctest::Approx(100e-9));
    CHECK(found.max == doctest::Approx(2));
  }
}

}  // namespace
}  // namespace databuffer::tuning
