#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/gate_trials.h"
#include "trials/trial_draws.h"

namespace fa_profile {

/// Comparisons of a fake pull request: what a suite of thirty kernels and shapes has, in time and in cycles.
inline constexpr std::size_t kRequestComparisons = 60;

/// Durations and cycles of the same code: all cases that every process measured, the reference kernel apart.
struct TimingPool {
  const Evidence* data = nullptr;
  std::vector<std::size_t> processes;  ///< in the order in which they ran
  std::vector<std::size_t> cases;
  std::vector<std::size_t> long_cases;  ///< positions in `cases`: no short calls, which have another tolerance
  /// By metric (duration, cycles), position of the case, position of the process.
  std::vector<std::vector<double>> values[2];
  std::vector<std::string> left_out;  ///< one line each
};

/// Throws Error when there is too little to draw from.
TimingPool PoolOf(const Evidence& data, const Thresholds& thresholds);

/// A rate with its bounds.
RuleRate Rate(const std::string& rule, const std::string& question, std::int64_t hits, std::int64_t trials);

/// The rules of other tools on the same processes (docs/gate-selftest.md): same code, same code any of 60, +3 %, +5 %.
std::vector<RuleRate> PeerRates(const TimingPool& pool, std::int64_t trials, TrialRandom& random);

}  // namespace fa_profile
