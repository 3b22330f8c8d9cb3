#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/metric_catalogue.h"
#include "paired_test.h"

namespace fa_profile::gate {

/// The state of judging one kernel at one shape.
struct CaseWork {
  const CaseFacts* base = nullptr;       ///< null: the base does not have it
  const CaseFacts* candidate = nullptr;  ///< null: the candidate does not have it
  std::size_t base_index = 0;
  std::size_t candidate_index = 0;
  std::map<std::string, double> base_shares;  ///< median share of each phase
  std::map<std::string, double> candidate_shares;
  bool compare_speed = true;  ///< false: it is wrong, or one side lacks it; counters and times are ignored
  bool same_code = false;     ///< equal machine code and launches, but other counters or other host code
  /// The measured time rules out a slow-down, with the words for it: "14.6 % faster all the same". Metrics that stand
  /// for time then only warn. Empty: it does not.
  std::string not_slower;
  /// Without pairs: measured faster, but within the error term, and what to do. Metrics that stand for time are then
  /// only suspect. Empty: it is not.
  std::string perhaps_faster;
  std::string gap;                       ///< what was not compared; empty: nothing
  std::string note;                      ///< code that changed with the judged code, but was not judged; may be empty
  std::set<std::string> broken_demands;  ///< reasons of the comparisons that break a minimum or maximum
  CaseVerdict verdict;

  std::string Name() const;
  /// The candidate's; the base's if the candidate does not have the case.
  const CaseFacts& Facts() const { return candidate != nullptr ? *candidate : *base; }
};

/// Two processes that ran next to each other.
struct ProcessPair {
  int stage = 1;
  std::size_t base = 0;       ///< index of the process
  std::size_t candidate = 0;  ///< index of the other side's process, or of the control's
  bool throttled = false;     ///< one of them was throttled: the pair is dropped
};

/// The input of all tiers. It does not change once the first case is judged.
struct JudgeContext {
  const GateInput& input;
  const Thresholds& thresholds;
  bool comparable = true;
  std::set<std::string> ruled;            ///< metrics that a rule names
  std::vector<ProcessPair> timing_pairs;  ///< base and candidate
  std::vector<ProcessPair> recording_pairs;
  std::vector<ProcessPair> control_pairs;  ///< timing processes of the base, and of the base measured again
  /// The control's process that ran with each process of the base, timing or recording.
  std::map<std::size_t, std::size_t> beside;

  bool Dynamic() const { return input.design != "static"; }
  bool Paired() const { return input.design == "pairs"; }
  /// There are enough pairs of recordings for the first stage: noisy metrics are tested in pairs.
  bool RecordedInPairs() const;
  /// The demands of the rules on a metric.
  Demand DemandOn(const CaseWork& work, const std::string& phase, const std::string& metric) const;
  /// "ci/thresholds.yaml:12" of the last rule that limits growth; empty: no such rule.
  std::string GrowthRule(const Demand& demand) const;
  std::string Place(const ThresholdRule& rule) const;
};

/// A comparison in stage 1 or 2 of the paired test.
struct PairedTest {
  std::size_t work = 0;  ///< index of the case
  Comparison comparison;
  Demand demand;
  PairedDifferences differences;
  bool logarithmic = true;                     ///< values are logarithms
  bool second = false;                         ///< the comparison shows the second stage
  double better_p = 1.0;                       ///< in the first stage, for "better by at most the limit"
  bool noisy = false;                          ///< the run's own noise is above the tolerance, and replaces it
  int total[2] = {0, 0}, dropped[2] = {0, 0};  ///< pairs of each stage
  int one_sided[2] = {0, 0};                   ///< dropped because only one of the two processes has a value
};

// comparable.cpp
/// Why measurements of the two sides cannot be compared; empty: they can.
std::vector<std::string> Incomparable(const GateInput& input);

// correctness.cpp
/// A wrong candidate is a regression, and its speed is not judged.
void JudgeCorrectness(const JudgeContext& context, CaseWork& work);

// code_tier.cpp
/// Tier 0: properties of the machine code.
void JudgeCode(const JudgeContext& context, CaseWork& work);
/// After JudgeCode() of all cases: LTO-IR that changed although the machine code of no case of its file did.
void JudgeLtoIr(std::vector<CaseWork>& works);

// counter_tier.cpp
/// Tier 1: metrics with the same value in every launch of the same code; and others that a rule limits.
void JudgeCounters(const JudgeContext& context, CaseWork& work);

/// Deterministic counters of the kernel differ, by the limits of JudgeCounters(), in either direction.
bool CountersDiffer(const JudgeContext& context, const CaseWork& work);

// renamed_phases.cpp
/// `input` with phases of the candidate named as in the base: those that only one side has, and whose code has the same
/// instructions by kind. Absent: there are none. Adds a note for each.
std::optional<GateInput> WithRenamedPhases(const GateInput& input, std::vector<std::string>& notes);

// phase_models.cpp
/// Both sides' phases are known to come from different models: a phase of one is different code under the same name.
bool PhaseModelsDiffer(const CaseFacts& base, const CaseFacts& candidate);
/// `input` without the base's values for phases in such cases: the candidate's are then compared with nothing, while
/// minimum and maximum rules still read them. Absent: there are none. Adds a note for each.
std::optional<GateInput> WithoutForeignPhases(const GateInput& input, std::vector<std::string>& notes);

// missing_phases.cpp
/// A phase that had a good part of the base's time has no sample in the candidate, whose code contains it: it was not
/// measured, and is not 0.
bool LostItsSamples(const CaseWork& work, const std::string& phase);

/// Phases of the base that the candidate lacks, or has no sample of.
void JudgeMissingPhases(const JudgeContext& context, CaseWork& work);

// let_time_decide.cpp
/// Code, counters and phases stand for time. If the measured time is not worse, they do not block, unless a rule asks
/// for it. Marks equal machine code as equal.
void LetTimeDecide(CaseWork& work);

// paired_tier.cpp
std::vector<ProcessPair> PairsOf(const Evidence& base, const Evidence& candidate, const std::string& kind);
/// Duration, cycles, phases and metrics limited by rules for one case, in the base and in `other` (candidate or
/// control).
std::vector<PairedTest> PairedTests(const JudgeContext& context, const CaseWork& work, const Evidence& other,
                                    std::size_t other_index, const std::vector<ProcessPair>& timing_pairs,
                                    const std::vector<ProcessPair>& recording_pairs);
/// Tier 2: decides all tests of the run together (Holm) and adds the comparisons to their cases. If the control failed,
/// all of them are inconclusive.
void JudgePairs(const JudgeContext& context, std::vector<PairedTest> tests, const ControlResult* control,
                std::vector<CaseWork>& works);

// slow_processes.cpp
/// Tier 2: whether more processes of the candidate than of the base are slow; `calls`: the test of each case's whole
/// call. Adds a comparison to a case that is suspect, and clears its `not_slower`.
void JudgeSlowProcesses(const JudgeContext& context, const std::vector<const PairedTest*>& calls,
                        const ControlResult* control, std::vector<CaseWork>& works);

// control.cpp
/// The run's own controls: the base against itself, equal code, the frozen kernel. Absent: none was measured.
/// `required`: a time is judged, so a missing control counts as failed.
std::optional<ControlResult> JudgeControl(const JudgeContext& context, const std::vector<CaseWork>& works,
                                          const std::vector<PairedTest>& identical, bool required,
                                          std::vector<std::string>& notes);

// cards.cpp
/// How much more equal code may differ between cards of one model than between runs on one card.
struct CardTerm {
  double growth = 0.0;     ///< share of the base's time; added to tolerance and budget
  double deviation = 0.0;  ///< standard deviation between cards
  std::size_t cards = 1;   ///< cards in the base
};
/// Absent: the candidate ran on a card of the base, or one of the two is unknown.
std::optional<CardTerm> TermBetweenCards(const JudgeContext& context, const CaseWork& work, bool cycles);
/// `input` with only those processes of the base that ran on the candidate's card. Absent: the base has one card, or
/// not that one.
std::optional<GateInput> WithCandidatesCard(const GateInput& input);
/// Which card differs, and how wide that makes the limits; empty: none does.
std::string NoteOnCards(const JudgeContext& context);
/// A case's values by card, without throttled processes.
std::map<std::string, std::vector<double>> SamplesOfCards(const Evidence& evidence, std::size_t case_index,
                                                          const std::string& kind, const MetricKey& key);

// unpaired_tier.cpp
/// Tiers 2 and 3 without pairs: one or a few processes per side.
void JudgeUnpaired(const JudgeContext& context, CaseWork& work);
/// The same for a case of equal code: only a time that is much worse is a comparison.
void JudgeEqualCode(const JudgeContext& context, CaseWork& work);

// demands.cpp
/// Minimum and maximum rules, on the candidate alone.
void JudgeDemands(const JudgeContext& context, CaseWork& work, std::set<const ThresholdRule*>& checked);

// case_story.cpp
/// The case's verdict from its comparisons; then headline, phase, bottlenecks, place and `why`.
void TellCase(const JudgeContext& context, CaseWork& work);

// case_values.cpp
/// A case's values from one kind of process. `throttled`: include throttled processes.
std::vector<double> Samples(const Evidence& evidence, std::size_t case_index, const std::string& kind,
                            const MetricKey& key, bool throttled);
std::optional<double> MedianOf(const std::vector<double>& values);
/// Value of a case in a process; absent: not measured.
std::optional<double> ValueIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const MetricKey& key);
/// A phase's share in a process; 0 if the process has only other phases, because shares add up to 1.
std::optional<double> ShareIn(const Evidence& evidence, std::size_t process, std::size_t case_index,
                              const std::string& phase);
/// Median share of each phase over the recording processes.
std::map<std::string, double> PhaseShares(const Evidence& evidence, std::size_t case_index);
/// Kind of the processes whose durations are judged: "timing" if there are any, else "recording". Both replay the same
/// graph unprofiled, so the two sides may differ in kind.
std::string DurationKind(const Evidence& evidence, std::size_t case_index);
/// Candidate's duration over the base's, in cycles if both have them. Absent: unknown.
std::optional<double> DurationRatio(const JudgeContext& context, const CaseWork& work);
/// Growth of each phase as a share of the base kernel's time.
std::map<std::string, double> PhaseGrowth(const JudgeContext& context, const CaseWork& work);

/// A metric of either catalogue, of tier 0, or kCycles.
struct MetricFacts {
  std::string label;
  std::string unit;
  Polarity polarity = Polarity::kNeutral;
  Stability stability = Stability::kNoisy;
};
MetricFacts FactsOf(const MetricKey& key);
/// Counts, the metrics of these units, add up over phases; shares and means do not.
bool AddsUp(const std::string& unit);

/// A comparison with the metric's unit and, unless the base is 0, the relative change. It passes until it is judged.
Comparison Compared(const MetricKey& key, std::optional<double> base, std::optional<double> candidate);
/// Adds a judged comparison to the case.
void Add(CaseWork& work, Comparison comparison, Verdict verdict, bool blocking, std::string reason);

/// How much worse the candidate may be, as a ratio of the base's time: the larger of relative and absolute tolerance.
/// Excludes the noise of a run, for which PairedTests() makes room. `cycles`: for kCycles, which has the duration's
/// limits unless a rule names it.
double TimeTolerance(const JudgeContext& context, const CaseWork& work, std::optional<double> base_seconds,
                     std::optional<double> base_cycles, bool cycles);
/// Demand on kDuration or kCycles; the duration's if no rule names kCycles.
Demand TimeDemand(const JudgeContext& context, const CaseWork& work, bool cycles);
/// How much a phase may grow, as a share of the base kernel's time.
double PhaseTolerance(const JudgeContext& context, const Demand& demand, double base_share);

/// " (owner ada: sla)": owner and reason of a rule; empty if it gives neither.
std::string OwnerOf(const ThresholdRule& rule);
/// The same for the last rule that limits growth; empty: no such rule.
std::string OwnerOf(const Demand& demand);

/// The limit on growth that applies, the larger of a share of `base` and an amount: "2 %", "8", "1.5 points", and "no
/// change" if both are 0.
std::string Allowed(double relative, double absolute, double base, const std::string& unit);

/// A comparison blocks if its severity is error.
void Block(Comparison& comparison, Severity severity);
/// Reconciles time and cycles of one call. Cycles decide, because the code does not set the clock.
/// `every_pair`: the candidate's clock was lower in every pair.
void WeighClock(Comparison* time, Comparison* cycles, double suspect_level, bool every_pair);

/// A value with the precision that a reader needs to compare it with a limit: "100.25 us", "1,310,720", "31.0 %".
/// `more`: further decimals.
std::string Number(double value, const std::string& unit = {}, int more = 0);
/// "70.55 % -> 70.48 %": with enough decimals to see the change.
std::string FromTo(double base, double candidate, const std::string& unit);
/// SafeLine() with the length allowed for a reason.
std::string OneLine(const std::string& text, std::size_t most = 160);

}  // namespace fa_profile::gate
