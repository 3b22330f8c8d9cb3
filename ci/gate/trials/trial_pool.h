#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/gate_trials.h"
#include "trial_draws.h"

namespace fa_profile::gate {

/// Comparisons of a simulated pull request: thirty kernels and shapes, each in time and in cycles.
inline constexpr std::size_t kRequestComparisons = 60;

/// Durations and cycles of the same code: all cases that every process measured, except the reference kernel.
struct TimingPool {
  const Evidence* data = nullptr;
  std::vector<std::size_t> processes;  ///< in the order in which they ran
  std::vector<std::size_t> cases;
  /// By metric (duration, cycles), position of the case, position of the process.
  std::vector<std::vector<double>> values[2];
  std::vector<std::string> left_out;  ///< one line each
};

/// Throws Error for too little data.
TimingPool PoolOf(const Evidence& data);

/// A rate with its bounds.
RuleRate Rate(const std::string& rule, const std::string& question, std::int64_t hits, std::int64_t trials);

}  // namespace fa_profile::gate
