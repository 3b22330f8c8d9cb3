#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fa_profile/evidence.h"
#include "fa_profile/thresholds.h"

namespace fa_profile::gate {

/// In ascending order: the verdict of a whole is the largest of its parts.
enum class Verdict { kPass, kImproved, kMissing, kSuspect, kInconclusive, kIncomparable, kRegression };

/// "PASS", "IMPROVED", "MISSING", "SUSPECT", "INCONCLUSIVE", "INCOMPARABLE", "REGRESSION".
std::string ToString(Verdict verdict);

/// Metric of a comparison: the share of processes that took far longer than the median of all. Only the judge computes
/// it.
inline constexpr const char* kSlowProcesses = "slow_processes";

/// One metric of one case, base against candidate.
struct Comparison {
  std::string phase;           ///< empty: the whole kernel
  std::string metric;          ///< id, or kSlowProcesses
  std::string unit;            ///< as in the catalogue
  int tier = 0;                ///< 0 static, 1 counters, 2 the paired test, 3 budget against a promoted baseline
  std::optional<double> base;  ///< median over processes, or the value
  std::optional<double> candidate;
  std::optional<double> change;                   ///< relative; for phase_time_ratio a share of the base kernel's time
  std::optional<double> change_low, change_high;  ///< 95 % interval of `change`
  std::optional<double> p;                        ///< one-sided, from the last stage; IMPROVED: for better, else for
                                                  ///< worse
  std::optional<double> p_adjusted;               ///< Holm
  int pairs = 0;
  Verdict verdict = Verdict::kPass;
  bool blocking = false;   ///< counts for the case's verdict; false: a warning or a note
  std::string reason;      ///< for the verdict, one line; empty for a plain PASS
  std::string rule;        ///< "ci/thresholds.yaml:12", or empty: the default
  std::string allowed;     ///< for a REGRESSION, how much worse it may be: "2 %"; empty: no limit, `reason` says it all
  bool overruled = false;  ///< worse, but not blocking because the measured time is not worse; `reason` says both
  bool told = false;       ///< the case's `why` has its numbers
};

/// A problem that a recording finds in a kernel.
struct CaseFinding {
  std::string id;        ///< an id from analyze::FindingRules(): "bank-conflicts"
  std::string evidence;  ///< one line
};

/// The result for one kernel at one shape.
struct CaseVerdict {
  std::string kernel;
  std::string shape;
  Verdict verdict = Verdict::kPass;
  bool identical = false;              ///< equal machine code, launches and inputs: it cannot be slower
  std::optional<bool> same_host_code;  ///< absent: not compared
  bool incorrect = false;              ///< wrong, NaN, fails to launch, or refused: its speed is not judged
  bool refused = false;                ///< the judge does not certify it
  std::string headline;                ///< one line: "softmax 31.0 -> 54.2 % of the kernel's time"
  std::vector<std::string> why;        ///< evidence, one line each, the strongest first; for an improvement too
  std::vector<CaseFinding> findings;   ///< in the candidate; they explain what got worse
  std::string phase;                   ///< the cause (docs/gate-reference.md); empty: none or unknown
  std::string bottleneck_before, bottleneck_after;  ///< the phase with most time; empty: unknown
  std::vector<Comparison> comparisons;              ///< worst first
  std::optional<SourcePlace> place;                 ///< source line of that phase, in the candidate
};

/// The run's own controls.
struct ControlResult {
  int trials = 0;                          ///< comparisons of the base with itself, judged like the candidate
  int false_positives = 0;                 ///< trials judged worse
  int equal_code_trials = 0;               ///< comparisons of equal machine code of the base and the candidate
  int equal_code_worse = 0;                ///< those judged worse
  std::optional<double> reference_change;  ///< the frozen kernel's
  bool passed = true;
  std::string reason;  ///< if not passed
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
  std::vector<std::string> suspects;  ///< names of cases that the second stage has to measure again; empty after it
  bool complete = true;               ///< false: a note says what was not compared
  std::string reproduce;              ///< command line
  std::string today;                  ///< UTC date, by which exceptions expire
};

/// What is judged. `control`: processes of the base that ran with each pair; only with design "pairs".
struct GateInput {
  Evidence base;
  Evidence candidate;
  std::optional<Evidence> control;
  std::string design;
  bool second_stage = false;  ///< suspects were measured again: decide them
  std::string today;          ///< "2026-11-21"
  std::string reproduce;
  bool partial = false;           ///< only some kernels were selected: rules may match none
  bool drawn_pairs = false;       ///< pairs drawn from several runs (trials): no control is required
  bool intervals = true;          ///< false: only upper ends that a verdict needs. The rest takes most of the judge's
                                  ///< time
  bool base_is_promoted = false;  ///< tier 3 applies: the budget
};

/// The verdict. Pure: the same input gives the same result. Throws Error when a rule of `thresholds` matches no case.
GateResult Judge(const GateInput& input, const Thresholds& thresholds);

/// 0 for PASS, IMPROVED, MISSING, SUSPECT, INCONCLUSIVE and INCOMPARABLE; 1 for REGRESSION; with `strict` 3 for
/// SUSPECT, INCONCLUSIVE, INCOMPARABLE and MISSING, and for a result that is not complete.
int ExitCode(const GateResult& result, bool strict);

}  // namespace fa_profile::gate
