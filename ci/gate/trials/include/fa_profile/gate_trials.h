#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/thresholds.h"
#include "fa_profile/trial_data.h"

namespace fa_profile::gate {

/// How often the gate was right, on recorded data.
struct RuleRate {
  std::string rule;      ///< "gate", or what is left out of it
  std::string question;  ///< "same code", "same code, any of 60", "+3 %", "mutant ...", ...
  std::int64_t hits = 0;
  std::int64_t trials = 0;
  double low = 0.0, high = 1.0;  ///< 95 % one-sided exact bounds (each side), as if the trials were independent
};

struct TrialOptions {
  std::uint64_t seed = 1;
  std::int64_t false_alarm_trials = 20000;  ///< simulated pull requests
  std::int64_t power_trials = 2000;         ///< draws per question
  Thresholds thresholds;                    ///< thresholds of the gate under test
};

struct TrialReport {
  std::vector<std::string> about;  ///< data and options, one line each
  std::vector<RuleRate> rates;
  /// Deciles of the first stage's p under the null of equal code with tolerance 0: uniform when calibrated.
  std::vector<std::int64_t> p_deciles;
  std::vector<std::string> notes;   ///< what was drawn, and how far the numbers go, one line each
  std::vector<std::string> failed;  ///< missed targets, one line each; empty: the gate meets all of them
};

/// Splits recorded processes at random into a simulated base and candidate, and judges them by the gate's own
/// functions. The same data and options give the same report. Throws Error for too little data: under 66 timing
/// processes of the same code, no case of 10 us or longer among them, or a mutant with under 8 pairs.
TrialReport RunTrials(const TrialData& data, const TrialOptions& options);

/// Tables for a terminal, and JSON: {"proven":true,"rates":[...],"p_deciles":[...],"notes":[...],"failed":[...]}.
std::string TrialReportText(const TrialReport& report);
std::string TrialReportJson(const TrialReport& report);

}  // namespace fa_profile::gate
