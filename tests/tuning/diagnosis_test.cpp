// What limits: each rule of diagnose(), on both sides of its border.

#include "tools/tuning/diagnosis.hpp"

#include <doctest/doctest.h>

namespace databuffer::tuning_tests {
namespace {

using namespace tuning;

// Of 10 s with 2 producers, 4 partitions and 2 cores.
Diagnosis diagnosis(double blocked_share, double handler_share, double cpu_share, double rate = 0) {
  Measurement measurement;
  measurement.seconds = 10;
  measurement.blocked_seconds = blocked_share * 20;
  measurement.handler_seconds = handler_share * 40;
  measurement.cpu_seconds = cpu_share * 20;
  return diagnose(measurement, {.partitions = 4}, {.producers = 2, .cores = 2, .rate = rate});
}

TEST_SUITE("diagnosis") {
  TEST_CASE("shares are of all producers, all consumers and all cores") {
    const Diagnosis found = diagnosis(0.25, 0.5, 0.75);
    CHECK(found.blocked_share == doctest::Approx(0.25));
    CHECK(found.handler_share == doctest::Approx(0.5));
    CHECK(found.cpu_share == doctest::Approx(0.75));
  }

  TEST_CASE("producers limit where they hardly ever wait for room") {
    CHECK(diagnosis(0.09, 0.99, 0.99).limit == Limit::kProducers);
    CHECK(diagnosis(0.11, 0.99, 0.99).limit != Limit::kProducers);
    CHECK(diagnosis(0.0, 0.1, 0.1, 1000).why.find("rate") != std::string::npos);
  }

  TEST_CASE("the sink limits where producers wait and handlers are busy") {
    CHECK(diagnosis(0.5, 0.76, 0.99).limit == Limit::kSink);
    CHECK(diagnosis(0.5, 0.74, 0.99).limit == Limit::kConsumer);
  }

  TEST_CASE("the consumer limits where the cores are used up outside of handlers") {
    CHECK(diagnosis(0.5, 0.2, 0.86).limit == Limit::kConsumer);
    CHECK(diagnosis(0.5, 0.2, 0.84).limit == Limit::kQueue);
  }

  TEST_CASE("the queue limits where producers wait and nobody is busy") {
    const Diagnosis found = diagnosis(0.9, 0.1, 0.1);
    CHECK(found.limit == Limit::kQueue);
    CHECK(found.why.find("capacity") != std::string::npos);
  }

  TEST_CASE("producers do not limit where items are thrown away, though they never wait for room") {
    const auto dropping = [](std::uint64_t inserted, std::uint64_t dropped, std::uint64_t refused) {
      Measurement measurement;
      measurement.seconds = 10;
      measurement.inserted = inserted;
      measurement.dropped = dropped;
      measurement.refused = refused;
      measurement.handler_seconds = 9;
      return diagnose(measurement, {}, {.producers = 2, .cores = 2, .rate = 0});
    };
    CHECK(dropping(1000, 99, 0).limit == Limit::kProducers);
    const Diagnosis dropped = dropping(1000, 100, 0);  // by drop-newest or drop-oldest
    CHECK(dropped.limit == Limit::kSink);
    CHECK(dropped.dropped_share == doctest::Approx(0.1));
    CHECK(dropped.why.find("10 % of the items are thrown away") != std::string::npos);
    CHECK(dropping(500, 500, 500).dropped_share == doctest::Approx(0.5));  // by reject
    CHECK(dropping(500, 500, 500).limit == Limit::kSink);
  }

  TEST_CASE("of a run that took no time nothing is concluded but that nobody waited") {
    CHECK(diagnose({}, {}, {}).limit == Limit::kProducers);
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
