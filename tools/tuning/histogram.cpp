#include "tools/tuning/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace databuffer::tuning {

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    counts_[bucket] += other.counts_[bucket];
  }
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::middle_of(std::size_t bucket) noexcept {
  if (bucket < 2 * kPerOctave) return bucket;
  const std::size_t shift = bucket / kPerOctave - 1;
  const std::uint64_t first = (bucket % kPerOctave + kPerOctave) << shift;
  return first + ((std::uint64_t{1} << shift) - 1) / 2;
}

Duration Histogram::quantile(double share) const noexcept {
  if (total_ == 0) return Duration::zero();
  const double wanted = std::ceil(share * static_cast<double>(total_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, total_);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen < rank) continue;
    // The largest sample may lie below the middle of its bucket.
    return Duration(static_cast<Duration::rep>(std::min(middle_of(bucket), max_)));
  }
  return max();
}

Percentiles Histogram::percentiles() const noexcept {
  return {.p50 = seconds_of(quantile(0.5)),
          .p99 = seconds_of(quantile(0.99)),
          .p999 = seconds_of(quantile(0.999)),
          .max = seconds_of(max())};
}

}  // namespace databuffer::tuning
