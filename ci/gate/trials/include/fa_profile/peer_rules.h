#pragma once

#include <span>

/// Rules of other tools, to be compared with ours on the same data. Base first, candidate second; true: "worse".
namespace fa_profile::gate {

/// The candidate is more than `limit` above the base.
bool FixedThresholdSaysWorse(double base, double candidate, double limit = 0.05);

/// One new value against a history: over mean + t x s, with t the quantile of Student's distribution at `level` with
/// n - 1 degrees of freedom and s the root of the mean square deviation (of n, not of n - 1): Bencher's threshold test
/// `t_test`, whose documentation shows a level of 0.99 and at most 64 values. False for a history of equal values,
/// which Bencher cannot judge. Throws Error for fewer than two values.
bool HistoryTTestSaysWorse(std::span<const double> history, double candidate, double level = 0.99);

/// Two-sided p of the Mann-Whitney U test, by scipy's method "auto": exact when the smaller sample has at most 8 values
/// and none are equal, else the normal approximation with corrections for ties and continuity. Mann and Whitney, Ann.
/// Math. Statist. 18 (1947). Throws Error for an empty sample.
double MannWhitneyP(std::span<const double> base, std::span<const double> candidate);

/// That p under `level`, and the candidate's median above the base's: what google/benchmark's tools/compare.py shows
/// when it is given repetitions of two runs (it asks for at least 9 each).
bool MannWhitneySaysWorse(std::span<const double> base, std::span<const double> candidate, double level = 0.05);

/// t of two windows, each from the point between them outwards: the difference of their means over its standard error.
/// As in Mozilla's treeherder (perfalert, calc_t with linear_weights): the i-th of n values has the weight (n - i) / n
/// in the mean, and variances are about that mean. Infinite if neither varies. Throws Error for windows under two.
double PerfherderT(std::span<const double> before, std::span<const double> after);

/// That t over 7 and the candidate's mean over the base's by more than 2 %: Perfherder's alerts, whose windows have 12
/// values.
bool PerfherderSaysWorse(std::span<const double> before, std::span<const double> after);

}  // namespace fa_profile::gate
