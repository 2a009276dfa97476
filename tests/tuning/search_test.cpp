// The search, on a machine that is not there: noise, drift and the clock are made up, so that what
// is true is known.

#include "tools/tuning/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tools/tuning/space.hpp"
#include "tuning/synthetic_machine.hpp"

namespace databuffer::tuning_tests {
namespace {

using namespace std::chrono_literals;
using namespace tuning;

double best_of(const SyntheticMachine& machine, const std::vector<Candidate>& candidates) {
  double best = 0;
  for (const Candidate& candidate : candidates) {
    best = std::max(best, machine.truth_of(candidate));
  }
  return best;
}

TEST_SUITE("search") {
  TEST_CASE("without noise it finds the best of the whole grid") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    REQUIRE(result.has_winner());
    CHECK(result.winner().candidate.partitions == 8);
    CHECK(result.winner().candidate.max_size == 20'000);
    CHECK(result.over_default.is_clear());
    CHECK(result.over_default.won == result.over_default.rounds);
    CHECK(result.entries.size() == grid.size());
    CHECK(result.not_run == 0);
    CHECK(result.is_within_limits);
    CHECK_FALSE(result.is_stopped);
  }

  TEST_CASE(
      "with 10 % noise and a machine that becomes twice as fast it wins within 5 % of the best") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    for (const double drift : {0.5, 1.0, 2.0}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(drift);
        CAPTURE(seed);
        SyntheticMachine machine(waiting_sink, {.noise = 0.1, .drift = drift, .seed = seed});
        SearchSettings settings = settings_for(machine);
        settings.seed = seed;
        const SearchResult result = search(grid, machine.measure(), settings);
        CHECK(machine.truth_of(result.winner().candidate) >= 0.95 * best_of(machine, grid));
      }
    }
  }

  TEST_CASE("what it says it wins over the defaults holds the truth, nearly always") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    int held = 0;
    constexpr int kSearches = 40;
    for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
      SyntheticMachine machine(waiting_sink, {.noise = 0.1, .drift = 2, .seed = seed});
      const SearchResult result = search(grid, machine.measure(), settings_for(machine));
      const double truth =
          machine.truth_of(result.winner().candidate) / machine.truth_of(default_candidate());
      held += result.over_default.ratio.low <= truth && truth <= result.over_default.ratio.high;
    }
    CHECK(held >= kSearches * 9 / 10);  // 95 % of them, and two standard deviations less
  }

  TEST_CASE("the default is compared with even if the grid does not have it") {
    const std::vector<Candidate> grid{{.partitions = 4, .max_size = 1000, .capacity = 4000},
                                      {.partitions = 8, .max_size = 1000, .capacity = 4000}};
    SyntheticMachine machine(waiting_sink, {.noise = 0.1});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    CHECK(result.winner().candidate.partitions == 8);
    CHECK(result.entries[result.default_entry].candidate == default_candidate());
    CHECK(result.over_default.rounds >= 25);
    CHECK(result.over_default.ratio.median ==
          doctest::Approx(8 * 1000 / 0.003 / (5000 / 0.007)).epsilon(0.2));
  }

  TEST_CASE("who is far behind is dropped early, who is near the best is run often") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {.noise = 0.1});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    for (const Entry& entry : result.entries) {
      CAPTURE(entry.candidate.partitions);
      CAPTURE(entry.candidate.max_size);
      const double share = machine.truth_of(entry.candidate) / best_of(machine, grid);
      if (share < 0.2) CHECK(entry.runs <= 3);
      if (share > 0.98) CHECK(entry.runs >= 6);
    }
  }

  TEST_CASE("every candidate runs in every round it is in, and all rounds are of one length") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(plateau, {.noise = 0.1});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    std::set<std::tuple<std::size_t, std::size_t>> first_round;
    for (std::size_t run = 0; run < grid.size(); ++run) {
      const Candidate& candidate = machine.runs()[run].candidate;
      first_round.emplace(candidate.partitions, candidate.max_size);
      // The second round is the first one backwards, so that a steady drift favours nobody.
      CHECK(machine.runs()[2 * grid.size() - 1 - run].candidate == candidate);
    }
    CHECK(first_round.size() == grid.size());
    for (const SyntheticMachine::Run& run : machine.runs()) {
      CHECK((run.duration == result.run_length || run.duration == result.final_run_length));
    }
  }

  TEST_CASE("a limit rules out what would be best, and the best within it wins") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {.noise = 0.05});
    SearchSettings settings = settings_for(machine);
    settings.objective.max_memory = 1e6;  // 10,000 items
    const SearchResult result = search(grid, machine.measure(), settings);
    CHECK(result.is_within_limits);
    CHECK(result.winner_measured.peak_bytes <= 1'000'000);
    CHECK(result.winner().candidate.partitions == 4);
    CHECK(result.winner().candidate.max_size == 500);
    for (const Entry& entry : result.entries) {
      if (entry.excess > 1) CHECK(entry.fate == Fate::kOverLimit);
    }
  }

  TEST_CASE("where nothing is within the limits, it says so and names the nearest") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {.noise = 0.05});
    SearchSettings settings = settings_for(machine);
    settings.objective.max_memory = 1000;
    const SearchResult result = search(grid, machine.measure(), settings);
    CHECK_FALSE(result.is_within_limits);
    CHECK(result.winner().candidate.partitions == 1);
    CHECK(result.winner().candidate.max_size == 100);
  }

  TEST_CASE("where nothing is flushed at all, that is no throughput of anybody") {
    SyntheticMachine machine([](const Candidate&) { return Measurement{}; }, {});
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const SearchResult result = search(grid, machine.measure(), settings_for(machine));
    CHECK(result.has_winner());
    CHECK_FALSE(result.is_within_limits);
  }

  TEST_CASE("each goal prefers what it is named for") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const auto winner_for = [&grid](Goal goal) {
      SyntheticMachine machine(waiting_sink, {.noise = 0.02});
      SearchSettings settings = settings_for(machine);
      settings.objective.goal = goal;
      return search(grid, machine.measure(), settings).winner_measured;
    };
    const Measurement fastest = winner_for(Goal::kThroughput);
    const Measurement soonest = winner_for(Goal::kLatency);
    const Measurement smallest = winner_for(Goal::kMemory);
    const Measurement balanced = winner_for(Goal::kBalanced);
    CHECK(soonest.age.p99 < fastest.age.p99 / 5);
    CHECK(smallest.peak_bytes < fastest.peak_bytes / 50);
    CHECK(balanced.items_per_s > soonest.items_per_s);
    CHECK(balanced.peak_bytes < fastest.peak_bytes);
  }

  TEST_CASE("the same seed gives the same search, run by run") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const auto runs = [&grid](std::uint64_t seed) {
      SyntheticMachine machine(waiting_sink, {.noise = 0.1, .drift = 2});
      SearchSettings settings = settings_for(machine);
      settings.seed = seed;
      static_cast<void>(search(grid, machine.measure(), settings));
      std::vector<Candidate> order;
      for (const SyntheticMachine::Run& run : machine.runs()) order.push_back(run.candidate);
      return order;
    };
    CHECK(runs(7) == runs(7));
    CHECK(runs(7) != runs(8));
  }

  TEST_CASE("the budget is kept, whatever a run takes, and most of it is used") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    for (const Duration overhead : {Duration(0ms), Duration(50ms), Duration(400ms)}) {
      for (const Duration budget : {Duration(7s), Duration(20s), Duration(60s)}) {
        CAPTURE(overhead.count());
        CAPTURE(budget.count());
        SyntheticMachine machine(plateau, {.noise = 0.1, .overhead = overhead});
        const SearchResult result = search(grid, machine.measure(), settings_for(machine, budget));
        // A candidate's first run may take what nobody could know.
        CHECK(machine.elapsed() <= budget + overhead);
        CHECK(machine.elapsed() >= budget * 7 / 10 - result.run_length - overhead);
        CHECK(result.elapsed == machine.elapsed());
        CHECK(result.runs == machine.runs().size());
      }
    }
  }

  TEST_CASE(
      "a budget that is used up in the first round gives what was run, and says what was not") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {.overhead = 1s});
    const SearchResult result = search(grid, machine.measure(), settings_for(machine, 10s));
    REQUIRE(result.has_winner());
    CHECK(result.not_run > 0);
    CHECK(result.entries.size() + result.not_run == grid.size());
    // Without rounds at the end nothing is better than the default.
    CHECK(result.is_winner_default());
    CHECK(result.over_runner_up.rounds == 0);
    double best = 0;
    for (const Entry& entry : result.entries) {
      best = std::max(best, machine.truth_of(entry.candidate));
    }
    REQUIRE(result.runner_up.has_value());
    CHECK(machine.truth_of(result.entries[*result.runner_up].candidate) == best);
  }

  TEST_CASE("a budget below a run of each candidate is refused, with what it should be") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {});
    const LeastBudget needed = least_budget(grid, settings_for(machine));
    CHECK(needed.candidates == 32);
    CHECK(needed.run == 100ms);
    const Duration least = needed.budget;
    CHECK(least == 100ms * (32 + 3 * 10));
    CHECK_NOTHROW(static_cast<void>(search(grid, machine.measure(), settings_for(machine, least))));
    SyntheticMachine other(waiting_sink, {});
    CHECK_THROWS_WITH_AS(
        static_cast<void>(search(grid, other.measure(), settings_for(other, least - 1ns))),
        doctest::Contains("expected at least 6.20 s"), SearchError);
    CHECK(other.runs().empty());
  }

  TEST_CASE("bad settings are refused before the first run") {
    SyntheticMachine machine(waiting_sink, {});
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    const auto is_refused = [&](auto change) {
      SearchSettings settings = settings_for(machine);
      change(settings);
      CHECK_THROWS_AS(static_cast<void>(search(grid, machine.measure(), settings)), SearchError);
    };
    is_refused([](SearchSettings& settings) { settings.least_run = 0s; });
    is_refused([](SearchSettings& settings) { settings.least_run = kForever; });
    is_refused([](SearchSettings& settings) { settings.objective.max_p99 = 0; });
    is_refused([](SearchSettings& settings) { settings.objective.max_memory = NAN; });
    CHECK_THROWS_AS(static_cast<void>(search({}, machine.measure(), settings_for(machine))),
                    SearchError);
    CHECK(machine.runs().empty());
  }

  TEST_CASE("what Measure throws ends the search, and reaches the caller as it is") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {});
    std::size_t calls = 0;
    const Measure throwing = [&](const Candidate& candidate, Duration duration) {
      if (++calls == 40) throw std::out_of_range("the disk is full");
      return machine.measure()(candidate, duration);
    };
    CHECK_THROWS_WITH_AS(static_cast<void>(search(grid, throwing, settings_for(machine))),
                         "the disk is full", std::out_of_range);
    CHECK(calls == 40);
  }

  TEST_CASE("a stop ends it after the run going on, with the best so far") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    for (const std::size_t stop_after : {1U, 20U, 100U}) {
      CAPTURE(stop_after);
      SyntheticMachine machine(waiting_sink, {});
      std::stop_source stop;
      SearchSettings settings = settings_for(machine);
      settings.stop = stop.get_token();
      settings.on_progress = [&](const SearchProgress& progress) {
        if (progress.runs == stop_after) stop.request_stop();
      };
      const SearchResult result = search(grid, machine.measure(), settings);
      CHECK(result.is_stopped);
      CHECK(machine.runs().size() == stop_after);
      // The default is the first to run. It is kept while nothing was compared with it.
      REQUIRE(result.has_winner());
      CHECK(result.is_winner_default() == (stop_after < 100));
      if (stop_after == 1) continue;
      double best = 0;
      for (const SyntheticMachine::Run& run : machine.runs()) {
        if (run.candidate == default_candidate()) continue;
        best = std::max(best, machine.truth_of(run.candidate));
      }
      REQUIRE(result.runner_up.has_value());
      const Entry& other = result.entries[result.is_winner_default() ? *result.runner_up : 0];
      CHECK(machine.truth_of(other.candidate) == best);
    }
  }

  TEST_CASE("a stop before the first run, and a run cut short, leave nothing to recommend") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {});
    std::stop_source stop;
    SearchSettings settings = settings_for(machine);
    settings.stop = stop.get_token();
    SUBCASE("before") {
      stop.request_stop();
      CHECK_FALSE(search(grid, machine.measure(), settings).has_winner());
      CHECK(machine.runs().empty());
    }
    SUBCASE("cut short") {
      const Measure cut = [&](const Candidate& candidate, Duration duration) {
        stop.request_stop();
        Measurement measured = machine.measure()(candidate, duration);
        measured.is_cut_short = true;
        return measured;
      };
      const SearchResult result = search(grid, cut, settings);
      CHECK_FALSE(result.has_winner());
      CHECK(result.is_stopped);
      CHECK(result.not_run == grid.size());
    }
  }

  TEST_CASE("progress counts every run, and names the best so far") {
    const std::vector<Candidate> grid = candidates_of(default_space(2));
    SyntheticMachine machine(waiting_sink, {});
    SearchSettings settings = settings_for(machine);
    std::size_t calls = 0;
    bool was_final = false;
    Duration last{};
    settings.on_progress = [&](const SearchProgress& progress) {
      CHECK(progress.runs == ++calls);
      CHECK(progress.elapsed >= last);
      CHECK(progress.elapsed <= progress.budget);
      CHECK(progress.kept <= progress.candidates);
      REQUIRE(progress.best.has_value());
      CHECK(progress.best_measured.items_per_s > 0);
      CHECK(progress.is_final >= was_final);
      was_final = progress.is_final;
      last = progress.elapsed;
    };
    const SearchResult result = search(grid, machine.measure(), settings);
    CHECK(calls == result.runs);
    CHECK(was_final);
  }

  TEST_CASE("a single candidate that is the default is run, and wins") {
    SyntheticMachine machine(waiting_sink, {.noise = 0.1});
    const SearchResult result =
        search({default_candidate()}, machine.measure(), settings_for(machine));
    CHECK(result.is_winner_default());
    CHECK(result.entries.size() == 1);
    CHECK_FALSE(result.runner_up.has_value());
    CHECK(result.winner().runs >= 6);
  }
}

}  // namespace
}  // namespace databuffer::tuning_tests
