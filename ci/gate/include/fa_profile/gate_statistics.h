#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace fa_profile {

/// Median; the mean of the middle two of an even number. Throws Error for none.
double Median(std::vector<double> values);

/// One-sided sign-flip (permutation) test of "the differences are symmetric about something <= 0" against "they are
/// above it", statistic: the sum. Exact over all 2^n flips, the observed one included, so that the least p is 2^-n.
/// Fisher, The Design of Experiments (1935), 21. At most 24 differences: throws Error for none, more, or a NaN.
double SignFlipP(std::span<const double> differences);

/// Interval for the centre of the differences: all shifts that the two-sided sign-flip test does not reject at
/// 1 - confidence. With too few differences for that level it is the range of what can be said: minus to plus infinity.
std::pair<double, double> SignFlipInterval(std::span<const double> differences, double confidence = 0.95);

/// Holm's step-down adjustment, in the order given: reject what is <= level. Holm, Scand. J. Statist. 6 (1979).
std::vector<double> HolmAdjust(const std::vector<double>& p);

/// Upper (or lower) bound of a proportion, one-sided, exact: Clopper and Pearson, Biometrika 26 (1934).
double ProportionUpperBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);
double ProportionLowerBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);

/// Rules of other tools, to be held against ours on the same data. Base first, candidate second; true: "worse".
/// A candidate that is over the base by more than `limit`.
bool FixedThresholdSaysWorse(double base, double candidate, double limit = 0.05);

/// One new value against a history: over mean + t x s, with t the quantile of Student's distribution at `level` with
/// n - 1 degrees of freedom and s the root of the mean square deviation (of n, not of n - 1): Bencher's threshold test
/// `t_test`, whose documentation shows a level of 0.99 and at most 64 values. Never over a history of equal values,
/// which Bencher cannot judge. Throws Error for fewer than two values.
bool HistoryTTestSaysWorse(std::span<const double> history, double candidate, double level = 0.99);

/// Two-sided p of the Mann-Whitney U test, by scipy's method "auto": exact when the smaller sample has at most 8 values
/// and none are equal, else the normal approximation with corrections for ties and continuity. Mann and Whitney, Ann.
/// Math. Statist. 18 (1947). Throws Error for an empty sample.
double MannWhitneyP(std::span<const double> base, std::span<const double> candidate);

/// That p under `level`, and the candidate's median above the base's: what google/benchmark's tools/compare.py shows
/// when it is given repetitions of two runs (it asks for at least 9 each).
bool MannWhitneySaysWorse(std::span<const double> base, std::span<const double> candidate, double level = 0.05);

}  // namespace fa_profile
