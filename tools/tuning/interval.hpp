#pragma once

#include <cstddef>
#include <vector>

namespace databuffer::tuning {

/// A median with limits that hold the true median with at least the chance asked for.
struct Interval {
  double low = 0;
  double median = 0;
  double high = 0;
  bool is_range = true;  ///< There are too few values: the limits are the lowest and the highest.
};

/// The median; the mean of the two in the middle where the number is even; 0 of nothing.
[[nodiscard]] double median(std::vector<double> values);

/// The median of the means of all pairs of values, each with itself too (Hodges and Lehmann, 1963):
/// as robust against values that are far off as the median, nearly as exact as the mean without
/// them.
[[nodiscard]] double pseudo_median(const std::vector<double>& values);

/// The median and its distribution-free interval, between the k-th lowest and the k-th highest
/// value, where k is as large as `confidence` (two-sided) allows. It assumes nothing of the noise
/// but that the values are independent of each other: the true median lies below the k-th lowest of
/// n values with the chance that n throws of a coin give fewer than k heads. (W. J. Conover,
/// Practical Nonparametric Statistics, section 3.2; J.-Y. Le Boudec, Performance Evaluation of
/// Computer and Communication Systems, theorem 2.1.) With fewer values than the confidence needs
/// (six for 0.95) it is their range.
[[nodiscard]] Interval median_interval(std::vector<double> values, double confidence);

/// The chance of `heads` or more heads in `throws` throws of a fair coin: of winning as many rounds
/// as that, if neither of two is better (the sign test).
[[nodiscard]] double chance_of_heads(std::size_t heads, std::size_t throws);

}  // namespace databuffer::tuning
