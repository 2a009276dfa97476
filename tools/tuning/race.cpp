#include "tools/tuning/race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace databuffer::tuning {

namespace {

constexpr double kHopeless = 1 / kObvious;  // less than this share of the leader's score …
constexpr std::size_t kHopelessRounds = 2;  // … in each of so many rounds
constexpr double kChance = 0.05;            // of dropping one that is as good as the leader
constexpr double kHalvingChance = 0.125;

const Race::Run* find_round(const std::vector<Race::Run>& runs, std::size_t round) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [round](const Race::Run& run) { return run.round == round; });
  return found == runs.end() ? nullptr : &*found;
}

// Whether `ratios`, which should be 1 or more, show that they are not.
bool is_clearly_below_one(const std::vector<double>& ratios, double chance) {
  const auto below = [&](double limit) {
    return static_cast<std::size_t>(std::count_if(ratios.begin(), ratios.end(),
                                                  [limit](double ratio) { return ratio < limit; }));
  };
  if (ratios.size() >= kHopelessRounds && below(kHopeless) == ratios.size()) return true;
  return chance_of_heads(below(1.0), ratios.size()) <= chance;
}

}  // namespace

std::string_view to_string(Fate fate) noexcept {
  switch (fate) {
    case Fate::kKept:
      return "kept";
    case Fate::kBehind:
      return "behind";
    case Fate::kOverLimit:
      return "over limit";
    case Fate::kUnmeasured:
      return "not measurable";
  }
  return "?";
}

Race::Race(const std::vector<Candidate>& candidates, const Objective& objective)
    : objective_(objective) {
  entrants_.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    entrants_.push_back({.candidate = candidate, .runs = {}});
  }
}

void Race::add(std::size_t index, std::size_t round, const Measurement& measurement) {
  entrants_[index].has_run = true;
  if (measurement.batches < kLeastBatches) return;
  entrants_[index].runs.push_back({.round = round,
                                   .measurement = measurement,
                                   .log_score = std::log(score_of(measurement, objective_.goal)),
                                   .excess = excess_of(measurement, objective_)});
}

std::vector<std::size_t> Race::kept() const {
  std::vector<std::size_t> kept;
  for (std::size_t index = 0; index < entrants_.size(); ++index) {
    if (entrants_[index].fate == Fate::kKept) kept.push_back(index);
  }
  return kept;
}

double Race::excess(std::size_t index) const {
  std::vector<double> excesses;
  for (const Run& run : entrants_[index].runs) excesses.push_back(run.excess);
  return median(std::move(excesses));
}

std::vector<double> Race::ratios(std::size_t index, std::size_t other) const {
  std::vector<double> ratios;
  for (const Run& run : entrants_[index].runs) {
    const Run* const others = find_round(entrants_[other].runs, run.round);
    if (others != nullptr) ratios.push_back(std::exp(run.log_score - others->log_score));
  }
  return ratios;
}

std::vector<double> Race::nearness(std::size_t index, std::size_t other) const {
  std::vector<double> ratios;
  for (const Run& run : entrants_[index].runs) {
    const Run* const others = find_round(entrants_[other].runs, run.round);
    if (others == nullptr) continue;
    const double ratio = others->excess / run.excess;
    ratios.push_back(std::isnan(ratio) ? 1 : ratio);  // both infinite, or both none
  }
  return ratios;
}

std::vector<std::size_t> Race::silent(std::size_t round) const {
  if (round == 0) return {};
  std::vector<std::size_t> silent = kept();
  std::erase_if(silent, [&](std::size_t index) {
    const std::vector<Run>& runs = entrants_[index].runs;
    return find_round(runs, round) != nullptr || find_round(runs, round - 1) != nullptr;
  });
  return silent;
}

void Race::drop_unmeasured(const std::vector<std::size_t>& indices) {
  for (const std::size_t index : indices) {
    entrants_[index].fate = Fate::kUnmeasured;
    entrants_[index].runs.clear();
  }
}

// How good each of `indices` is, as a logarithm that means something among them only: the median
// over the rounds of its distance to the round's median, over the rounds in which all of them ran.
// (In a round that was cut short the others' median would be of whoever came first.)
std::vector<double> Race::values(const std::vector<std::size_t>& indices) const {
  std::vector<std::vector<double>> distances(indices.size());
  if (indices.empty()) return {};
  for (const Run& first : entrants_[indices.front()].runs) {
    std::vector<double> scores;
    for (const std::size_t index : indices) {
      const Run* const run = find_round(entrants_[index].runs, first.round);
      if (run != nullptr) scores.push_back(run->log_score);
    }
    if (scores.size() != indices.size()) continue;
    const double middle = median(scores);
    for (std::size_t at = 0; at < scores.size(); ++at) distances[at].push_back(scores[at] - middle);
  }
  std::vector<double> values;
  for (std::size_t at = 0; at < indices.size(); ++at) {
    if (distances[at].empty()) {  // there is no round yet that all of them ran
      for (const Run& run : entrants_[indices[at]].runs) distances[at].push_back(run.log_score);
    }
    values.push_back(pseudo_median(distances[at]));
  }
  return values;
}

std::vector<std::size_t> Race::ranking() const {
  struct Place {
    bool is_over = false;
    bool is_dropped = false;
    double worse = 0;
    std::size_t index = 0;
  };
  std::vector<std::size_t> kept;
  std::vector<std::size_t> dropped;
  for (std::size_t index = 0; index < entrants_.size(); ++index) {
    if (entrants_[index].runs.empty()) continue;
    (entrants_[index].fate == Fate::kKept ? kept : dropped).push_back(index);
  }
  std::vector<Place> places;
  const auto rank = [&](const std::vector<std::size_t>& indices,
                        const std::vector<double>& values) {
    for (std::size_t at = 0; at < indices.size(); ++at) {
      const double over = excess(indices[at]);
      const bool is_over = over > 1;
      places.push_back({.is_over = is_over,
                        .is_dropped = entrants_[indices[at]].fate != Fate::kKept,
                        .worse = is_over ? over : -values[at],
                        .index = indices[at]});
    }
  };
  const auto sort = [&places] {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.is_over, a.is_dropped, a.worse, a.index) <
             std::tie(b.is_over, b.is_dropped, b.worse, b.index);
    });
  };
  rank(kept, values(kept));
  sort();
  if (!places.empty()) {  // The dropped have but their rounds with the leader in common.
    std::vector<double> behind;
    for (const std::size_t index : dropped) {
      behind.push_back(std::log(median(ratios(index, places.front().index))));
    }
    rank(dropped, behind);
    sort();
  }
  std::vector<std::size_t> ranking;
  for (const Place& place : places) ranking.push_back(place.index);
  return ranking;
}

std::optional<std::size_t> Race::leader() const {
  const std::vector<std::size_t> all = ranking();
  return all.empty() ? std::nullopt : std::optional(all.front());
}

// Why it is to be dropped, if it is.
std::optional<Fate> Race::judge(std::size_t index, std::size_t leader, double chance) const {
  std::vector<double> within;  // how far it keeps within the limits, 1 or more if it does
  for (const Run& run : entrants_[index].runs) {
    within.push_back(1 / std::max(run.excess, std::numeric_limits<double>::min()));
  }
  if (excess(leader) > 1) {
    return is_clearly_below_one(nearness(index, leader), chance) ? std::optional(Fate::kOverLimit)
                                                                 : std::nullopt;
  }
  if (excess(index) > 1 && is_clearly_below_one(within, chance)) return Fate::kOverLimit;
  if (is_clearly_below_one(ratios(index, leader), chance)) return Fate::kBehind;
  return std::nullopt;
}

void Race::drop(std::size_t rounds, bool is_halving) {
  std::vector<std::size_t> ranks = ranking();
  std::erase_if(ranks, [this](std::size_t index) { return entrants_[index].fate != Fate::kKept; });
  if (ranks.empty()) return;
  const std::size_t better_half = (ranks.size() + 1) / 2;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const bool is_halved = is_halving && rank >= better_half;
    const auto fate = judge(ranks[rank], ranks.front(), is_halved ? kHalvingChance : kChance);
    if (!fate.has_value()) continue;
    entrants_[ranks[rank]].fate = *fate;
    entrants_[ranks[rank]].rounds_run = rounds;
  }
}

Measurement typical(const std::vector<Race::Run>& runs) {
  const auto middle = [&runs](auto read) {
    std::vector<double> values;
    for (const Race::Run& run : runs) values.push_back(static_cast<double>(read(run.measurement)));
    return median(std::move(values));
  };
  const auto whole = [&middle](auto field) {
    return std::llround(middle([field](const Measurement& of) { return of.*field; }));
  };
  const auto count = [&whole](auto field) { return static_cast<std::uint64_t>(whole(field)); };
  const auto real = [&middle](auto field) {
    return middle([field](const Measurement& of) { return of.*field; });
  };
  const auto spread = [&middle](auto field) {
    const auto part = [&middle, field](auto percentile) {
      return middle([=](const Measurement& of) { return of.*field.*percentile; });
    };
    return Percentiles{.p50 = part(&Percentiles::p50),
                       .p99 = part(&Percentiles::p99),
                       .p999 = part(&Percentiles::p999),
                       .max = part(&Percentiles::max)};
  };
  const bool is_age_of_oldest = std::any_of(runs.begin(), runs.end(), [](const Race::Run& run) {
    return run.measurement.is_age_of_oldest;
  });
  return {.seconds = real(&Measurement::seconds),
          .inserted = count(&Measurement::inserted),
          .flushed = count(&Measurement::flushed),
          .failed = count(&Measurement::failed),
          .dropped = count(&Measurement::dropped),
          .refused = count(&Measurement::refused),
          .backlog = whole(&Measurement::backlog),
          .overdue = count(&Measurement::overdue),
          .items_per_s = real(&Measurement::items_per_s),
          .insert_latency = spread(&Measurement::insert_latency),
          .latency_step = real(&Measurement::latency_step),
          .wake_lateness = spread(&Measurement::wake_lateness),
          .age = spread(&Measurement::age),
          .is_age_of_oldest = is_age_of_oldest,
          .batches = count(&Measurement::batches),
          .mean_batch = real(&Measurement::mean_batch),
          .size_flushes = count(&Measurement::size_flushes),
          .interval_flushes = count(&Measurement::interval_flushes),
          .other_flushes = count(&Measurement::other_flushes),
          .blocked_seconds = real(&Measurement::blocked_seconds),
          .handler_seconds = real(&Measurement::handler_seconds),
          .cpu_seconds = real(&Measurement::cpu_seconds),
          .wake_ups = count(&Measurement::wake_ups),
          .peak_bytes = count(&Measurement::peak_bytes)};
}

}  // namespace databuffer::tuning
