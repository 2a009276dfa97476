#pragma once

#include <cstddef>
#include <vector>

#include "tools/tuning/interval.hpp"
#include "tools/tuning/measurement.hpp"
#include "tools/tuning/race.hpp"

namespace databuffer::tuning {

/// The index of the default, in the race and in the rounds at the end.
inline constexpr std::size_t kDefault = 0;

/// One against another, in the rounds at the end.
struct Comparison {
  static constexpr double kChance = 0.001;     ///< Of calling one better that is not, at most.
  static constexpr double kWorthwhile = 1.01;  ///< A ratio that is worth a change.

  std::size_t rounds = 0;  ///< 0: there was no time left.
  std::size_t won = 0;     ///< Rounds in which the one's score was higher.
  Interval ratio;          ///< The one's score by the other's; 95 % or more, or a range.
  double chance = 1;       ///< Of winning so many rounds if neither were better.

  /// Whether the one is better: by 1 % or more, and beyond what chance explains. That takes 10 of
  /// 10 rounds, or 24 of 30; two rounds are enough where it is three times as good in each.
  [[nodiscard]] bool is_clear() const noexcept {
    const bool is_obvious = rounds >= 2 && ratio.low > kObvious;
    return ratio.median >= kWorthwhile && (chance <= kChance || is_obvious);
  }
};

/// The rounds at the end: the default and the best of the others, side by side.
///
/// Indices are those of the race.
class Final {
 public:
  static constexpr std::size_t kSize = 3;  ///< Who takes part: the default and two others, at most.
  static constexpr std::size_t kLeastRounds = 10;  ///< Fewer seldom show that one is better.

  /// `race` is borrowed; its default has run.
  explicit Final(const Race& race);

  [[nodiscard]] std::size_t size() const noexcept { return indices_.size(); }

  /// The default is the first, the others follow as they ranked in the race.
  [[nodiscard]] Race& rounds() noexcept { return rounds_; }

  /// The default, unless it is over the limits and another is not, or another is clearly better. Of
  /// two such the better in the race, unless the other is clearly better than it.
  [[nodiscard]] std::size_t winner() const;

  [[nodiscard]] Comparison compare(std::size_t index, std::size_t other) const;

  /// Each field's median: over these rounds, if there are any, or else over the race.
  [[nodiscard]] Measurement measured(std::size_t index) const;

  /// By the median of all its runs, here and in the race.
  [[nodiscard]] bool is_within_limits(std::size_t index) const;

 private:
  [[nodiscard]] double excess(std::size_t place) const;
  [[nodiscard]] bool is_better(std::size_t place, std::size_t other) const;
  [[nodiscard]] std::size_t place_of(std::size_t index) const;

  const Race& race_;
  std::vector<std::size_t> indices_;  // of those who take part, in the order of `rounds_`
  Race rounds_;
};

}  // namespace databuffer::tuning
