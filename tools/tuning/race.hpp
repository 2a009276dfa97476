#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/tuning/interval.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/objective.hpp"

namespace databuffer::tuning {

/// What became of a candidate in the race.
enum class Fate : std::uint8_t {
  kKept,        ///< In the race to its end.
  kBehind,      ///< Clearly behind the leader.
  kOverLimit,   ///< Clearly over max_p99 or max_memory, or nothing was flushed.
  kUnmeasured,  ///< No run that the budget has room for says anything of it.
};

[[nodiscard]] std::string_view to_string(Fate fate) noexcept;

/// Fewer batches than that in a run, and its figures are of the run's edges.
inline constexpr std::uint64_t kLeastBatches = 2;

/// By how much a candidate has to be better than another in each of two rounds or more to be
/// clearly better, though there are too few rounds for anything else.
inline constexpr double kObvious = 3;

/// The bookkeeping of a race: who ran when and how well, who leads, who is clearly behind.
///
/// In each round everybody who is still in the race runs once. The machine may be faster in one
/// round than in another (other processes, heat), so runs are only ever compared within a round: by
/// the ratio of their scores, of which the middle over the rounds counts (pseudo_median), not the
/// mean, because a run that was disturbed is far off. A run of fewer than kLeastBatches batches
/// says nothing, and is not compared.
///
/// Threads     one.
class Race {
 public:
  struct Run {
    std::size_t round = 0;
    Measurement measurement;
    double log_score = 0;
    double excess = 0;
  };

  struct Entrant {
    Candidate candidate;
    std::vector<Run> runs;  ///< That say something.
    bool has_run = false;   ///< Though that may have said nothing.
    Fate fate = Fate::kKept;
    std::size_t rounds_run = 0;  ///< When it was dropped.
  };

  Race(const std::vector<Candidate>& candidates, const Objective& objective);

  /// Adds a run, unless it says nothing.
  void add(std::size_t index, std::size_t round, const Measurement& measurement);

  [[nodiscard]] const std::vector<Entrant>& entrants() const noexcept { return entrants_; }

  [[nodiscard]] const Objective& objective() const noexcept { return objective_; }

  /// Who is still in the race.
  [[nodiscard]] std::vector<std::size_t> kept() const;

  /// Everybody who has run, the best first: who is within the limits before who is not, the kept
  /// before the dropped, then by score (by excess, among those over the limits).
  [[nodiscard]] std::vector<std::size_t> ranking() const;

  /// The first of the ranking; none before the first run.
  [[nodiscard]] std::optional<std::size_t> leader() const;

  /// The median of its runs' excess: at most 1 is within the limits.
  [[nodiscard]] double excess(std::size_t index) const;

  /// score(index) / score(other), round by round, for the rounds in which both ran.
  [[nodiscard]] std::vector<double> ratios(std::size_t index, std::size_t other) const;

  /// How much nearer to the limits index is, likewise: excess(other) / excess(index).
  [[nodiscard]] std::vector<double> nearness(std::size_t index, std::size_t other) const;

  /// Who is in the race, and whose runs of this round and of the one before said nothing: one alone
  /// may have met a busy machine.
  [[nodiscard]] std::vector<std::size_t> silent(std::size_t round) const;

  /// Drops these: kUnmeasured. What runs they have do not count.
  void drop_unmeasured(const std::vector<std::size_t>& indices);

  /// Drops who is clearly behind the leader after `rounds` rounds:
  ///   - less than a third as good as the leader in each of its rounds, two at least;
  ///   - not as good with 95 % confidence by the sign test (5 of 5 rounds, 7 of 8, …);
  ///   - with `is_halving`, also who is in the worse half and not as good with 87.5 % confidence
  ///     (3 of 3 rounds, 6 of 7, …): successive halving, but never without evidence;
  /// and who is over the limits by the same measures while the leader is not.
  void drop(std::size_t rounds, bool is_halving);

 private:
  [[nodiscard]] std::vector<double> values(const std::vector<std::size_t>& indices) const;
  [[nodiscard]] std::optional<Fate> judge(std::size_t index, std::size_t leader,
                                          double chance) const;

  Objective objective_;
  std::vector<Entrant> entrants_;
};

/// Each field's median over the runs. (So it may be of no single run.)
[[nodiscard]] Measurement typical(const std::vector<Race::Run>& runs);

}  // namespace databuffer::tuning
