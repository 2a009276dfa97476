// What the search makes of noise, and of runs that say nothing, on a machine that is not there:
// what is true is known.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "tools/tuning/measure.hpp"
#include "tools/tuning/search.hpp"
#include "tools/tuning/space.hpp"
#include "tuning/synthetic_machine.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace std::chrono_literals;
using namespace tuning;

TEST_SUITE("noise") {
  // Goal: noise alone never makes another than the defaults win, however noisy and however the
  // machine's speed changes.
  TEST_CASE("where nothing differs the defaults win, in every one of many sweeps") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    for (const double noise : {0.02, 0.1, 0.3}) {
      for (const double drift : {0.5, 1.0, 2.0}) {
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
          CAPTURE(noise);
          CAPTURE(drift);
          CAPTURE(seed);
          SyntheticMachine machine(flat, {.noise = noise, .drift = drift, .seed = seed});
          SearchSettings settings = settings_for(machine);
          settings.seed = seed;
          const SearchResult result = search(grid, machine.measure(), settings);
          CHECK(result.is_winner_default());
          CHECK(result.winner().candidate == default_candidate());
          CHECK(result.over_runner_up.rounds >= 25);  // that was enough to say so
        }
      }
    }
  }

  TEST_CASE("within a plateau of 2 % the default wins, nearly always") {
    Space space = default_space(2);
    space.partitions = {1, 2};
    const std::vector<Candidate> grid = candidates_of(space);
    int claims = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SyntheticMachine machine(plateau, {.noise = 0.1, .drift = 2, .seed = seed});
      const SearchResult result = search(grid, machine.measure(), settings_for(machine));
      claims += result.is_winner_default() ? 0 : 1;
    }
    CHECK(claims <= 1);
  }

  TEST_CASE("one that is 10 % better than all others is found, and nobody else ever") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const Candidate better{.partitions = 4, .max_size = 1000, .capacity = 4000};
    const auto truth = [&better](const Candidate& candidate) {
      Measurement measured;
      measured.items_per_s = candidate == better ? 1.1e6 : 1e6;
      return measured;
    };
    int found = 0;
    constexpr int kSearches = 40;
    for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
      CAPTURE(seed);
      SyntheticMachine machine(truth, {.noise = 0.05, .drift = 2, .seed = seed});
      SearchSettings settings = settings_for(machine);
      settings.seed = seed;
      const SearchResult result = search(grid, machine.measure(), settings);
      const bool is_found = result.winner().candidate == better;
      found += is_found ? 1 : 0;
      CHECK((is_found || result.is_winner_default()));
      if (is_found) CHECK(result.over_default.is_clear());
    }
    CHECK(found >= kSearches * 9 / 10);
  }

  TEST_CASE("the default wins where another is better by less than 1 %, however clearly") {
    const auto truth = [](const Candidate& candidate) {
      Measurement measured;
      measured.items_per_s = candidate.partitions == 2 ? 1.008e6 : 1e6;
      return measured;
    };
    SyntheticMachine machine(truth, {});
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    CHECK(result.is_winner_default());
    CHECK(result.over_default.rounds == 0);  // it is never compared with itself
    CHECK(result.over_runner_up.won == 0);
    CHECK(result.entries[*result.runner_up].candidate.partitions == 2);
  }

  TEST_CASE("who leads the race by luck does not win, and the runner-up may") {
    // In the race another looks good, and is no better than the default at the end.
    const Candidate lucky{.partitions = 8, .max_size = 100, .capacity = 400};
    const Candidate better{.partitions = 4, .max_size = 1000, .capacity = 4000};
    for (const bool has_better : {false, true}) {
      CAPTURE(has_better);
      bool is_race = true;
      const auto truth = [&](const Candidate& candidate) {
        Measurement measured;
        measured.items_per_s = 1e6;
        if (candidate == lucky && is_race) measured.items_per_s = 1.5e6;
        if (candidate == better && has_better) measured.items_per_s = 1.3e6;
        return measured;
      };
      SyntheticMachine machine(truth, {.noise = 0.02});
      SearchSettings settings = settings_for(machine);
      settings.on_progress = [&](const SearchProgress& progress) {
        is_race = !progress.is_final;  // the first to run at the end is the default
      };
      const std::vector<Candidate> grid{lucky, better};
      const SearchResult result = search(grid, machine.measure(), settings);
      CHECK(result.winner().candidate == (has_better ? better : default_candidate()));
    }
  }

  // What a low rate does to a run that is too short: next to nothing is flushed, and the edges of
  // the run say that another is twice as good.
  Measurement edges(const Candidate& candidate) {
    Measurement measured = flat(candidate);
    if (candidate != default_candidate()) measured.items_per_s *= 1.9;
    return measured;
  }

  TEST_CASE("runs that say nothing are not compared, and no win comes of them") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SyntheticMachine machine(
          edges,
          {.noise = 0.1, .seed = seed, .flushes_every = [](const Candidate& candidate) -> Duration {
             return candidate == default_candidate() ? 1h : 10ms;
           }});
      const SearchResult result = search(grid, machine.measure(), settings_for(machine));
      // The default is not measurable: there is nothing to compare with.
      CHECK_FALSE(result.has_winner());
      CHECK_FALSE(result.is_stopped);
      CHECK(result.elapsed <= 60s);
    }
  }

  TEST_CASE("who cannot be measured in the budget is marked so, and never wins") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const auto is_slow = [](const Candidate& candidate) {
      return candidate.partitions >= 4 && candidate.max_size >= 1000;
    };
    SyntheticMachine machine(edges, {.flushes_every = [&](const Candidate& candidate) -> Duration {
                               return is_slow(candidate) ? 1h : 10ms;
                             }});
    SearchSettings settings = settings_for(machine);
    const auto check = [&](const SearchResult& result) {
      REQUIRE(result.has_winner());
      CHECK(result.entries.size() == grid.size());
      CHECK(result.not_run == 0);
      CHECK_FALSE(is_slow(result.winner().candidate));
      CHECK_FALSE(is_slow(result.entries[*result.runner_up].candidate));
      for (const Entry& entry : result.entries) {
        CHECK((entry.fate == Fate::kUnmeasured) == is_slow(entry.candidate));
        CHECK((entry.runs == 0) == is_slow(entry.candidate));
      }
    };
    SUBCASE("which is seen when they run") { check(search(grid, machine.measure(), settings)); }
    SUBCASE("which is known before: then they do not run") {
      settings.least_run_of = [&](const Candidate& candidate) -> Duration {
        return is_slow(candidate) ? Duration(1h) : Duration(30ms);
      };
      check(search(grid, machine.measure(), settings));
      for (const SyntheticMachine::Run& run : machine.runs()) CHECK_FALSE(is_slow(run.candidate));
    }
  }

  TEST_CASE("runs become longer until they say something, within the budget") {
    const std::vector<Candidate> grid{{.partitions = 2, .max_size = 100, .capacity = 400},
                                      {.partitions = 8, .max_size = 5000, .capacity = 20'000}};
    // The default has a batch a second, the last candidate eight.
    SyntheticMachine machine(waiting_sink, {.flushes_every = [](const Candidate&) { return 1s; }});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine, 240s));
    REQUIRE(result.has_winner());
    CHECK(result.winner().candidate == grid[1]);
    CHECK(result.run_length >= 2s);
    CHECK(result.final_run_length >= 2s);
    CHECK(result.over_default.rounds >= 10);
    CHECK(machine.elapsed() <= 240s);
    for (const Entry& entry : result.entries) CHECK(entry.fate != Fate::kUnmeasured);
  }

  TEST_CASE("runs are as long as the rate and the interval ask for") {
    Options base;
    base.flush_interval = 10s;
    base.flush_jitter = 2s;
    const auto run_of = [&base](const Workload& workload, const Candidate& candidate) {
      return run_of_several_flushes(workload, base)(candidate);
    };
    const Candidate candidate{.partitions = 2, .max_size = 100, .capacity = 400};
    CHECK(run_of({}, candidate) == 0s);  // a closed loop
    // Filled in 200 ms: three times in 600 ms, and a quarter more.
    CHECK(run_of({.rate = 1000}, candidate) == 750ms);
    // An item of each partition in 2 s, which then waits for 12 s.
    CHECK(run_of({.rate = 1}, candidate) == 52'500ms);
    // Calls of 5,000 items, one in 50 s: nothing is flushed more often.
    CHECK(run_of({.batch = 5000, .rate = 100}, candidate) == 100s * 3 * 5 / 4);
    base.flush_interval = kForever;
    CHECK(run_of({.rate = 1}, candidate) == 200s * 3 * 5 / 4);
    base.flush_interval = 0s;
    base.flush_jitter = 0s;
    CHECK(run_of({.rate = 1000}, candidate) == 8ms);  // 7.5, and as whole milliseconds
  }

  TEST_CASE("a budget that has no room for the default's runs is refused, with what it should be") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(flat, {});
    SearchSettings settings = settings_for(machine);
    settings.least_run_of = run_of_several_flushes({.rate = 10'000}, {});
    // The default needs 1,875 ms, and so few others need no more.
    const LeastBudget least = least_budget(grid, settings);
    CHECK(least.run == 1875ms);
    CHECK(least.candidates < grid.size());
    CHECK(least.budget == least.run * (static_cast<int>(least.candidates) + 30));
    REQUIRE(least.budget > settings.budget);
    CHECK_THROWS_AS(static_cast<void>(search(grid, machine.measure(), settings)), SearchError);
    CHECK(machine.runs().empty());
    settings.budget = least.budget;
    CHECK(search(grid, machine.measure(), settings).is_winner_default());
    for (const SyntheticMachine::Run& run : machine.runs()) CHECK(run.duration >= least.run);
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
