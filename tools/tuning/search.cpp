#include "tools/tuning/search.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

constexpr double kRaceShare = 0.7;             // of the budget
constexpr std::size_t kRaceRoundsHoped = 8;    // before anybody is dropped: sets the runs' length
constexpr std::size_t kFinalRoundsHoped = 10;  // likewise
constexpr std::size_t kFirstHalving = 3;       // rounds; the next ones at 6, 12, …
constexpr std::size_t kMaxFinalRounds = 20;    // more would not change what the user does
constexpr std::size_t kLoneRounds = 6;         // what a race without rivals is run for all the same
constexpr std::size_t kMaxRaceRounds = 200;
constexpr Duration kLongestRun = std::chrono::milliseconds{500};
constexpr Duration kLongestFinalRun = std::chrono::seconds{1};
constexpr double kConfidence = 0.95;
constexpr double kAsGood = 0.99;  // what the default has to reach of the winner to win

Duration share_of(Duration whole, double share) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(whole.count()) * share));
}

// Runs candidates round by round, within a time.
class Runner {
 public:
  Runner(const Measure& measure, const SearchSettings& settings)
      : measure_(measure),
        settings_(settings),
        clock_(settings.clock != nullptr ? *settings.clock : steady_clock()),
        started_(clock_.now()),
        random_(settings.seed) {}

  [[nodiscard]] Duration elapsed() const { return clock_.now() - started_; }
  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }
  [[nodiscard]] bool is_stopped() const { return settings_.stop.stop_requested(); }

  /// Runs everybody in the race once, for `length`. Returns false if the round is not complete
  /// because the next run would end after `until`, or because of the stop token.
  bool run_round(Race& race, std::size_t round, Duration length, Duration until, bool is_final) {
    for (const std::size_t index : order(race.kept(), round)) {
      if (is_stopped() || elapsed() + cost(race, index, length) > until) return false;
      const TimePoint before = clock_.now();
      const Measurement measurement = measure_(race.entrants()[index].candidate, length);
      note_cost(race.entrants()[index].candidate, length, clock_.now() - before);
      if (measurement.is_cut_short) return false;  // it was told to stop, and says little
      race.add(index, round, measurement);
      ++runs_;
      report(race, is_final);
    }
    return true;
  }

 private:
  struct Cost {
    Candidate candidate;
    Duration beyond{};  // how much longer than asked its longest run took
  };

  // Shuffled; every second round is the reverse of the one before.
  std::vector<std::size_t> order(std::vector<std::size_t> kept, std::size_t round) {
    if (round % 2 == 0 || last_order_.empty()) {
      std::shuffle(kept.begin(), kept.end(), random_);
      last_order_ = kept;
      return kept;
    }
    std::vector<std::size_t> reverse(last_order_.rbegin(), last_order_.rend());
    std::erase_if(reverse, [&kept](std::size_t index) {
      return std::find(kept.begin(), kept.end(), index) == kept.end();
    });
    return reverse;
  }

  Duration cost(const Race& race, std::size_t index, Duration length) const {
    const Candidate& candidate = race.entrants()[index].candidate;
    const auto known = std::find_if(costs_.begin(), costs_.end(), [&candidate](const Cost& cost) {
      return cost.candidate == candidate;
    });
    return length + (known != costs_.end() ? known->beyond : Duration::zero());
  }

  void note_cost(const Candidate& candidate, Duration length, Duration took) {
    const Duration beyond = std::max(took - length, Duration::zero());
    for (Cost& cost : costs_) {
      if (cost.candidate != candidate) continue;
      cost.beyond = std::max(cost.beyond, beyond);
      return;
    }
    costs_.push_back({candidate, beyond});
  }

  void report(const Race& race, bool is_final) const {
    if (!settings_.on_progress) return;
    SearchProgress progress{.is_final = is_final,
                            .runs = runs_,
                            .candidates = race.entrants().size(),
                            .kept = race.kept().size(),
                            .elapsed = elapsed(),
                            .budget = settings_.budget,
                            .best = {},
                            .best_measured = {}};
    if (const auto leader = race.leader(); leader.has_value()) {
      progress.best = race.entrants()[*leader].candidate;
      progress.best_measured = typical(race.entrants()[*leader].runs);
    }
    settings_.on_progress(progress);
  }

  const Measure& measure_;          // borrowed
  const SearchSettings& settings_;  // borrowed
  const Clock& clock_;              // borrowed
  const TimePoint started_;
  std::mt19937_64 random_;
  std::vector<std::size_t> last_order_;
  std::vector<Cost> costs_;
  std::size_t runs_ = 0;
};

void check(const SearchSettings& settings, std::size_t candidates) {
  if (candidates == 0) throw SearchError("candidates: expected one or more");
  if (settings.least_run <= Duration::zero()) {
    throw SearchError("least_run: expected more than 0s");
  }
  if (!(settings.objective.max_p99 > 0)) throw SearchError("max_p99: expected more than 0s");
  if (!(settings.objective.max_memory > 0))
    throw SearchError("max_memory: expected 1 byte or more");
  const Duration least = least_budget(candidates, settings.least_run);
  if (settings.budget < least) {
    throw SearchError("budget = " + seconds_text(settings.budget) + ": expected at least " +
                      seconds_text(least) + ": a run of " + seconds_text(settings.least_run) +
                      " for each of " + std::to_string(candidates) +
                      " candidates, and for the comparison at the end");
  }
}

// The race, until its share of the budget is used up. The first round may use all of it but what
// the comparison needs at least.
void run_race(Runner& runner, Race& race, Duration length, const SearchSettings& settings) {
  const Duration until = share_of(settings.budget, kRaceShare);
  std::size_t next_halving = kFirstHalving;
  for (std::size_t round = 0; round < kMaxRaceRounds; ++round) {
    if (round >= kLoneRounds && race.kept().size() == 1) return;
    const Duration limit = round == 0 ? settings.budget - 3 * settings.least_run : until;
    if (!runner.run_round(race, round, length, std::max(limit, until), false)) return;
    const std::size_t rounds = round + 1;
    race.drop(rounds, rounds == next_halving);
    if (rounds == next_halving) next_halving *= 2;
  }
}

Entry entry_of(const Race& race, std::size_t index, std::size_t winner,
               const Candidate& by_default) {
  const Race::Entrant& entrant = race.entrants()[index];
  std::vector<double> throughputs;
  for (const Race::Run& run : entrant.runs) throughputs.push_back(run.measurement.items_per_s);
  return {.candidate = entrant.candidate,
          .runs = entrant.runs.size(),
          .measured = typical(entrant.runs),
          .throughput = median_interval(std::move(throughputs), kConfidence),
          .score = median_interval(race.ratios(index, winner), kConfidence),
          .excess = race.excess(index),
          .fate = entrant.fate,
          .rounds_run = entrant.rounds_run,
          .is_default = entrant.candidate == by_default};
}

Comparison compare(const Race& race, std::size_t winner, std::size_t other) {
  const std::vector<double> ratios = race.ratios(winner, other);
  Comparison comparison{.rounds = ratios.size(), .won = 0, .ratio = {}, .chance = 1};
  comparison.won = static_cast<std::size_t>(
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; }));
  comparison.ratio = median_interval(ratios, kConfidence);
  comparison.chance = chance_of_heads(comparison.won, comparison.rounds);
  return comparison;
}

// The best of the race, but the default if it is as good. A position in the race.
std::size_t winner_of(const Race& race, const Candidate& by_default) {
  const std::size_t best = *race.leader();
  for (std::size_t index = 0; index < race.entrants().size(); ++index) {
    const Race::Entrant& entrant = race.entrants()[index];
    if (entrant.candidate != by_default || entrant.runs.empty()) continue;
    if (race.is_better(index, best, kAsGood)) return index;
  }
  return best;
}

// Whether it is within the limits, by the runs of the race and of the final.
bool is_within_limits(const Race::Entrant& in_race, const Race::Entrant& in_final) {
  std::vector<double> excesses;
  for (const Race::Run& run : in_race.runs) excesses.push_back(run.excess);
  for (const Race::Run& run : in_final.runs) excesses.push_back(run.excess);
  return !(median(std::move(excesses)) > 1);
}

std::size_t rounds_of(const Race& final_race) {
  std::size_t rounds = final_race.entrants().front().runs.size();
  for (const Race::Entrant& entrant : final_race.entrants()) {
    rounds = std::min(rounds, entrant.runs.size());
  }
  return rounds;
}

// The race's entries, in this order, the winner's first.
void take_race(SearchResult& result, const Race& race, const std::vector<std::size_t>& ranking,
               const Candidate& by_default) {
  for (const std::size_t index : ranking) {
    result.entries.push_back(entry_of(race, index, ranking.front(), by_default));
    if (result.entries.back().is_default) result.default_entry = result.entries.size() - 1;
  }
  result.not_run = race.entrants().size() - ranking.size();
  if (result.entries.size() > 1) result.runner_up = 1;
  result.winner_measured = result.winner().measured;
  if (result.default_entry.has_value()) {
    result.default_measured = result.entries[*result.default_entry].measured;
  }
}

// What the final says, behind take_race(). Its entrants: the winner, the runner-up if there is one,
// and the default if it is neither.
void take_final(SearchResult& result, const Race& final_race) {
  const std::vector<Race::Entrant>& entrants = final_race.entrants();
  result.winner_measured = typical(entrants.front().runs);
  if (entrants.size() > 1) result.over_runner_up = compare(final_race, 0, 1);
  if (!result.default_entry.has_value()) return;
  const Candidate& by_default = result.entries[*result.default_entry].candidate;
  for (std::size_t at = 0; at < entrants.size(); ++at) {
    if (entrants[at].candidate != by_default) continue;
    result.default_measured = typical(entrants[at].runs);
    if (at != 0) result.over_default = compare(final_race, 0, at);
  }
}

// Measures the best of the race again, and fills in the result.
void run_final(SearchResult& result, Runner& runner, const Race& race,
               const SearchSettings& settings) {
  std::vector<std::size_t> ranking = race.ranking();
  const std::size_t winner = winner_of(race, settings.by_default);
  const auto place = std::find(ranking.begin(), ranking.end(), winner);
  std::rotate(ranking.begin(), place, place + 1);
  take_race(result, race, ranking, settings.by_default);

  std::vector<Candidate> finalists;
  for (std::size_t at = 0; at < result.entries.size(); ++at) {
    if (at < 2 || at == result.default_entry) finalists.push_back(result.entries[at].candidate);
  }
  Race final_race(finalists, settings.objective);

  const Duration left = settings.budget - std::min(runner.elapsed(), settings.budget);
  const auto hoped = static_cast<double>(finalists.size() * kFinalRoundsHoped);
  result.final_run_length = std::clamp(share_of(left, 1 / hoped), settings.least_run,
                                       std::max(settings.least_run, kLongestFinalRun));
  for (std::size_t round = 0; finalists.size() > 1 && round < kMaxFinalRounds; ++round) {
    if (!runner.run_round(final_race, round, result.final_run_length, settings.budget, true)) break;
  }

  if (rounds_of(final_race) > 0) take_final(result, final_race);
  result.is_within_limits =
      is_within_limits(race.entrants()[winner], final_race.entrants().front());
}

}  // namespace

Duration least_budget(std::size_t candidates, Duration least_run) {
  constexpr std::size_t kFinalists = 3;
  const auto runs = static_cast<Duration::rep>(candidates + kFinalists);
  return least_run > kForever / runs ? kForever : least_run * runs;
}

SearchResult search(const std::vector<Candidate>& candidates, const Measure& measure,
                    const SearchSettings& settings) {
  std::vector<Candidate> all = candidates;
  if (!all.empty() && std::find(all.begin(), all.end(), settings.by_default) == all.end()) {
    all.push_back(settings.by_default);
  }
  check(settings, all.size());

  SearchResult result;
  const auto hoped = static_cast<double>(all.size() * kRaceRoundsHoped);
  result.run_length = std::clamp(share_of(settings.budget, kRaceShare / hoped), settings.least_run,
                                 std::max(settings.least_run, kLongestRun));
  Runner runner(measure, settings);
  Race race(all, settings.objective);
  run_race(runner, race, result.run_length, settings);
  result.not_run = all.size();
  if (race.leader().has_value()) run_final(result, runner, race, settings);
  result.runs = runner.runs();
  result.is_stopped = runner.is_stopped();
  result.elapsed = runner.elapsed();
  return result;
}

}  // namespace databuffer::tuning
