#include "fa_profile/peer_rules.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

/// Up to this size of the smaller sample the p is exact, as in scipy's method "auto".
constexpr std::size_t kMostExact = 8;

struct RankSum {
  double u = 0.0;  ///< pairs (base, candidate) in which the candidate is larger, a tie counting half
  bool tied = false;
  double tie_term = 0.0;  ///< sum of t^3 - t over groups of t equal values
};

RankSum CountPairs(std::span<const double> base, std::span<const double> candidate) {
  RankSum result;
  for (const double after : candidate) {
    for (const double before : base) result.u += after > before ? 1.0 : after == before ? 0.5 : 0.0;
  }
  std::vector<double> all(base.begin(), base.end());
  all.insert(all.end(), candidate.begin(), candidate.end());
  std::ranges::sort(all);
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::upper_bound(first, all.end(), *first);
    const auto size = static_cast<double>(last - first);
    result.tied = result.tied || size > 1.0;
    result.tie_term += size * size * size - size;
    first = last;
  }
  return result;
}

/// P(U >= least) if all orders of the two samples are equally likely. Counts the orders with each U by the recurrence
/// of Mann and Whitney: the largest value is in one sample or in the other.
double ExactUpperTail(std::size_t small, std::size_t large, double least) {
  // counts[i][u]: orders of i values of one sample among j of the other, j growing in place.
  std::vector<std::vector<double>> counts(small + 1, std::vector<double>(small * large + 1, 0.0));
  for (auto& row : counts) row[0] = 1.0;
  for (std::size_t j = 1; j <= large; ++j) {
    for (std::size_t i = 1; i <= small; ++i) {
      // The largest is in the first sample: it is above all j others. Else: the count for j - 1.
      for (std::size_t u = j; u <= i * j; ++u) counts[i][u] += counts[i - 1][u - j];
    }
  }
  const std::vector<double>& all = counts[small];
  const auto first = static_cast<std::ptrdiff_t>(std::ceil(least));
  return std::accumulate(all.begin() + first, all.end(), 0.0) / std::accumulate(all.begin(), all.end(), 0.0);
}

struct Side {
  double mean = 0.0;
  double variance = 0.0;  ///< of the mean
};

Side Weighted(std::span<const double> values) {
  if (values.size() < 2) throw Error("a window needs at least two values", "give more processes");
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double weight = (count - static_cast<double>(i)) / count;
    sum += weight * values[i];
    weights += weight;
  }
  Side window{sum / weights, 0.0};
  for (const double value : values) window.variance += (value - window.mean) * (value - window.mean);
  window.variance /= (count - 1.0) * count;
  return window;
}

}  // namespace

bool FixedThresholdSaysWorse(double base, double candidate, double limit) { return candidate > base * (1.0 + limit); }

bool HistoryTTestSaysWorse(std::span<const double> history, double candidate, double level) {
  if (history.size() < 2)
    throw Error("too few processes of the base: the t-test needs two or more", "give more processes");
  const auto count = static_cast<double>(history.size());
  const double mean = std::accumulate(history.begin(), history.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : history) squares += (value - mean) * (value - mean);
  if (squares == 0.0) return false;
  const double t = (candidate - mean) / std::sqrt(squares / count);
  return cdf(complement(boost::math::students_t(count - 1.0), t)) < 1.0 - level;
}

double MannWhitneyP(std::span<const double> base, std::span<const double> candidate) {
  if (base.empty() || candidate.empty()) throw Error("a Mann-Whitney test needs two samples", "give values for both");
  const RankSum sum = CountPairs(base, candidate);
  const auto m = static_cast<double>(base.size());
  const auto n = static_cast<double>(candidate.size());
  const double larger = std::max(sum.u, m * n - sum.u);
  const std::size_t small = std::min(base.size(), candidate.size());
  if (small <= kMostExact && !sum.tied) {
    return std::min(1.0, 2.0 * ExactUpperTail(small, std::max(base.size(), candidate.size()), larger));
  }
  const double all = m + n;
  const double variance = m * n / 12.0 * (all + 1.0 - sum.tie_term / (all * (all - 1.0)));
  if (variance <= 0.0) return 1.0;  // all values are equal
  const double z = (larger - m * n / 2.0 - 0.5) / std::sqrt(variance);
  return std::min(1.0, std::erfc(z / std::sqrt(2.0)));
}

bool MannWhitneySaysWorse(std::span<const double> base, std::span<const double> candidate, double level) {
  return MannWhitneyP(base, candidate) < level &&
         Median({candidate.begin(), candidate.end()}) > Median({base.begin(), base.end()});
}

double PerfherderT(std::span<const double> before, std::span<const double> after) {
  const Side base = Weighted(before);
  const Side candidate = Weighted(after);
  if (candidate.mean == base.mean) return 0.0;
  return (candidate.mean - base.mean) / std::sqrt(base.variance + candidate.variance);
}

bool PerfherderSaysWorse(std::span<const double> before, std::span<const double> after) {
  constexpr double kLeastT = 7.0;
  constexpr double kLeastChange = 0.02;
  return PerfherderT(before, after) > kLeastT && Weighted(after).mean > Weighted(before).mean * (1.0 + kLeastChange);
}

}  // namespace fa_profile::gate
