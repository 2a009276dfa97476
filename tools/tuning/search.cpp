#include "tools/tuning/search.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>

#include "tools/tuning/text.hpp"

namespace databuffer::tuning {

namespace {

constexpr double kRaceShare = 0.7;             // of the budget
constexpr std::size_t kRaceRoundsHoped = 8;    // before anybody is dropped: sets the runs' length
constexpr std::size_t kFinalRoundsHoped = 30;  // likewise
constexpr std::size_t kFirstHalving = 3;       // rounds; the next ones at 6, 12, …
constexpr std::size_t kMaxFinalRounds = 60;    // more would not change what the user does
constexpr std::size_t kLoneRounds = 6;         // what a race without rivals is run for all the same
constexpr std::size_t kMaxRaceRounds = 200;
constexpr Duration kLongestRun = std::chrono::milliseconds{500};
constexpr Duration kLongestFinalRun = std::chrono::seconds{1};
constexpr double kConfidence = 0.95;

// Not only the default, whose run is as short as can be, but also candidates that need longer ones
// take part if there is time for so many rounds of the race.
constexpr std::size_t kRoundsOfSlow = 3;

Duration times(Duration run, std::size_t runs) {
  const auto count = static_cast<Duration::rep>(runs);
  return run > kForever / count ? kForever : run * count;
}

// The rounds at the end, at least.
Duration least_final(Duration run) { return times(run, Final::kSize * Final::kLeastRounds); }

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

  /// How much longer than asked runs take: the mean of the candidates' longest.
  [[nodiscard]] Duration overhead() const {
    Duration sum{};
    for (const Cost& cost : costs_) sum += cost.beyond;
    return costs_.empty() ? sum : sum / static_cast<Duration::rep>(costs_.size());
  }
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

  // Shuffled; every second round is the reverse of the one before. Only the default is the first of
  // the first round: whenever it ends then, there is something to compare with.
  std::vector<std::size_t> order(std::vector<std::size_t> kept, std::size_t round) {
    if (round % 2 == 0 || last_order_.empty()) {
      std::shuffle(kept.begin(), kept.end(), random_);
      if (round == 0) {
        std::iter_swap(kept.begin(), std::find(kept.begin(), kept.end(), kDefault));
      }
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

Duration least_run_of(const Candidate& candidate, const SearchSettings& settings) {
  if (!settings.least_run_of) return settings.least_run;
  return std::max(settings.least_run, settings.least_run_of(candidate));
}

// The default first.
std::vector<Candidate> with_default(const std::vector<Candidate>& candidates,
                                    const Candidate& by_default) {
  std::vector<Candidate> all{by_default};
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(all),
               [&by_default](const Candidate& candidate) { return candidate != by_default; });
  return all;
}

// Of the candidates for which runs of this length are long enough, and how many these are.
LeastBudget budget_for(const std::vector<Candidate>& all, Duration run, std::size_t rounds,
                       const SearchSettings& settings) {
  const auto count = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(),
      [&](const Candidate& candidate) { return least_run_of(candidate, settings) <= run; }));
  return {.candidates = count,
          .run = run,
          .budget = times(run, count * rounds + Final::kSize * Final::kLeastRounds)};
}

// The shortest run that is long enough for all who take part: for as many as there is time for.
Duration affordable_run(const std::vector<Candidate>& all, const SearchSettings& settings) {
  Duration longest = least_run_of(all[kDefault], settings);
  for (const Candidate& candidate : all) {
    const Duration run = least_run_of(candidate, settings);
    if (run <= longest) continue;
    if (budget_for(all, run, kRoundsOfSlow, settings).budget <= settings.budget) longest = run;
  }
  return longest;
}

void check(const std::vector<Candidate>& candidates, const SearchSettings& settings) {
  if (candidates.empty()) throw SearchError("candidates: expected one or more");
  if (settings.least_run <= Duration::zero()) {
    throw SearchError("least_run: expected more than 0s");
  }
  if (!(settings.objective.max_p99 > 0)) throw SearchError("max_p99: expected more than 0s");
  if (!(settings.objective.max_memory > 0))
    throw SearchError("max_memory: expected 1 byte or more");
  const LeastBudget least = least_budget(candidates, settings);
  if (settings.budget < least.budget) {
    throw SearchError("budget = " + seconds_text(settings.budget) + ": expected at least " +
                      seconds_text(least.budget) + ": a run of " + seconds_text(least.run) +
                      " for each of " + std::to_string(least.candidates) +
                      " candidates, and for the comparison at the end");
  }
}

struct RunLengths {
  Duration least{};    // that says something
  Duration of_race{};  // as long as there is time for
};

// The race, until its share of the budget is used up. The first round, and those that are longer
// because runs said nothing, may use all of it but what the comparison needs at least.
RunLengths run_race(Runner& runner, Race& race, RunLengths lengths,
                    const SearchSettings& settings) {
  std::size_t next_halving = kFirstHalving;
  bool is_longer = true;
  for (std::size_t round = 0; round < kMaxRaceRounds; ++round) {
    if (round >= kLoneRounds && race.kept().size() == 1) break;
    const Duration most = settings.budget - least_final(lengths.least + runner.overhead());
    const Duration until = is_longer ? most : std::min(most, share_of(settings.budget, kRaceShare));
    if (!runner.run_round(race, round, lengths.of_race, until, false)) break;
    const std::vector<std::size_t> silent = race.silent(round);
    const Duration longer = times(lengths.of_race, 2);
    is_longer = !silent.empty() &&
                times(longer, race.kept().size()) <=
                    settings.budget - least_final(longer + runner.overhead()) - runner.elapsed();
    if (is_longer) {
      lengths = {.least = longer, .of_race = longer};
    } else {
      race.drop_unmeasured(silent);
    }
    if (race.entrants()[kDefault].fate == Fate::kUnmeasured) break;
    const std::size_t rounds = round + 1;
    race.drop(rounds, rounds == next_halving);
    if (rounds == next_halving) next_halving *= 2;
  }
  return lengths;
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

Entry unmeasured_entry(const Candidate& candidate, const Candidate& by_default) {
  return {.candidate = candidate,
          .runs = 0,
          .measured = {},
          .throughput = {},
          .score = {},
          .excess = 0,
          .fate = Fate::kUnmeasured,
          .rounds_run = 0,
          .is_default = candidate == by_default};
}

// The race's entries, the winner's first, and what the rounds at the end say.
void take(SearchResult& result, const Race& race, const Final& final, const Candidate& by_default) {
  const std::size_t winner = final.winner();
  std::vector<std::size_t> ranking = race.ranking();
  const auto place = std::find(ranking.begin(), ranking.end(), winner);
  std::rotate(ranking.begin(), place, place + 1);
  for (const std::size_t index : ranking) {
    if (index == kDefault) result.default_entry = result.entries.size();
    result.entries.push_back(entry_of(race, index, winner, by_default));
  }
  result.winner_measured = final.measured(winner);
  result.default_measured = final.measured(kDefault);
  result.is_within_limits = final.is_within_limits(winner);
  if (winner != kDefault) result.over_default = final.compare(winner, kDefault);
  if (ranking.size() < 2) return;
  result.runner_up = 1;
  result.over_runner_up = final.compare(winner, ranking[1]);
}

// Measures the best of the race and the default again.
void run_final(SearchResult& result, Runner& runner, Final& final, Duration least,
               const SearchSettings& settings) {
  const Duration left = settings.budget - std::min(runner.elapsed(), settings.budget);
  const auto hoped = static_cast<double>(final.size() * kFinalRoundsHoped);
  result.final_run_length = std::clamp(share_of(left, 1 / hoped) - runner.overhead(), least,
                                       std::max(least, kLongestFinalRun));
  for (std::size_t round = 0; final.size() > 1 && round < kMaxFinalRounds; ++round) {
    if (!runner.run_round(final.rounds(), round, result.final_run_length, settings.budget, true)) {
      return;
    }
  }
}

}  // namespace

LeastBudget least_budget(const std::vector<Candidate>& candidates, const SearchSettings& settings) {
  return budget_for(with_default(candidates, settings.by_default),
                    least_run_of(settings.by_default, settings), 1, settings);
}

SearchResult search(const std::vector<Candidate>& candidates, const Measure& measure,
                    const SearchSettings& settings) {
  check(candidates, settings);
  const std::vector<Candidate> all = with_default(candidates, settings.by_default);
  const Duration least = affordable_run(all, settings);
  std::vector<Candidate> measurable;
  std::vector<Candidate> unmeasured;
  for (const Candidate& candidate : all) {
    (least_run_of(candidate, settings) <= least ? measurable : unmeasured).push_back(candidate);
  }

  SearchResult result;
  Runner runner(measure, settings);
  Race race(measurable, settings.objective);
  const auto hoped = static_cast<double>(measurable.size() * kRaceRoundsHoped);
  const Duration of_race = std::clamp(share_of(settings.budget, kRaceShare / hoped), least,
                                      std::max(least, kLongestRun));
  const RunLengths lengths = run_race(runner, race, {.least = least, .of_race = of_race}, settings);
  result.run_length = lengths.of_race;
  if (!race.entrants()[kDefault].runs.empty()) {
    Final final(race);
    run_final(result, runner, final, lengths.least, settings);
    take(result, race, final, settings.by_default);
    for (const Race::Entrant& entrant : race.entrants()) {
      if (entrant.has_run && entrant.runs.empty()) unmeasured.push_back(entrant.candidate);
    }
    for (const Candidate& candidate : unmeasured) {
      result.entries.push_back(unmeasured_entry(candidate, settings.by_default));
    }
  }
  result.not_run = all.size() - result.entries.size();
  result.runs = runner.runs();
  result.is_stopped = runner.is_stopped();
  result.elapsed = runner.elapsed();
  return result;
}

}  // namespace databuffer::tuning
