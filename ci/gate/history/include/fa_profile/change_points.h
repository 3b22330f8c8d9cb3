#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fa_profile::gate {

/// Least number of values on each side of a change point: two odd nights do not count as a change.
inline constexpr std::size_t kLeastSegment = 3;

/// The best place to cut a series in two.
struct Split {
  std::size_t at = 0;  ///< index of the first value after it
  double statistic = 0.0;
  double p = 1.0;
};

/// The cut with the largest energy distance between its two sides, scaled by m n / (m + n), as in E-divisive: Matteson
/// and James, A nonparametric approach for multiple change point analysis of multivariate data, JASA 109 (2014), with
/// alpha = 1, and the whole series on both sides of the cut as in Daly et al., ICPE 2020. In O(n log n): running sums
/// over ranks, where theirs take O(n^2). Absent: fewer than 2 kLeastSegment values.
///
/// p is that of the permutation test of "the order does not matter": exact over all orders of up to 8 values; else from
/// `permutations` orders drawn with `seed`, (as large + 1) / (drawn + 1). Draws end once 20 are as large, and p is then
/// 20 / drawn (Besag and Clifford, Biometrika 78, 1991). Throws Error for values that are not finite.
std::optional<Split> FindSplit(std::span<const double> values, std::int64_t permutations, std::uint64_t seed);

/// A monotone trend: Mann, Econometrica 13 (1945), Kendall, Rank Correlation Methods (1948). Slope: Sen, JASA 63
/// (1968).
struct Trend {
  double p = 1.0;      ///< two-sided; exact without ties and up to 50 values, else normal, corrected for ties
  double slope = 0.0;  ///< median of all pairs, per step
  double slope_low = 0.0, slope_high = 0.0;  ///< 95 %
};
/// Uses the newest 2,000 values. Absent: fewer than 4 values.
std::optional<Trend> FindTrend(std::span<const double> values);

/// How much larger `after` is than `before`: the median of all differences (Hodges and Lehmann, Ann. Math. Statist. 34,
/// 1963), and the 95 % interval of the Mann-Whitney test; absent with too few values for that. Uses the 300 values on
/// each side that are nearest to the cut.
struct Shift {
  double size = 0.0;
  std::optional<double> low, high;
};
Shift FindShift(std::span<const double> before, std::span<const double> after);

/// Which hypotheses to reject so that at most a share of `level` of the rejected ones is expected to be true: Benjamini
/// and Hochberg, J. R. Statist. Soc. B 57 (1995). It holds for independent p and for positively dependent ones
/// (Benjamini and Yekutieli, Ann. Statist. 29, 2001). Returns the largest p that is rejected; absent: none is.
std::optional<double> RejectUpTo(std::vector<double> p, double level);

}  // namespace fa_profile::gate
