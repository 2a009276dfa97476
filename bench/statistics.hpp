#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace databuffer::bench {

/// The value below which `share` (0 … 1) of the samples lie. Requires at least one sample.
template <class Number>
[[nodiscard]] Number quantile(std::vector<Number> samples, double share) {
  if (samples.empty()) throw std::invalid_argument("quantile: samples = 0: at least 1");
  const auto index =
      static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

/// The middle sample, or the mean of the two in the middle.
[[nodiscard]] inline double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("median: samples = 0: at least 1");
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

}  // namespace databuffer::bench
