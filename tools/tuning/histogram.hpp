#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "databuffer/clock.hpp"
#include "tools/tuning/measurement.hpp"

namespace databuffer::tuning {

/// How many durations lie where, in buckets that are 1/64 as wide as what they hold, from 0 to the
/// longest Duration there is. What it says of a value is at most 1/128 (0.8 %) off; durations below
/// 128 ns, and the maximum, are exact.
///
/// Threads     one at a time: each thread fills its own, and they are added at the end.
/// Cost        recording: some shifts and one add to one of 30 KiB; it never allocates.
class Histogram {
 public:
  /// `count` values of `duration`; a negative one is 0.
  void record(Duration duration, std::uint64_t count = 1) noexcept {
    const auto value = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
    counts_[bucket_of(value)] += count;
    total_ += count;
    note_max(duration);
  }

  /// Raises the maximum, without a sample: for a value that was seen outside of the samples.
  void note_max(Duration duration) noexcept {
    const auto value = static_cast<std::uint64_t>(duration.count() < 0 ? 0 : duration.count());
    if (value > max_) max_ = value;
  }

  void add(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  /// The smallest value that at least `share` (0 … 1) of the samples do not exceed; 0 without any.
  [[nodiscard]] Duration quantile(double share) const noexcept;
  [[nodiscard]] Duration max() const noexcept { return Duration(static_cast<Duration::rep>(max_)); }

  /// In seconds; all 0 without samples.
  [[nodiscard]] Percentiles percentiles() const noexcept;

 private:
  static constexpr unsigned kBits = 6;  // 2^kBits buckets for each power of two
  static constexpr std::uint64_t kPerOctave = std::uint64_t{1} << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits) * kPerOctave;

  // Bucket `index` holds the values with the same kBits + 1 leading bits: those below 2^(kBits + 1)
  // have a bucket each.
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < 2 * kPerOctave) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - (kBits + 1);
    return static_cast<std::size_t>(shift * kPerOctave + (value >> shift));
  }
  [[nodiscard]] static std::uint64_t middle_of(std::size_t bucket) noexcept;

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace databuffer::tuning
