#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fa_profile::gate {

/// Most differences of a sign-flip test, which counts 2^differences flips.
inline constexpr std::size_t kMostDifferences = 24;

/// Median; of an even number the mean of the middle two. Throws Error without values.
double Median(std::vector<double> values);

/// One-sided sign-flip (permutation) test of "the differences are symmetric about something <= 0" against "they are
/// above it"; statistic: the sum. Exact over all 2^n flips including the observed one, so the least p is 2^-n.
/// Fisher, The Design of Experiments (1935), 21. Throws Error without differences, for more than 24, and for NaN.
double SignFlipP(std::span<const double> differences);

/// Interval for the centre of the differences: all shifts that the two-sided sign-flip test does not reject at
/// 1 - confidence. With too few differences for that level: minus to plus infinity.
std::pair<double, double> SignFlipInterval(std::span<const double> differences, double confidence = 0.95);

/// Holm's step-down adjustment, in the order given: reject if <= level. Holm, Scand. J. Statist. 6 (1979). `caps`: the
/// largest factor of each p; empty: no caps.
std::vector<double> HolmAdjust(const std::vector<double>& p, const std::vector<double>& caps = {});

/// Upper (or lower) bound of a proportion, one-sided, exact: Clopper and Pearson, Biometrika 26 (1934).
double ProportionUpperBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);
double ProportionLowerBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);

}  // namespace fa_profile::gate
