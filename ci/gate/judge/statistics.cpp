#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "fa_profile/error.h"
#include "fa_profile/gate_statistics.h"

namespace fa_profile::gate {
namespace {

/// Sums that differ by less than this share of the sum of all sizes are equal: only the order of addition differs.
constexpr double kTie = 1e-12;

void RequireDifferences(std::span<const double> differences) {
  if (differences.empty()) throw Error("a sign-flip test needs differences", "measure at least one pair");
  if (differences.size() > kMostDifferences) {
    throw Error("a sign-flip test of " + std::to_string(differences.size()) + " differences",
                "give at most " + std::to_string(kMostDifferences) + " pairs");
  }
  if (!std::ranges::all_of(differences, [](double value) { return std::isfinite(value); })) {
    throw Error("a sign-flip test needs finite differences", "leave out pairs without a value");
  }
}

/// Sums of half the differences, at most 4096; on the stack, because the trials run a million tests.
using Sums = std::array<double, std::size_t{1} << (kMostDifferences / 2)>;

/// The sums of all choices of signs, ascending, in one of the two arrays. Each size merges two sorted lists, which is
/// cheaper than a sort.
std::span<const double> SignedSums(std::span<const double> sizes, Sums& one, Sums& other) {
  Sums* sums = &one;
  Sums* next = &other;
  (*sums)[0] = 0.0;
  std::size_t count = 1;
  for (const double size : sizes) {
    std::size_t plus = 0;
    std::size_t minus = 0;
    for (std::size_t i = 0; i < 2 * count; ++i) {
      // The list that size was taken from is never behind the other.
      const bool take_minus = minus < count && (*sums)[minus] - size <= (*sums)[plus] + size;
      (*next)[i] = take_minus ? (*sums)[minus++] - size : (*sums)[plus++] + size;
    }
    std::swap(sums, next);
    count *= 2;
  }
  return {sums->data(), count};
}

/// Probability that random signs give the differences, less `shift` each, a sum of at least theirs. Unchecked.
/// Meet in the middle: for each sum of one half, how many of the other half are large enough; 2^(n/2) steps, not 2^n.
double FlipP(std::span<const double> differences, double shift) {
  std::array<double, kMostDifferences> sizes;
  double observed = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double value = differences[i] - shift;
    sizes[i] = std::abs(value);
    observed += value;
    total += sizes[i];
  }
  const double enough = observed - kTie * total;
  const std::span<const double> all = std::span(sizes).first(differences.size());
  Sums of_left[2];
  Sums of_right[2];
  const std::span<const double> left = SignedSums(all.first(all.size() / 2), of_left[0], of_left[1]);
  const std::span<const double> right = SignedSums(all.subspan(all.size() / 2), of_right[0], of_right[1]);
  std::size_t reached = 0;
  std::size_t first =
      right.size();  // the first of `right` that is enough for this left sum; falls as the left sum grows
  for (const double sum : left) {
    while (first > 0 && sum + right[first - 1] >= enough) --first;
    reached += right.size() - first;
  }
  return static_cast<double>(reached) / static_cast<double>(left.size() * right.size());
}

/// Least shift that the one-sided test does not reject at `level`. The p of a shift is 2^-n times one more than the
/// number of subsets whose mean is at most the shift: it grows from 2^-n below the least difference to 1 at the
/// greatest.
double LeastShift(std::span<const double> differences, double level) {
  double low = *std::ranges::min_element(differences);
  double high = *std::ranges::max_element(differences);
  if (std::ldexp(1.0, -static_cast<int>(differences.size())) > level) return -std::numeric_limits<double>::infinity();
  if (FlipP(differences, low) > level) return low;
  // To a thousand-millionth of the range: far below what is printed.
  const double enough = 1e-9 * (high - low);
  while (high - low > enough) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) break;
    (FlipP(differences, middle) > level ? high : low) = middle;
  }
  return high;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) throw Error("a median needs values", "measure at least one process");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double SignFlipP(std::span<const double> differences) {
  RequireDifferences(differences);
  return FlipP(differences, 0.0);
}

std::pair<double, double> SignFlipInterval(std::span<const double> differences, double confidence) {
  RequireDifferences(differences);
  const double level = (1.0 - confidence) / 2.0;
  std::vector<double> mirrored(differences.begin(), differences.end());
  for (double& value : mirrored) value = -value;
  return {LeastShift(differences, level), -LeastShift(mirrored, level)};
}

std::vector<double> HolmAdjust(const std::vector<double>& p, const std::vector<double>& caps) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&p](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0.0;  // a larger p is never adjusted to less than a smaller one
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    const auto holm = static_cast<double>(p.size() - rank);
    largest = std::max(largest, std::min(1.0, (caps.empty() ? holm : std::min(holm, caps[i])) * p[i]));
    adjusted[i] = largest;
  }
  return adjusted;
}

double ProportionUpperBound(std::int64_t hits, std::int64_t trials, double confidence) {
  if (hits < 0 || hits > trials) {
    throw Error("a proportion cannot be " + std::to_string(hits) + " of " + std::to_string(trials), "check the counts");
  }
  if (hits == trials) return 1.0;  // also without trials
  // The chance p at which `hits` or fewer have the chance 1 - confidence: I_p(hits + 1, trials - hits) = confidence.
  return boost::math::ibeta_inv(static_cast<double>(hits + 1), static_cast<double>(trials - hits), confidence);
}

double ProportionLowerBound(std::int64_t hits, std::int64_t trials, double confidence) {
  return 1.0 - ProportionUpperBound(trials - hits, trials, confidence);
}

}  // namespace fa_profile::gate
