#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/metric_catalogue.h"
#include "judge/paired_test.h"

namespace fa_profile {

/// One kernel at one shape under judgement: where it is on each side, and what is said of it so far.
struct CaseWork {
  const CaseFacts* base = nullptr;       ///< null: the base does not have it
  const CaseFacts* candidate = nullptr;  ///< null: the candidate does not have it
  std::size_t base_index = 0;
  std::size_t candidate_index = 0;
  std::map<std::string, double> base_shares;  ///< median share of each phase
  std::map<std::string, double> candidate_shares;
  bool compare_speed = true;   ///< false: it is wrong, or not on both sides: its counters and times are no result
  bool proven_faster = false;  ///< by the paired test: counters, being a proxy for time, are then notes
  std::set<std::string> broken_demands;  ///< reasons of the comparisons with a minimum or maximum that it breaks
  CaseVerdict verdict;

  std::string Name() const;
  /// Of the side that has it, the candidate's first.
  const CaseFacts& Facts() const { return candidate != nullptr ? *candidate : *base; }
};

/// Two processes that ran next to each other.
struct ProcessPair {
  int stage = 1;
  std::size_t base = 0;       ///< index of the process
  std::size_t candidate = 0;  ///< of the other side; of the control where that is judged
  bool throttled = false;     ///< either: the pair is dropped
};

/// What all tiers read. Everything in it is fixed before the first case is judged.
struct JudgeContext {
  const GateInput& input;
  const Thresholds& thresholds;
  bool comparable = true;
  std::set<std::string> ruled;            ///< metrics that some rule names
  std::vector<ProcessPair> timing_pairs;  ///< base and candidate
  std::vector<ProcessPair> recording_pairs;

  bool Dynamic() const { return input.design != "static"; }
  bool Paired() const { return input.design == "pairs"; }
  /// Enough pairs of recording processes for the first stage: noisy metrics are then tested in pairs.
  bool RecordedInPairs() const;
  /// The demands of the rules; quick for the many metrics that no rule names.
  Demand DemandOn(const CaseWork& work, const std::string& phase, const std::string& metric) const;
  /// "ci/thresholds.yaml:12" of the last rule that sets a limit of growth; empty: none does.
  std::string GrowthRule(const Demand& demand) const;
  std::string Place(const ThresholdRule& rule) const;
};

/// A comparison in stage 1 or 2 of the paired test.
struct PairedTest {
  std::size_t work = 0;  ///< index of the case
  Comparison comparison;
  Demand demand;
  PairedDifferences differences;
  bool logarithmic = true;                     ///< of ratios; else of differences as they are
  int total[2] = {0, 0}, dropped[2] = {0, 0};  ///< pairs of each stage
};

// comparable.cpp
/// Why nothing measured on one side says anything of the other; empty: they can be compared.
std::vector<std::string> Incomparable(const GateInput& input);

// correctness.cpp
/// Correct before fast: a wrong candidate is a regression whatever its speed, which is then not judged.
void JudgeCorrectness(const JudgeContext& context, CaseWork& work);

// code_tier.cpp
/// Tier 0: what the compiler fixed.
void JudgeCode(const JudgeContext& context, CaseWork& work);

// counter_tier.cpp
/// Tier 1: what is the same in every launch of the same code; and any other metric that a rule limits.
void JudgeCounters(const JudgeContext& context, CaseWork& work);

// paired_tier.cpp
std::vector<ProcessPair> PairsOf(const Evidence& base, const Evidence& candidate, const std::string& kind);
/// Duration, cycles, phases and what rules limit, of one case, between the base and `other` (candidate or control).
std::vector<PairedTest> PairedTests(const JudgeContext& context, const CaseWork& work, const Evidence& other,
                                    std::size_t other_index, const std::vector<ProcessPair>& timing_pairs,
                                    const std::vector<ProcessPair>& recording_pairs);
/// Tier 2: decides all tests of the run at once (Holm), and puts them into their cases. False alarms of a control that
/// failed (`control`) make every one of them inconclusive.
void JudgePairs(const JudgeContext& context, std::vector<PairedTest> tests, const ControlResult* control,
                std::vector<CaseWork>& works);

// control.cpp
/// What the run says of itself: the base against itself, code against the same code, the frozen kernel. Absent when
/// nothing of that was measured. `required`: some case's time is to be judged, for which a control that is missing is
/// one that failed.
std::optional<ControlResult> JudgeControl(const JudgeContext& context, const std::vector<CaseWork>& works,
                                          const std::vector<PairedTest>& identical, bool required,
                                          std::vector<std::string>& notes);

// unpaired_tier.cpp
/// Tiers 2 and 3 without pairs: one or few processes a side.
void JudgeUnpaired(const JudgeContext& context, CaseWork& work);

// demands.cpp
/// Minimum and maximum rules, on the candidate alone.
void JudgeDemands(const JudgeContext& context, CaseWork& work, std::set<const ThresholdRule*>& checked);

// case_story.cpp
/// Verdict of the case from its comparisons; then headline, phase, bottlenecks, place and `why`.
void TellCase(const JudgeContext& context, CaseWork& work);

// case_values.cpp
/// A case's values of one kind of process. `throttled`: also those of processes whose clock was held down.
std::vector<double> Samples(const Evidence& evidence, std::size_t case_index, const std::string& kind,
                            const MetricKey& key, bool throttled);
std::optional<double> MedianOf(const std::vector<double>& values);
/// Value of a case in a process; absent: not measured there.
std::optional<double> ValueIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const MetricKey& key);
/// A phase's share in a process: 0 where the process has phases and not this one, for shares add up to 1.
std::optional<double> ShareIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const std::string& phase);
/// Median share of each phase over the recording processes.
std::map<std::string, double> PhaseShares(const Evidence& evidence, std::size_t case_index);
/// Kind of a side's processes whose durations are judged: "timing" where it has those, else "recording". Both replay
/// the same graph unprofiled, so that one side's may be of the one kind and the other's of the other.
std::string DurationKind(const Evidence& evidence, std::size_t case_index);
/// Duration of the candidate over the base's, in cycles when both have them. Absent: not known.
std::optional<double> DurationRatio(const JudgeContext& context, const CaseWork& work);
/// Growth of each phase in points of the base kernel's time.
std::map<std::string, double> PhaseGrowth(const JudgeContext& context, const CaseWork& work);

/// What a metric is called, its unit, which way is worse: of either catalogue, of tier 0, or kCycles.
struct MetricFacts {
  std::string label;
  std::string unit;
  Polarity polarity = Polarity::kNeutral;
  Stability stability = Stability::kNoisy;
};
MetricFacts FactsOf(const MetricKey& key);

/// How much worse the candidate may be, as a ratio of the base's time: the tolerance, and for calls of no time at all
/// the absolute floor. `cycles`: of kCycles, which has the duration's limits where no rule names it.
double TimeTolerance(const JudgeContext& context, const CaseWork& work, std::optional<double> base_seconds,
                     std::optional<double> base_cycles, bool cycles);
/// Severity and place of the rule for kDuration or kCycles: the duration's where none names kCycles.
Demand TimeDemand(const JudgeContext& context, const CaseWork& work, bool cycles);
/// How much a phase may grow, in points of the base kernel's time.
double PhaseTolerance(const JudgeContext& context, const Demand& demand, double base_share);

/// " (owner ada: sla)": whom to ask about a rule that broke, and why it is there; empty where it says neither.
std::string OwnerOf(const ThresholdRule& rule);
/// The same of the last rule that sets a limit of growth; empty: none does.
std::string OwnerOf(const Demand& demand);

/// Blocks unless its severity says otherwise.
void Block(Comparison& comparison, Severity severity);
/// Time and cycles of one call as one statement: cycles have the last word, because the clock is not the code's.
/// `every_pair`: the candidate's clock was lower in every pair.
void WeighClock(Comparison* time, Comparison* cycles, bool every_pair);

/// "11.8 %", "+11.8 %"; a number as short as it can be said; one line of anything.
std::string Percent(double ratio);
std::string SignedPercent(double ratio);
std::string Number(double value, const std::string& unit = {});
std::string OneLine(const std::string& text, std::size_t most = 160);

}  // namespace fa_profile
