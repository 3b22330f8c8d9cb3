#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/thresholds.h"

namespace fa_profile {

/// Worst last, as far as a verdict of a whole is that of its worst part.
enum class Verdict { kPass, kImproved, kMissing, kSuspect, kInconclusive, kIncomparable, kRegression };

/// "PASS", "IMPROVED", "MISSING", "SUSPECT", "INCONCLUSIVE", "INCOMPARABLE", "REGRESSION".
std::string ToString(Verdict verdict);

/// One metric of one case, base against candidate.
struct Comparison {
  std::string phase;           ///< empty: the whole kernel
  std::string metric;          ///< id
  std::string unit;            ///< the catalogue's
  int tier = 0;                ///< 0 static, 1 counters, 2 the paired test, 3 budget against a promoted baseline
  std::optional<double> base;  ///< median over processes, or the value
  std::optional<double> candidate;
  std::optional<double> change;                   ///< relative; of phase_time_ratio points of the base kernel's time
  std::optional<double> change_low, change_high;  ///< 95 % interval of `change`
  std::optional<double> p;                        ///< one-sided, of the last stage it went through
  std::optional<double> p_adjusted;               ///< Holm
  int pairs = 0;
  Verdict verdict = Verdict::kPass;
  bool blocking = false;  ///< verdict counts for the case's; false: a warning or a note
  std::string reason;     ///< one line: why this verdict; empty for a plain PASS
  std::string rule;       ///< "ci/thresholds.yaml:12", or empty: the default
};

/// Everything said about one kernel at one shape.
struct CaseVerdict {
  std::string kernel;
  std::string shape;
  Verdict verdict = Verdict::kPass;
  bool identical = false;        ///< same machine code, launches and inputs: it cannot have become slower
  bool incorrect = false;        ///< wrong, NaN, or fails to launch: its speed is no result
  std::string headline;          ///< one line: "softmax 31.0 -> 54.2 % of the kernel's time"
  std::vector<std::string> why;  ///< lines of evidence, the strongest first
  std::string phase;             ///< the phase that got worse most; empty: none or not known
  std::string bottleneck_before, bottleneck_after;  ///< the phase with most time; empty: not known
  std::vector<Comparison> comparisons;              ///< worst first
  std::optional<SourcePlace> place;                 ///< of the phase, in the candidate
};

/// What the run's own controls said.
struct ControlResult {
  int trials = 0;                          ///< comparisons of the base with itself, judged by the same rule
  int false_positives = 0;                 ///< those called worse
  std::optional<double> reference_change;  ///< of the frozen kernel
  bool passed = true;
  std::string reason;  ///< when not passed
};

/// One run of the gate.
struct GateResult {
  Verdict verdict = Verdict::kPass;
  std::string headline;  ///< "REGRESSION: mma 1,8,512,64 is 11.8 % slower: softmax"
  std::string design;    ///< "pairs", "recordings", "baseline", "static"
  Environment base, candidate;
  std::string base_origin, candidate_origin;
  std::vector<std::string> incomparable;  ///< reasons
  std::vector<std::string> notes;         ///< expired exceptions, dropped pairs, losses
  std::optional<ControlResult> control;
  std::vector<CaseVerdict> cases;     ///< worst first
  std::vector<std::string> suspects;  ///< case names that a second stage must measure again; after it empty
  std::string reproduce;              ///< command line
  std::string today;                  ///< UTC date, by which exceptions expire
};

/// What is judged. `control`: processes of the base run beside those of a pair; only of design "pairs".
struct GateInput {
  Evidence base;
  Evidence candidate;
  std::optional<Evidence> control;
  std::string design;
  bool second_stage = false;  ///< the last word: what is suspect now is judged, not measured again
  std::string today;          ///< "2026-11-21"
  std::string reproduce;
  bool partial = false;           ///< only some kernels were asked for: a rule for another one may match nothing
  bool drawn_pairs = false;       ///< pairs drawn from processes of other runs (trials): there is no run to control
  bool base_is_promoted = false;  ///< tier 3: the budget against it is held too
};

/// The verdict. Pure: the same input gives the same result. Throws Error when a rule of `thresholds` matches no case.
GateResult Judge(const GateInput& input, const Thresholds& thresholds);

/// 0 for PASS, IMPROVED, MISSING, SUSPECT, INCONCLUSIVE and INCOMPARABLE; 1 for REGRESSION; with `strict` 3 for
/// SUSPECT, INCONCLUSIVE, INCOMPARABLE and MISSING.
int ExitCode(const GateResult& result, bool strict);

}  // namespace fa_profile
