#include "fa_profile/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

constexpr std::size_t kExactOrders = 8;  // 8! = 40,320 orders
constexpr std::int64_t kEnoughLarger = 20;
constexpr std::size_t kExactTrend = 50;
constexpr std::size_t kMostTrend = 2000;
constexpr std::size_t kMostOfSide = 300;
constexpr double kNormal95 = 1.959964;
/// Sums that differ by less than this share are equal: only the order of addition differs.
constexpr double kRounding = 1e-9;

void RequireFinite(std::span<const double> values) {
  if (std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return;
  throw Error("a change point needs finite values", "leave out nights without a value");
}

/// The best cut in any order of the same values. An order is a list of ranks: the values, ascending, by number.
class EnergySplit {
 public:
  explicit EnergySplit(std::span<const double> values) : sorted_(values.begin(), values.end()) {
    std::ranges::sort(sorted_);
    const std::size_t n = sorted_.size();
    row_.resize(n);
    counts_.resize(n + 1);
    sums_.resize(n + 1);
    double below = 0.0;
    const double all = std::accumulate(sorted_.begin(), sorted_.end(), 0.0);
    for (std::size_t r = 0; r < n; ++r) {
      const auto rank = static_cast<double>(r);
      row_[r] = sorted_[r] * rank - below + (all - below) - sorted_[r] * (static_cast<double>(n) - rank);
      below += sorted_[r];
      total_ += row_[r] / 2.0;
    }
  }

  Split Best(std::span<const std::size_t> order) {
    std::ranges::fill(counts_, 0.0);
    std::ranges::fill(sums_, 0.0);
    const std::size_t n = order.size();
    double left = 0.0;  // distances inside the left side, and inside the right one
    double right = total_;
    double left_sum = 0.0;
    Split best;
    for (std::size_t t = 0; t + kLeastSegment < n; ++t) {
      const std::size_t rank = order[t];
      const double to_left = DistanceToLeft(rank, static_cast<double>(t), left_sum);
      left += to_left;
      right -= row_[rank] - to_left;
      left_sum += sorted_[rank];
      Insert(rank);
      if (t + 1 < kLeastSegment) continue;
      const double statistic = Statistic(t + 1, n - t - 1, left, right);
      if (best.at == 0 || statistic > best.statistic) best = {t + 1, statistic, 1.0};
    }
    return best;
  }

  double scale() const { return total_; }

 private:
  double Statistic(std::size_t before, std::size_t after, double left, double right) const {
    const auto m = static_cast<double>(before);
    const auto k = static_cast<double>(after);
    const double between = total_ - left - right;
    const double energy = 2.0 * between / (m * k) - 2.0 * left / (m * (m - 1.0)) - 2.0 * right / (k * (k - 1.0));
    return energy * m * k / (m + k);
  }

  /// Sum of the distances to the `count` values inserted before, whose sum is `sum`.
  double DistanceToLeft(std::size_t rank, double count, double sum) const {
    double smaller = 0.0, smaller_sum = 0.0;
    for (std::size_t i = rank; i > 0; i &= i - 1) {
      smaller += counts_[i];
      smaller_sum += sums_[i];
    }
    const double value = sorted_[rank];
    return value * smaller - smaller_sum + (sum - smaller_sum) - value * (count - smaller);
  }

  void Insert(std::size_t rank) {  // Fenwick, Softw. Pract. Exp. 24 (1994)
    for (std::size_t i = rank + 1; i < counts_.size(); i += i & (~i + 1)) {
      counts_[i] += 1.0;
      sums_[i] += sorted_[rank];
    }
  }

  std::vector<double> sorted_;
  std::vector<double> row_;  ///< sum of the distances of a value to all others
  double total_ = 0.0;       ///< sum of the distances of all pairs
  std::vector<double> counts_, sums_;
};

std::vector<std::size_t> RanksOf(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t r = 0; r < order.size(); ++r) ranks[order[r]] = r;
  return ranks;
}

double ExactP(EnergySplit& energy, std::vector<std::size_t> order, double enough) {
  std::ranges::sort(order);
  std::int64_t larger = 0;
  std::int64_t orders = 0;
  do {
    if (energy.Best(order).statistic >= enough) ++larger;
    ++orders;
  } while (std::ranges::next_permutation(order).found);
  return static_cast<double>(larger) / static_cast<double>(orders);
}

double DrawnP(EnergySplit& energy, std::vector<std::size_t> order, double enough, std::int64_t permutations,
              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::int64_t larger = 0;
  for (std::int64_t drawn = 1; drawn <= permutations; ++drawn) {
    // By hand: the shuffle differs between standard libraries.
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    if (energy.Best(order).statistic < enough) continue;
    if (++larger == kEnoughLarger) return static_cast<double>(larger) / static_cast<double>(drawn);
  }
  return static_cast<double>(larger + 1) / static_cast<double>(permutations + 1);
}

/// Kendall's S: pairs that rise minus pairs that fall.
double RisingPairs(std::span<const double> values) {
  double s = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      s += static_cast<double>(values[j] > values[i]) - static_cast<double>(values[j] < values[i]);
    }
  }
  return s;
}

bool HasTies(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

/// Variance of S under random order.
double VarianceOfS(std::span<const double> values) {
  const auto term = [](double n) { return n * (n - 1.0) * (2.0 * n + 5.0); };
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  double variance = term(static_cast<double>(values.size()));
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    variance -= term(static_cast<double>(end - i));
    i = end;
  }
  return variance / 18.0;
}

/// Probability of an |S| at least this large, over all orders of n different values: counts of orders by their
/// inversions.
double ExactTrendP(std::size_t n, double s) {
  std::vector<double> chances{1.0};  // by the number of inversions
  for (std::size_t k = 2; k <= n; ++k) {
    std::vector<double> next(chances.size() + k - 1, 0.0);
    for (std::size_t i = 0; i < chances.size(); ++i) {
      for (std::size_t more = 0; more < k; ++more) next[i + more] += chances[i] / static_cast<double>(k);
    }
    chances = std::move(next);
  }
  const double pairs = static_cast<double>(chances.size()) - 1.0;
  double p = 0.0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    if (std::abs(pairs - 2.0 * static_cast<double>(i)) >= std::abs(s) - 0.5) p += chances[i];
  }
  return std::min(1.0, p);
}

double NormalTwoSided(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

double At(std::vector<double>& values, double place) {
  const auto index = static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(values.size() - 1)));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(index));
  return values[index];
}

}  // namespace

std::optional<Split> FindSplit(std::span<const double> values, std::int64_t permutations, std::uint64_t seed) {
  RequireFinite(values);
  if (values.size() < 2 * kLeastSegment) return std::nullopt;
  const std::vector<std::size_t> order = RanksOf(values);
  EnergySplit energy(values);
  Split split = energy.Best(order);
  if (energy.scale() <= 0.0) return split;  // all values are equal
  const double enough = split.statistic - kRounding * energy.scale() / static_cast<double>(values.size());
  split.p =
      values.size() <= kExactOrders ? ExactP(energy, order, enough) : DrawnP(energy, order, enough, permutations, seed);
  return split;
}

std::optional<Trend> FindTrend(std::span<const double> values) {
  RequireFinite(values);
  if (values.size() < 4) return std::nullopt;
  values = values.last(std::min(values.size(), kMostTrend));
  const double s = RisingPairs(values);
  const double variance = VarianceOfS(values);
  Trend trend;
  if (variance <= 0.0) return trend;
  const std::size_t n = values.size();
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  const bool ties = HasTies(values);
  const double corrected = std::max(0.0, std::abs(s) - 1.0);  // S takes every second number
  trend.p = !ties && n <= kExactTrend ? ExactTrendP(n, s) : NormalTwoSided(corrected / std::sqrt(variance));
  const auto pairs = static_cast<double>(slopes.size());
  const double reach = kNormal95 * std::sqrt(variance);
  trend.slope_low = At(slopes, std::floor((pairs - reach) / 2.0) - 1.0);
  trend.slope_high = At(slopes, std::ceil((pairs + reach) / 2.0));
  trend.slope = Median(std::move(slopes));
  return trend;
}

Shift FindShift(std::span<const double> before, std::span<const double> after) {
  before = before.last(std::min(before.size(), kMostOfSide));
  after = after.first(std::min(after.size(), kMostOfSide));
  std::vector<double> differences;
  differences.reserve(before.size() * after.size());
  for (const double a : after) {
    for (const double b : before) differences.push_back(a - b);
  }
  const auto m = static_cast<double>(before.size());
  const auto n = static_cast<double>(after.size());
  const double reach = kNormal95 * std::sqrt(m * n * (m + n + 1.0) / 12.0);
  const double lowest = std::floor(m * n / 2.0 - reach) - 1.0;  // from 0
  Shift shift;
  if (lowest >= 0.0) {
    shift.low = At(differences, lowest);
    shift.high = At(differences, m * n - 1.0 - lowest);
  }
  shift.size = Median(std::move(differences));
  return shift;
}

std::optional<double> RejectUpTo(std::vector<double> p, double level) {
  std::ranges::sort(p);
  for (std::size_t i = p.size(); i > 0; --i) {
    if (p[i - 1] <= level * static_cast<double>(i) / static_cast<double>(p.size())) return p[i - 1];
  }
  return std::nullopt;
}

}  // namespace fa_profile::gate
