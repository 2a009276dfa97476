#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "databuffer/clock.hpp"
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

  /// Of the order in which candidates run. The same seed, Measure and clock give the same result.
  std::uint64_t seed = 1;

  /// Borrowed; null: steady_clock().
  const Clock* clock = nullptr;

  /// When it asks to stop, the search ends after the run that is going on, with the best so far.
  std::stop_token stop{};

  std::function<void(const SearchProgress& progress)> on_progress{};
};

/// One against another, in the rounds at the end.
struct Comparison {
  std::size_t rounds = 0;  ///< 0: there was no time left.
  std::size_t won = 0;     ///< Rounds in which the winner's score was higher.
  Interval ratio;          ///< The winner's score by the other's; 95 % or more, or a range.
  double chance = 1;       ///< Of winning so many rounds if neither were better.

  /// Whether the winner is better, beyond what chance explains.
  [[nodiscard]] bool is_clear() const noexcept { return !ratio.is_range && ratio.low > 1; }

  /// Whether it is worse, likewise: what the race had seen in it was luck, or the other is over the
  /// limits.
  [[nodiscard]] bool is_clearly_worse() const noexcept { return !ratio.is_range && ratio.high < 1; }
};

/// A candidate, and how it did in the race.
struct Entry {
  Candidate candidate;
  std::size_t runs = 0;
  Measurement measured;  ///< Each field's median over its runs.
  Interval throughput;   ///< items_per_s over its runs, the machine's ups and downs included.
  Interval score;        ///< By the winner's, round by round; 95 % or more, or a range.
  double excess = 0;     ///< Over the limits if more than 1.
  Fate fate = Fate::kKept;
  std::size_t rounds_run = 0;  ///< Before it was dropped.
  bool is_default = false;
};

struct SearchResult {
  /// Every candidate that was run; the winner is the first, the others follow as in the race.
  std::vector<Entry> entries;
  std::size_t not_run = 0;  ///< Candidates that there was no time for.
  /// The winner is, by the median of all its runs. If it is not although its Entry::excess, which
  /// is of the race, is at most 1, it is on the edge of them; else no candidate is within them, and
  /// it is the nearest.
  bool is_within_limits = true;
  bool is_stopped = false;      ///< By the stop token.
  std::size_t runs = 0;         ///< All together.
  Duration run_length{};        ///< In the race.
  Duration final_run_length{};  ///< At the end.
  Duration elapsed{};
  Measurement winner_measured;   ///< At the end where there were such runs, else in the race.
  Measurement default_measured;  ///< Likewise.
  Comparison over_default;       ///< No rounds if the winner is the default.
  Comparison over_runner_up;     ///< No rounds if there is none.
  std::optional<std::size_t> runner_up;      ///< Its entry.
  std::optional<std::size_t> default_entry;  ///< That of SearchSettings::by_default, if it was run.

  [[nodiscard]] bool has_winner() const noexcept { return !entries.empty(); }
  [[nodiscard]] const Entry& winner() const { return entries.front(); }
  [[nodiscard]] bool is_winner_default() const {
    return default_entry.has_value() && *default_entry == 0;
  }
};

/// The least budget for so many candidates: one run of each, and one more each of the winner, the
/// runner-up and the default.
[[nodiscard]] Duration least_budget(std::size_t candidates, Duration least_run);

/// Finds the candidate whose score is best, on a machine that is noisy.
///
/// First a race, for 70 % of the budget. In every round each candidate in the race runs once, all
/// for the same time, in a shuffled order, and in the next round in the reverse one, so that a
/// machine that becomes steadily slower or faster favours nobody. Scores are compared within a
/// round only. After each round drops out who is clearly behind (Race::drop); after rounds 3, 6,
/// 12, … less evidence is enough for the worse half. So whoever is left runs more often, and what
/// is alike stays together. The default is always among the candidates.
///
/// The best of the race wins; the default, if it has 99 % of that one's score. Then the winner, the
/// runner-up and the default run again, interleaved in the same way and longer. How much the winner
/// wins is said by these rounds alone: whoever led the race may owe part of that to luck, which
/// does not last. They have no part in choosing it, so that what they say is no luck of theirs; if
/// they say that it is worse, so be it (Comparison::is_clearly_worse).
///
/// (Successive halving: K. Jamieson and A. Talwalkar, AISTATS 2016. Races: O. Maron and A. Moore,
/// NIPS 1993; M. Birattari et al., GECCO 2002. The intervals: see median_interval.)
///
/// Throws      SearchError for bad settings, before the first run; whatever `measure` throws.
[[nodiscard]] SearchResult search(const std::vector<Candidate>& candidates, const Measure& measure,
                                  const SearchSettings& settings);

}  // namespace databuffer::tuning
