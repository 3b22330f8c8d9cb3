#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/thresholds.h"

namespace fa_profile {

/// Version of trial data as JSON (docs/gate-selftest.md). A reader takes its own version and older ones.
inline constexpr int kTrialDataVersion = 1;

/// How often a rule was right, on recorded data.
struct RuleRate {
  std::string rule;      ///< "gate", "fixed 5 %", "t-test 0.99 on history", "Mann-Whitney"
  std::string question;  ///< "same code", "same code, any of 60", "+3 %", "mutant ...", ...
  std::int64_t hits = 0;
  std::int64_t trials = 0;
  double low = 0.0, high = 1.0;  ///< 95 % one-sided exact bounds (each side), as if the trials were independent
};

/// A mutant kernel: what it is, and what has to be found.
struct MutantFacts {
  std::string kernel;         ///< its id in the evidence: "mma_softmax_5"
  std::string base;           ///< the kernel it was made from, in the same evidence
  std::string phase;          ///< that was made worse; empty: no one phase, and none has to be named
  bool faster_tiers = false;  ///< tiers 0 and 1 must see it too
};

/// The data the gate proves itself with (docs/gate-selftest.md): processes of the same code, and of mutants. Processes
/// stand in the order in which they ran.
struct TrialData {
  Evidence same_code;  ///< timing processes, and recording processes with phases
  Evidence mutants;    ///< timing and recording processes of the base kernels and the mutants
  std::vector<MutantFacts> facts;
};

/// JSON, the same bytes for the same value.
std::string ToJson(const TrialData& data);

/// Reads what ToJson() wrote. Hostile input: throws Error as EvidenceFromJson() does, and for a mutant that the
/// evidence does not have.
TrialData TrialDataFromJson(const std::string& text, const std::string& name);

struct TrialOptions {
  std::uint64_t seed = 1;
  std::int64_t false_alarm_trials = 20000;  ///< fake pull requests
  std::int64_t power_trials = 2000;         ///< a question
  Thresholds thresholds;                    ///< the gate that is put to the proof; the defaults are ours
};

struct TrialReport {
  std::vector<RuleRate> rates;
  /// Deciles of the first stage's p under the null of equal code with tolerance 0: uniform when calibrated.
  std::vector<std::int64_t> p_deciles;
  std::vector<std::string> notes;   ///< what was drawn and what the numbers cannot say, one line each
  std::vector<std::string> failed;  ///< targets that were missed, one line each; empty: the gate is proven
};

/// Splits recorded processes at random into fake base and candidate, and judges them by the same functions as the gate.
/// The same data and options give the same report. Throws Error when the data are too few to draw from: under 66 timing
/// processes of the same code, no case of 10 us or longer among them, or a mutant with under 8 pairs.
TrialReport RunTrials(const TrialData& data, const TrialOptions& options);

/// Tables for a terminal, and JSON: {"proven":true,"rates":[...],"p_deciles":[...],"notes":[...],"failed":[...]}.
std::string TrialReportText(const TrialReport& report);
std::string TrialReportJson(const TrialReport& report);

}  // namespace fa_profile
