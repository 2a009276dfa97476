#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "databuffer/clock.hpp"
#include "tools/tuning/final.hpp"
#include "tools/tuning/interval.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/objective.hpp"
#include "tools/tuning/race.hpp"
#include "tools/tuning/space.hpp"

namespace databuffer::tuning {

/// The search cannot begin: what() names the setting, its value and the limit.
class SearchError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// How far a search has come, told after each run.
struct SearchProgress {
  bool is_final = false;       ///< The winner is being measured again.
  std::size_t runs = 0;        ///< So far.
  std::size_t candidates = 0;  ///< In the beginning, …
  std::size_t kept = 0;        ///< … and still in the race.
  Duration elapsed{};
  Duration budget{};
  std::optional<Candidate> best;  ///< So far.
  Measurement best_measured;      ///< Each field's median over its runs.
};

struct SearchSettings {
  Objective objective;

  /// What the winner is compared with, and always a candidate: default_candidate() of the buffers'
  /// options.
  Candidate by_default = default_candidate();

  /// How long it may take, of the clock. At least least_budget(). No run is begun that would end
  /// later if it took as long as the candidate's longest so far; it ends earlier when all is clear.
  Duration budget = std::chrono::seconds{60};

  /// The shortest run that says anything. More than 0.
  Duration least_run = std::chrono::milliseconds{100};

  /// The shortest run that says something of this candidate, where that is known: see
  /// run_of_several_flushes(). Null: least_run, of all.
  std::function<Duration(const Candidate& candidate)> least_run_of{};

  /// Of the order in which candidates run. The same seed, Measure and clock give the same result.
  std::uint64_t seed = 1;

  /// Borrowed; null: steady_clock().
  const Clock* clock = nullptr;

  /// When it asks to stop, the search ends after the run that is going on, with what it has found
  /// so far.
  std::stop_token stop{};

  std::function<void(const SearchProgress& progress)> on_progress{};
};

/// A candidate, and how it did in the race.
struct Entry {
  Candidate candidate;
  std::size_t runs = 0;  ///< That say something. 0: it is kUnmeasured, and has no figures.
  Measurement measured;  ///< Each field's median over its runs.
  Interval throughput;   ///< items_per_s over its runs, the machine's ups and downs included.
  Interval score;        ///< By the winner's, round by round; 95 % or more, or a range.
  double excess = 0;     ///< Over the limits if more than 1.
  Fate fate = Fate::kKept;
  std::size_t rounds_run = 0;  ///< Before it was dropped.
  bool is_default = false;
};

struct SearchResult {
  /// Every candidate that was run; the winner is the first, the others follow as in the race, and
  /// those that cannot be measured in this budget come last. Empty: the defaults were not measured,
  /// so there is nothing to compare with.
  std::vector<Entry> entries;
  std::size_t not_run = 0;  ///< Candidates that there was no time for.
  /// The winner is, by the median of all its runs. If it is not although its Entry::excess, which
  /// is of the race, is at most 1, it is on the edge of them; else no candidate is within them, and
  /// it is the nearest.
  bool is_within_limits = true;
  bool is_stopped = false;      ///< By the stop token.
  std::size_t runs = 0;         ///< All together.
  Duration run_length{};        ///< In the race, at its end.
  Duration final_run_length{};  ///< At the end.
  Duration elapsed{};
  Measurement winner_measured;   ///< At the end where there were such runs, else in the race.
  Measurement default_measured;  ///< Likewise.
  Comparison over_default;       ///< No rounds if the winner is the default.
  Comparison over_runner_up;     ///< No rounds if there is none.
  std::optional<std::size_t> runner_up;  ///< Its entry.
  std::size_t default_entry = 0;         ///< That of SearchSettings::by_default.

  [[nodiscard]] bool has_winner() const noexcept { return !entries.empty(); }
  [[nodiscard]] const Entry& winner() const { return entries.front(); }
  [[nodiscard]] bool is_winner_default() const noexcept { return default_entry == 0; }
};

/// What a search takes at least: one run of each candidate, and at the end ten each of the winner,
/// the runner-up and the default, which is the least that shows that one is better.
struct LeastBudget {
  std::size_t candidates = 0;  ///< That can be measured in such runs; the default is one of them.
  Duration run{};              ///< The default's least run.
  Duration budget{};
};
[[nodiscard]] LeastBudget least_budget(const std::vector<Candidate>& candidates,
                                       const SearchSettings& settings);

/// Finds the candidate whose score is best, on a machine that is noisy.
///
/// A candidate takes part if the budget has room for runs that say something of it; else it is
/// kUnmeasured, and never wins. Runs that say nothing (kLeastBatches) are not compared; while there
/// are some, the runs of the next round are twice as long, if the budget has room for that.
///
/// First a race, for 70 % of the budget. In every round each candidate in the race runs once, all
/// for the same time, in a shuffled order, and in the next round in the reverse one, so that a
/// machine that becomes steadily slower or faster favours nobody. Scores are compared within a
/// round only. After each round drops out who is clearly behind (Race::drop); after rounds 3, 6,
/// 12, … less evidence is enough for the worse half. So whoever is left runs more often, and what
/// is alike stays together. The default is always among the candidates, and the first to run.
///
/// Then the best two of the race and the default run again, interleaved in the same way. These
/// rounds alone say who wins: whoever led the race may owe that to luck, which does not last. The
/// default wins, unless it is over the limits and another is not, or another is clearly better
/// (Comparison::is_clear). Of two such the better in the race wins, unless the other is clearly
/// better than it. Without such rounds nothing is better than the default.
///
/// (Successive halving: K. Jamieson and A. Talwalkar, AISTATS 2016. Races: O. Maron and A. Moore,
/// NIPS 1993; M. Birattari et al., GECCO 2002. The intervals: see median_interval.)
///
/// Throws      SearchError for bad settings, before the first run; whatever `measure` throws.
[[nodiscard]] SearchResult search(const std::vector<Candidate>& candidates, const Measure& measure,
                                  const SearchSettings& settings);

}  // namespace databuffer::tuning
