#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <tuple>

#include "fa_profile/gate_statistics.h"
#include "fa_profile/units.h"
#include "judge.h"

namespace fa_profile::gate {
namespace {

using ProcessValue = std::function<std::optional<double>(const Evidence&, std::size_t process, std::size_t case_index)>;
/// A value on the scale of the differences, on which more is worse. Absent: it has no place there.
using Scale = std::function<std::optional<double>(double value, bool of_base)>;

std::optional<double> Logarithm(double value, bool /*of_base*/) {
  if (value <= 0.0) return std::nullopt;
  return std::log(value);
}

/// A call is judged slower only if it exceeds this many standard errors of the run's own control.
constexpr double kNoiseErrors = 3.0;
/// A tolerance above this cannot show that a call is not slower.
constexpr double kCoarsestTolerance = 0.05;

struct Arms {
  const Evidence& base;
  std::size_t base_index;
  const Evidence& other;
  std::size_t other_index;
};

/// The base's value measured again, by the control that ran with this process of the base. Absent: there is none, or
/// the other side is the control itself.
std::optional<double> Again(const JudgeContext& context, const Arms& arms, std::size_t process,
                            const ProcessValue& value) {
  const auto beside = context.beside.find(process);
  if (&arms.other != &context.input.candidate || beside == context.beside.end()) return std::nullopt;
  const Evidence& control = *context.input.control;
  const CaseFacts& facts = arms.base.cases[arms.base_index];
  const auto index = FindCase(control, facts.kernel, facts.shape);
  return index ? value(control, beside->second, *index) : std::nullopt;
}

/// One comparison over all pairs with a value on both sides.
PairedTest Collect(const JudgeContext& context, const Arms& arms, const std::vector<ProcessPair>& pairs,
                   const ProcessValue& value, const Scale& scale) {
  PairedTest test;
  std::vector<double> before;
  std::vector<double> after;
  for (const ProcessPair& pair : pairs) {
    const auto base = value(arms.base, pair.base, arms.base_index);
    const auto other = value(arms.other, pair.candidate, arms.other_index);
    if (!base && !other) continue;
    const int stage = pair.stage == 1 ? 0 : 1;
    ++test.total[stage];
    const auto scaled_base = base ? scale(*base, true) : std::nullopt;
    const auto scaled_other = other ? scale(*other, false) : std::nullopt;
    if (pair.throttled || !scaled_base || !scaled_other) {
      ++test.dropped[stage];
      test.one_sided[stage] += pair.throttled ? 0 : 1;
      continue;
    }
    const auto again = Again(context, arms, pair.base, value);
    (stage == 0 ? test.differences.first : test.differences.second)
        .push_back({*scaled_other, *scaled_base, again ? scale(*again, true) : std::nullopt});
    before.push_back(*base);
    after.push_back(*other);
  }
  test.comparison.base = MedianOf(before);
  test.comparison.candidate = MedianOf(after);
  return test;
}

ProcessValue Metric(MetricKey key) {
  return [key = std::move(key)](const Evidence& evidence, std::size_t process, std::size_t index) {
    return ValueIn(evidence, process, index, key);
  };
}

/// Three standard errors of the mean ratio of the base to itself, in the pairs of the first stage. 0: not measured.
double OwnNoise(const JudgeContext& context, const CaseWork& work, const char* metric) {
  constexpr std::size_t kFewest = 5;
  if (!context.input.control) return 0.0;
  const Evidence& control = *context.input.control;
  const auto index = FindCase(control, work.base->kernel, work.base->shape);
  if (!index) return 0.0;
  const Arms arms{context.input.base, work.base_index, control, *index};
  const std::vector<ProcessBlock> pairs =
      Collect(context, arms, context.control_pairs, Metric({"", metric}), Logarithm).differences.first;
  if (pairs.size() < kFewest) return 0.0;
  const std::vector<double> logs = Differences(Winsorized(pairs, 0.0));  // as seen by the test
  const auto count = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double squares = 0.0;
  for (const double log : logs) squares += (log - mean) * (log - mean);
  return std::expm1(kNoiseErrors * std::sqrt(squares / (count - 1.0) / count));
}

void AddTimes(const JudgeContext& context, const CaseWork& work, const Arms& arms,
              const std::vector<ProcessPair>& pairs, std::vector<PairedTest>& tests) {
  const bool of_candidate = &arms.other == &context.input.candidate;  // not for the control itself
  std::optional<double> seconds;
  for (const bool cycles : {false, true}) {
    const char* const metric = cycles ? kCycles : kDuration;
    PairedTest test = Collect(context, arms, pairs, Metric({"", metric}), Logarithm);
    test.comparison.metric = metric;
    test.demand = TimeDemand(context, work, cycles);
    if (!cycles) seconds = test.comparison.base;
    if (test.demand.severity == Severity::kOff || test.total[0] == 0) continue;
    const double tolerance =
        TimeTolerance(context, work, seconds, cycles ? test.comparison.base : std::nullopt, cycles);
    const double noise = of_candidate ? OwnNoise(context, work, metric) : 0.0;
    test.noisy = noise > tolerance;
    test.differences.limit = std::log1p(std::max(tolerance, noise));
    tests.push_back(std::move(test));
  }
}

/// A phase's time on both sides as a share of the base kernel's time, so that a faster phase slows down no other.
void AddPhases(const JudgeContext& context, const CaseWork& work, const Arms& arms,
               const std::vector<ProcessPair>& pairs, double time_ratio, std::vector<PairedTest>& tests) {
  std::set<std::string> phases;
  for (const auto* const shares : {&work.base_shares, &work.candidate_shares}) {
    for (const auto& [phase, share] : *shares) phases.insert(phase);
  }
  for (const std::string& phase : phases) {
    if (LostItsSamples(work, phase)) continue;
    const auto share = [&](const Evidence& evidence, std::size_t process, std::size_t index) {
      return ShareIn(evidence, process, index, phase);
    };
    PairedTest test = Collect(context, arms, pairs, share, [&](double value, bool of_base) {
      return std::optional(of_base ? value : value * time_ratio);
    });
    test.demand = context.DemandOn(work, phase, kPhaseTime);
    if (test.demand.severity == Severity::kOff || !test.comparison.base) continue;
    test.comparison.phase = phase;
    test.comparison.metric = kPhaseTime;
    test.logarithmic = false;
    test.differences.limit = PhaseTolerance(context, test.demand, *test.comparison.base);
    tests.push_back(std::move(test));
  }
}

/// Noisy metrics that a rule limits.
void AddLimited(const JudgeContext& context, const CaseWork& work, const Arms& arms,
                const std::vector<ProcessPair>& pairs, std::vector<PairedTest>& tests) {
  if (context.ruled.empty() || pairs.empty() || !context.RecordedInPairs()) return;
  const auto& values = arms.base.processes[pairs.front().base].values;
  if (arms.base_index >= values.size()) return;
  for (const auto& [key, value] : values[arms.base_index]) {
    if (key.metric == kDuration || key.metric == kCycles || key.metric == kPhaseTime) continue;
    const MetricFacts facts = FactsOf(key);
    const Demand demand = context.DemandOn(work, key.phase, key.metric);
    if (facts.stability != Stability::kNoisy || demand.severity == Severity::kOff) continue;
    if (!demand.relative && !demand.absolute) continue;
    const double sign = facts.polarity == Polarity::kHigherIsBetter ? -1.0 : 1.0;
    PairedTest test =
        Collect(context, arms, pairs, Metric(key), [sign](double one, bool) { return std::optional(sign * one); });
    if (!test.comparison.base) continue;
    test.demand = demand;
    test.comparison.phase = key.phase;
    test.comparison.metric = key.metric;
    test.logarithmic = false;
    test.differences.limit =
        std::max(demand.absolute.value_or(0.0), demand.relative.value_or(0.0) * std::abs(*test.comparison.base));
    tests.push_back(std::move(test));
  }
}

/// From "worse is positive" to the metric's own change: in points for a share, otherwise relative to the base.
double OwnChange(const PairedTest& test, double worse_by) {
  if (test.logarithmic) return std::expm1(worse_by);
  const Comparison& comparison = test.comparison;
  if (comparison.metric == kPhaseTime || !comparison.base || *comparison.base == 0.0) return worse_by;
  const MetricFacts facts = FactsOf({comparison.phase, comparison.metric});
  return (facts.polarity == Polarity::kHigherIsBetter ? -worse_by : worse_by) / std::abs(*comparison.base);
}

/// The blocks that the comparison was last judged by.
std::span<const ProcessBlock> Judged(const PairedTest& test) {
  const std::vector<ProcessBlock>& blocks = test.second ? test.differences.second : test.differences.first;
  return std::span(blocks).first(std::min(blocks.size(), kMostBlocks));
}

void Describe(PairedTest& test, const StageDecision& stage, bool second) {
  test.second = second;
  test.comparison.pairs = stage.pairs;
  test.comparison.p = stage.worse_p;
  test.better_p = stage.better_p;
  test.comparison.change = OwnChange(test, Median(Differences(Judged(test))));
}

/// Adds the interval; with `end_alone` only its upper end, for a change that is worse if it is more.
void AddInterval(PairedTest& test, bool end_alone) {
  if (test.comparison.pairs == 0) return;
  if (end_alone) {
    if (const double high = UpperEnd(Judged(test)); std::isfinite(high)) {
      test.comparison.change_high = OwnChange(test, high);
    }
    return;
  }
  const auto [low, high] = PermutationInterval(Judged(test));
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  std::tie(test.comparison.change_low, test.comparison.change_high) =
      std::minmax({OwnChange(test, low), OwnChange(test, high)});
}

/// Too few pairs are left. A phase with too few pairs does not block: the kernel's time is judged.
bool Inconclusive(const JudgeContext& context, PairedTest& test, int stage, bool enough) {
  Comparison& comparison = test.comparison;
  const int total = test.total[stage];
  const int dropped = test.dropped[stage];
  if (dropped > context.thresholds.most_dropped_pairs * total) {
    const int one_sided = test.one_sided[stage];
    const std::string throttled = fmt::format("the GPU was throttled in {} of {} pairs", dropped - one_sided, total);
    const std::string missing = fmt::format("{} of {} pairs have a value of one side alone", one_sided, total);
    comparison.reason = one_sided == 0 ? throttled : one_sided == dropped ? missing : throttled + "; " + missing;
  } else if (!enough) {
    comparison.reason = fmt::format("{} pairs are too few to reach the level of the test", total - dropped);
  } else {
    return false;
  }
  comparison.verdict = Verdict::kInconclusive;
  if (stage == 0 && comparison.metric == kPhaseTime) comparison.blocking = false;
  return true;
}

/// Judges stage 1. True: suspect.
bool First(const JudgeContext& context, PairedTest& test) {
  Comparison& comparison = test.comparison;
  comparison.tier = 2;
  comparison.unit = FactsOf({comparison.phase, comparison.metric}).unit;
  comparison.rule = context.GrowthRule(test.demand);
  Block(comparison, test.demand.severity);
  const StageDecision stage =
      DecideStage(test.differences.first, test.differences.limit, context.thresholds.suspect_level);
  if (stage.pairs > 0) Describe(test, stage, false);
  if (Inconclusive(context, test, 0, stage.enough)) return false;
  if (stage.better) {
    comparison.verdict = Verdict::kImproved;
    comparison.blocking = test.logarithmic;  // only the whole call's time improves the case
  }
  if (!stage.worse) return false;
  comparison.verdict = Verdict::kSuspect;
  comparison.reason =
      fmt::format("suspect (p {:.2g} in {} pairs): has to be measured again", stage.worse_p, stage.pairs);
  return true;
}

void Second(const JudgeContext& context, PairedTest& test, const Confirmation& confirmation) {
  Comparison& comparison = test.comparison;
  const double first_p = *comparison.p;
  const bool was_suspect = comparison.verdict == Verdict::kSuspect;
  if (confirmation.stage.pairs > 0) Describe(test, confirmation.stage, true);
  comparison.verdict = Verdict::kPass;
  comparison.reason.clear();
  if (test.total[1] == 0) {
    comparison.verdict = Verdict::kInconclusive;
    comparison.reason = fmt::format("worse (p {:.2g}), but unconfirmed: not measured again", first_p);
    return;
  }
  if (Inconclusive(context, test, 1, confirmation.enough)) return;
  comparison.p_adjusted = confirmation.p_adjusted;
  const double limit = test.differences.limit;
  if (confirmation.confirmed) {
    comparison.verdict = Verdict::kRegression;
    const bool points = comparison.metric == kPhaseTime;
    comparison.allowed =
        test.logarithmic ? Percent(std::expm1(limit)) : Allowed(0.0, limit, 0.0, points ? "ratio" : comparison.unit);
    comparison.reason =
        fmt::format("worse by more than {}{} (p {:.2g} in {} new pairs)",
                    test.logarithmic ? Percent(std::expm1(limit)) : Number(limit, points ? "ratio" : comparison.unit),
                    points ? " of the kernel's time" : "", confirmation.p_adjusted, confirmation.stage.pairs);
  } else if (was_suspect) {
    comparison.reason = fmt::format("suspected (p {:.2g}), not confirmed by {} new pairs (p {:.2g})", first_p,
                                    confirmation.stage.pairs, confirmation.p_adjusted);
  }
}

/// The candidate's clock was lower in all pairs.
bool LowerClockInEveryPair(const PairedTest& time, const PairedTest& cycles, bool second) {
  const auto& seconds = second ? time.differences.second : time.differences.first;
  const auto& counts = second ? cycles.differences.second : cycles.differences.first;
  if (seconds.size() != counts.size()) return false;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (WorseBy(seconds[i]) <= WorseBy(counts[i])) return false;
  }
  return true;
}

/// The tests of a case's whole call.
struct CallTests {
  PairedTest* time = nullptr;
  PairedTest* cycles = nullptr;
};

std::vector<CallTests> CallsOf(std::vector<PairedTest>& tests, std::size_t cases) {
  std::vector<CallTests> calls(cases);
  for (PairedTest& test : tests) {
    if (!test.comparison.phase.empty()) continue;
    if (test.comparison.metric == kDuration) calls[test.work].time = &test;
    if (test.comparison.metric == kCycles) calls[test.work].cycles = &test;
  }
  return calls;
}

/// The whole interval is below the tolerance. A wide tolerance shows it only for a call that is faster.
bool IsNotSlower(const PairedTest* test) {
  if (test == nullptr) return true;
  const Comparison& comparison = test->comparison;
  const double tolerance = std::expm1(test->differences.limit);
  if (comparison.verdict > Verdict::kImproved || !comparison.change_high) return false;
  return *comparison.change_high < (tolerance <= kCoarsestTolerance ? tolerance : 0.0);
}

/// "14.6 % faster all the same"; empty: the call may be slower.
std::string NotSlower(const CallTests& call) {
  const PairedTest* const test = call.time != nullptr ? call.time : call.cycles;
  if (test == nullptr || !IsNotSlower(call.time) || !IsNotSlower(call.cycles)) return {};
  const double change = *test->comparison.change;
  const double high = *test->comparison.change_high;
  if (high < 0.0) return fmt::format("{} faster all the same", Percent(-change));
  return fmt::format("not slower: {} (at most {})", SignedPercent(change), SignedPercent(high));
}

}  // namespace

std::vector<ProcessPair> PairsOf(const Evidence& base, const Evidence& candidate, const std::string& kind) {
  std::map<std::pair<int, int>, std::size_t> partners;
  for (std::size_t i = 0; i < candidate.processes.size(); ++i) {
    const ProcessSample& process = candidate.processes[i];
    if (process.kind == kind) partners.try_emplace({process.stage, process.pair}, i);
  }
  std::vector<ProcessPair> pairs;
  for (std::size_t i = 0; i < base.processes.size(); ++i) {
    const ProcessSample& process = base.processes[i];
    if (process.kind != kind || process.pair < 0) continue;
    const auto partner = partners.find({process.stage, process.pair});
    if (partner == partners.end()) continue;
    pairs.push_back(
        {process.stage, i, partner->second, process.throttled || candidate.processes[partner->second].throttled});
    partners.erase(partner);  // a second process with the same number makes no pair
  }
  return pairs;
}

std::vector<PairedTest> PairedTests(const JudgeContext& context, const CaseWork& work, const Evidence& other,
                                    std::size_t other_index, const std::vector<ProcessPair>& timing_pairs,
                                    const std::vector<ProcessPair>& recording_pairs) {
  const Arms arms{context.input.base, work.base_index, other, other_index};
  std::vector<PairedTest> tests;
  AddTimes(context, work, arms, timing_pairs, tests);
  // In cycles if known: a changed clock does not change a phase.
  double time_ratio = 1.0;
  for (const PairedTest& test : tests) {
    std::vector<double> logs = Differences(test.differences.first);
    std::ranges::copy(Differences(test.differences.second), std::back_inserter(logs));
    if (!logs.empty()) time_ratio = std::exp(Median(logs));
  }
  AddPhases(context, work, arms, recording_pairs, time_ratio, tests);
  AddLimited(context, work, arms, recording_pairs, tests);
  return tests;
}

void JudgePairs(const JudgeContext& context, std::vector<PairedTest> tests, const ControlResult* control,
                std::vector<CaseWork>& works) {
  const std::vector<CallTests> calls = CallsOf(tests, works.size());
  std::vector<PairedTest*> suspects;
  for (PairedTest& test : tests) {
    if (First(context, test)) suspects.push_back(&test);
  }
  if (context.input.second_stage) {
    // Time and cycles are one question, and which of them was suspect is chance, so both are tested again.
    for (const CallTests& call : calls) {
      if (call.time == nullptr || call.cycles == nullptr) continue;
      const bool time = call.time->comparison.verdict == Verdict::kSuspect;
      const bool cycles = call.cycles->comparison.verdict == Verdict::kSuspect;
      if (time != cycles) suspects.push_back(time ? call.cycles : call.time);
    }
    std::vector<const PairedDifferences*> differences;
    for (const PairedTest* const test : suspects) differences.push_back(&test->differences);
    const std::vector<Confirmation> confirmations = Confirm(differences, context.thresholds.regression_level);
    for (std::size_t i = 0; i < suspects.size(); ++i) Second(context, *suspects[i], confirmations[i]);
  }
  for (PairedTest& test : tests) {
    const bool decides = test.logarithmic && test.comparison.verdict <= Verdict::kImproved;  // see NotSlower()
    if (decides || context.input.intervals) AddInterval(test, !context.input.intervals);
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    const auto& [time, cycles] = calls[i];
    if (time != nullptr && cycles != nullptr) {
      const bool second = time->comparison.p_adjusted.has_value();
      WeighClock(&time->comparison, &cycles->comparison, context.thresholds.suspect_level,
                 LowerClockInEveryPair(*time, *cycles, second));
    }
    if (control == nullptr || control->passed) works[i].not_slower = NotSlower(calls[i]);
  }
  std::vector<const PairedTest*> deciding;  // cycles if they are known: the code does not set the clock
  for (const CallTests& call : calls) {
    if (const PairedTest* const test = call.cycles != nullptr ? call.cycles : call.time) deciding.push_back(test);
  }
  JudgeSlowProcesses(context, deciding, control, works);
  for (PairedTest& test : tests) {
    Comparison& comparison = test.comparison;
    if (control != nullptr && !control->passed) {
      comparison.verdict = Verdict::kInconclusive;
      comparison.reason = "a control of this run failed or is missing";
    }
    if (test.noisy && comparison.verdict == Verdict::kPass && std::expm1(test.differences.limit) > kCoarsestTolerance) {
      comparison.verdict = Verdict::kInconclusive;
      comparison.reason =
          fmt::format("the run's own noise, {}, is too large to tell", Percent(std::expm1(test.differences.limit)));
    }
    if (test.noisy && comparison.reason.empty()) {
      comparison.reason =
          fmt::format("the tolerance is {}, the run's own noise", Percent(std::expm1(test.differences.limit)));
    }
    if (comparison.verdict == Verdict::kRegression) comparison.reason += OwnerOf(test.demand);
    if (comparison.verdict == Verdict::kImproved) comparison.p = test.better_p;
    works[test.work].verdict.comparisons.push_back(std::move(comparison));
  }
}

}  // namespace fa_profile::gate
