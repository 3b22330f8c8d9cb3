#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace fa_profile::gate {

/// Values of processes that ran next to each other, on one scale on which more is worse.
struct ProcessBlock {
  double candidate = 0.0;
  double base = 0.0;
  std::optional<double> again;  ///< the base, measured once more
};

/// The block on the scale on which more is better.
ProcessBlock Mirrored(const ProcessBlock& block);

/// The candidate minus the mean of the base.
double WorseBy(const ProcessBlock& block);

/// Most blocks of a permutation test, which counts up to 3^blocks assignments.
inline constexpr std::size_t kMostBlocks = 24;

/// Median; for an even number the mean of the middle two. Throws Error without values.
double Median(std::vector<double> values);

/// The blocks with `shift` subtracted from the candidates, and with values far from the mean of their block moved
/// closer: to four times the median distance. Otherwise one disturbed process would count more than all others. Values
/// of equal processes are treated alike, whichever of them is the candidate's, so a permutation test stays exact.
std::vector<ProcessBlock> Winsorized(std::span<const ProcessBlock> blocks, double shift);

/// One-sided permutation test in randomized blocks of "the candidate, minus `shift`, is like the base" against "it is
/// more"; statistic: the sum of WorseBy() over the winsorized blocks. If it is like the base, each process of a block
/// could as well have been the candidate's. Exact over all assignments including the observed one, so the least p is
/// LeastP(). In blocks of two it is Fisher's test of signs, The Design of Experiments (1935), 21; in larger ones
/// Pitman's, Biometrika 29 (1938). Throws Error without blocks, for more than 24, and for NaN.
double PermutationP(std::span<const ProcessBlock> blocks, double shift = 0.0);

/// The least p that such blocks can give: 1 / the number of assignments.
double LeastP(std::span<const ProcessBlock> blocks);

/// Interval for the candidate's excess: all shifts that the two-sided test does not reject at 1 - confidence. With too
/// few blocks for that level: minus to plus infinity.
std::pair<double, double> PermutationInterval(std::span<const ProcessBlock> blocks, double confidence = 0.95);

/// Only the upper end of that interval, in half of the time.
double UpperEnd(std::span<const ProcessBlock> blocks, double confidence = 0.95);

/// Counts of slow processes.
struct SlowProcesses {
  int of_candidate = 0, candidates = 0;
  int of_base = 0, bases = 0;
  double p = 1.0;        ///< probability that the candidate gets this many or more of its blocks' slow processes by
                         ///< chance
  double least_p = 1.0;  ///< p if all that could be the candidate's were
};

/// Counts values above the median of all plus `above`. If the candidate is like the base, each process of a block is as
/// likely as the others to be slow: in a block of n with s slow ones, the candidate has one with probability s / n. p
/// is exact, given the slow processes in each block. Without slow processes p is 1.
SlowProcesses CountSlow(std::span<const ProcessBlock> blocks, double above);

/// Holm's step-down adjustment, in the order given: reject if <= level. Holm, Scand. J. Statist. 6 (1979). `caps`: the
/// largest factor of each p; empty: no caps.
std::vector<double> HolmAdjust(const std::vector<double>& p, const std::vector<double>& caps = {});

/// Upper (or lower) bound of a proportion, one-sided, exact: Clopper and Pearson, Biometrika 26 (1934).
double ProportionUpperBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);
double ProportionLowerBound(std::int64_t hits, std::int64_t trials, double confidence = 0.95);

}  // namespace fa_profile::gate
