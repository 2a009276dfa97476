#include "tools/tuning/interval.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace databuffer::tuning {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double pseudo_median(const std::vector<double>& values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t first = 0; first < values.size(); ++first) {
    for (std::size_t second = first; second < values.size(); ++second) {
      means.push_back((values[first] + values[second]) / 2);
    }
  }
  return median(std::move(means));
}

Interval median_interval(std::vector<double> values, double confidence) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  Interval interval{
      .low = values.front(), .median = median(values), .high = values.back(), .is_range = true};
  const double tail = (1 - confidence) / 2;
  // The k-th lowest will do if count - k + 1 or more heads are rare enough; k = 1 is the widest.
  for (std::size_t rank = 1; rank <= count / 2; ++rank) {
    if (chance_of_heads(count - rank + 1, count) > tail) break;
    interval.low = values[rank - 1];
    interval.high = values[count - rank];
    interval.is_range = false;
  }
  return interval;
}

double chance_of_heads(std::size_t heads, std::size_t throws) {
  // In logarithms, because the binomial coefficients overflow.
  const auto n = static_cast<double>(throws);
  double chance = 0;
  for (std::size_t count = heads; count <= throws; ++count) {
    const auto k = static_cast<double>(count);
    chance += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                       n * std::log(2.0));
  }
  return std::min(chance, 1.0);
}

}  // namespace databuffer::tuning
