#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/gate_trials.h"
#include "trial_draws.h"
#include "trial_pool.h"

namespace fa_profile::gate {

inline constexpr const char* kGate = "gate";

/// Shared by the questions of a selftest: the data, a stream of random numbers, and the report.
struct TrialRun {
  TrialRun(const TrialData& trial_data, const TrialOptions& trial_options)
      : data(trial_data), options(trial_options), pool(PoolOf(trial_data.same_code)), random(trial_options.seed) {}

  /// Adds a rate of the gate.
  const RuleRate& Add(const std::string& question, std::int64_t hits, std::int64_t trials);
  /// A target for the one-sided 95 % bound of a rate, not for the rate: too few trials prove nothing.
  void RequireAtMost(const RuleRate& rate, double most);
  void RequireAtLeast(const RuleRate& rate, double least);

  /// The positions of all cases in the pool.
  std::vector<std::size_t> AllCases() const;
  /// Blocks of three neighbours, as in a run of the gate; as positions in the pool, which Judged() turns into
  /// processes.
  Draw DrawTimings();
  void ToProcesses(Draw& draw) const;
  /// The verdict on cases of the pool; `factors` for the candidate's durations and cycles, one per block.
  GateResult Judged(Draw draw, const std::vector<std::size_t>& positions, std::vector<double> factors = {}) const;
  /// False: no comparison can be suspect. Half of all flips of signs reach a sum of 0 or less, so the mean of a
  /// suspect's pairs is over the least limit; and a suspicion of slow processes needs one of the candidate. Saves
  /// judging draws in which nothing can be suspect, which are nearly all; EveryTier() checks that.
  bool MayBeSuspect(const Draw& draw, const std::vector<std::size_t>& positions) const;

  const TrialData& data;
  const TrialOptions& options;
  TimingPool pool;
  TrialRandom random;
  TrialReport report;
};

/// Comparisons that a verdict calls a regression.
std::int64_t Alarms(const GateResult& result);

// false_alarms.cpp: the same code on both sides
void AskFalseAlarms(TrialRun& run);

// power.cpp: durations and cycles multiplied
void AskPower(TrialRun& run);

// mutants.cpp: kernels that were made worse on purpose
void AskMutants(TrialRun& run);

}  // namespace fa_profile::gate
