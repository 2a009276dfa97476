#include "tools/tuning/final.hpp"

#include <algorithm>
#include <utility>

namespace databuffer::tuning {

namespace {

constexpr double kConfidence = 0.95;

std::vector<std::size_t> finalists_of(const Race& race) {
  std::vector<std::size_t> indices{kDefault};
  for (const std::size_t index : race.ranking()) {
    if (index != kDefault && indices.size() < Final::kSize) indices.push_back(index);
  }
  return indices;
}

std::vector<Candidate> candidates_of(const Race& race, const std::vector<std::size_t>& indices) {
  std::vector<Candidate> candidates;
  for (const std::size_t index : indices) candidates.push_back(race.entrants()[index].candidate);
  return candidates;
}

Comparison comparison_of(const std::vector<double>& ratios) {
  Comparison comparison{.rounds = ratios.size(), .won = 0, .ratio = {}, .chance = 1};
  comparison.won = static_cast<std::size_t>(
      std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; }));
  comparison.ratio = median_interval(ratios, kConfidence);
  comparison.chance = chance_of_heads(comparison.won, comparison.rounds);
  return comparison;
}

}  // namespace

Final::Final(const Race& race)
    : race_(race),
      indices_(finalists_of(race)),
      rounds_(candidates_of(race, indices_), race.objective()) {}

std::size_t Final::winner() const {
  std::size_t winner = 0;
  for (std::size_t place = 1; place < size(); ++place) {
    if (is_better(place, winner)) winner = place;
  }
  return indices_[winner];
}

Comparison Final::compare(std::size_t index, std::size_t other) const {
  return comparison_of(rounds_.ratios(place_of(index), place_of(other)));
}

Measurement Final::measured(std::size_t index) const {
  const std::vector<Race::Run>& runs = rounds_.entrants()[place_of(index)].runs;
  return typical(runs.empty() ? race_.entrants()[index].runs : runs);
}

bool Final::is_within_limits(std::size_t index) const { return !(excess(place_of(index)) > 1); }

double Final::excess(std::size_t place) const {
  std::vector<double> excesses;
  for (const Race::Run& run : race_.entrants()[indices_[place]].runs) {
    excesses.push_back(run.excess);
  }
  for (const Race::Run& run : rounds_.entrants()[place].runs) excesses.push_back(run.excess);
  return median(std::move(excesses));
}

bool Final::is_better(std::size_t place, std::size_t other) const {
  const bool is_over = excess(place) > 1;
  const bool is_other_over = excess(other) > 1;
  if (is_over != is_other_over) return is_other_over;
  return comparison_of(is_over ? rounds_.nearness(place, other) : rounds_.ratios(place, other))
      .is_clear();
}

std::size_t Final::place_of(std::size_t index) const {
  return static_cast<std::size_t>(std::find(indices_.begin(), indices_.end(), index) -
                                  indices_.begin());
}

}  // namespace databuffer::tuning
