#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_rules_test {
namespace {

/// Processes of one case that took this many microseconds, and the corresponding cycles at 1.8 GHz.
void AddProcesses(Scenario& scenario, Evidence& side, const std::string& kind,
                  const std::vector<double>& microseconds) {
  for (const double us : microseconds) {
    ProcessSample process = scenario.Process(kind, 1, -1);
    process.values[0][{"", kDuration}] = us * 1e-6;
    process.values[0][{"", kCycles}] = us * 1800.0;
    side.processes.push_back(process);
  }
}

/// One recording a side.
Scenario Recorded(double before, double after) {
  Scenario scenario("recordings");
  AddProcesses(scenario, scenario.input.base, "recording", {before});
  AddProcesses(scenario, scenario.input.candidate, "recording", {after});
  return scenario;
}

/// A baseline of ten processes whose median is 100 us, and one process. The deviations' median is `spread`
/// microseconds.
Scenario Baseline(double after, double spread, bool promoted = false) {
  Scenario scenario("baseline");
  std::vector<double> before;
  for (int i = 0; i < 5; ++i) {
    before.push_back(100.0 - spread);
    before.push_back(100.0 + spread);
  }
  AddProcesses(scenario, scenario.input.base, "timing", before);
  AddProcesses(scenario, scenario.input.candidate, "timing", {after});
  scenario.input.base_is_promoted = promoted;
  return scenario;
}

// Without pairs.

TEST(JudgeRulesTest, OneProcessPerSideDetectsOnlyLargeDifferences) {
  EXPECT_EQ(Recorded(100, 101.9).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Recorded(100, 102.1).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(Recorded(100, 105.3).Judged().verdict, Verdict::kSuspect);  // over the budget, not over the noise: 5.35 %
  EXPECT_EQ(Recorded(100, 105.4).Judged().verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(Recorded(100, 103).Judged().headline, "perhaps 3.0 % slower"));
  EXPECT_TRUE(Has(Find(Recorded(100, 103).Of(), kDuration).reason, "run gate --pair"));
  EXPECT_TRUE(Recorded(100, 103).Judged().suspects.empty());  // nothing here measures again
  EXPECT_EQ(Recorded(100, 94.7).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Recorded(100, 94.6).Judged().verdict, Verdict::kImproved);
}

TEST(JudgeRulesTest, EightProcessesOfTheBaseAreTheirOwnErrorTerm) {
  // No spread at all: its floor of 0.3 %, six times, is below the budget.
  EXPECT_EQ(Baseline(104.9, 0.0).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(Baseline(105.1, 0.0).Judged().verdict, Verdict::kRegression);
  // A spread of 0.7 us is six sigmas of 6.2 %.
  EXPECT_EQ(Baseline(106.1, 0.7).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(Baseline(106.3, 0.7).Judged().verdict, Verdict::kRegression);
  Scenario seven = Baseline(105.1, 0.0);
  seven.input.base.processes.resize(7);
  EXPECT_EQ(seven.Judged().verdict, Verdict::kSuspect);
  Scenario eight = Baseline(105.1, 0.0);
  eight.input.base.processes.resize(8);
  EXPECT_EQ(eight.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeRulesTest, TheSpreadHasALowerLimit) {
  const auto with = [](double budget, double after) {
    Scenario scenario = Baseline(after, 0.0);
    scenario.thresholds.budget = budget;
    scenario.thresholds.duration.relative = 0.005;
    return scenario.Judged().verdict;
  };
  EXPECT_EQ(with(0.01, 101.7), Verdict::kSuspect);
  EXPECT_EQ(with(0.01, 101.9), Verdict::kRegression);
  EXPECT_EQ(with(0.03, 101.9), Verdict::kSuspect);
}

TEST(JudgeRulesTest, DriftFromAPromotedBaselineIsLimitedByABudget) {
  EXPECT_EQ(Baseline(104.9, 0.1, true).Judged().verdict, Verdict::kPass);
  EXPECT_TRUE(Has(Find(Baseline(104.9, 0.1, true).Of(), kDuration).reason, "drifted, within the budget of 5.0 %"));
  const CaseVerdict over = Baseline(105.1, 0.1, true).Of();
  EXPECT_EQ(over.verdict, Verdict::kRegression);
  EXPECT_EQ(Find(over, kDuration).tier, 3);
  EXPECT_TRUE(Has(Find(over, kDuration).reason, "drifted over the budget of 5.0 %"));
  EXPECT_EQ(Baseline(106.0, 0.7, true).Judged().verdict, Verdict::kSuspect);  // over it, and within the noise
}

TEST(JudgeRulesTest, AToleranceAboveTheBudgetReplacesIt) {
  Scenario scenario = Recorded(100, 109);
  ThresholdRule rule;
  rule.metric = kDuration;
  rule.relative = 0.10;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.thresholds.rules[0].relative = 0.08;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  scenario.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgeRulesTest, EachSideUsesItsTimingProcessesWhenItHasThem) {
  Scenario scenario = Recorded(100, 100);
  AddProcesses(scenario, scenario.input.base, "timing", {100});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  AddProcesses(scenario, scenario.input.candidate, "timing", {110});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeRulesTest, ABaselineOfTimingProcessesIsComparedWithARecording) {
  const auto with = [](double after) {
    Scenario scenario("baseline");
    scenario.input.base_is_promoted = true;
    AddProcesses(scenario, scenario.input.base, "timing", std::vector<double>(20, 100.0));
    AddProcesses(scenario, scenario.input.candidate, "recording", {after});
    return scenario;
  };
  EXPECT_EQ(with(150.0).Judged().verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(with(150.0).Judged().headline, "50.0 % slower")) << with(150.0).Judged().headline;
  EXPECT_EQ(with(100.5).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Find(with(100.5).Of(), kDuration).verdict, Verdict::kPass);
  EXPECT_NEAR(*Find(with(100.5).Of(), kDuration).change, 0.005, 1e-9);
}

TEST(JudgeRulesTest, CyclesDecideWithoutPairsToo) {
  Scenario hidden = Recorded(100, 100);
  hidden.input.candidate.processes[0].values[0][{"", kCycles}] *= 1.08;
  EXPECT_EQ(hidden.Judged().verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(hidden.Of().headline, "hidden by a higher clock")) << hidden.Of().headline;
  Scenario slow_clock = Recorded(100, 108);
  slow_clock.input.candidate.processes[0].values[0][{"", kCycles}] /= 1.08;
  EXPECT_EQ(slow_clock.Judged().verdict, Verdict::kInconclusive);
}

TEST(JudgeRulesTest, AThrottledProcessIsIgnored) {
  Scenario scenario = Recorded(100, 100);
  scenario.input.candidate.processes[0].throttled = true;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  AddProcesses(scenario, scenario.input.candidate, "recording", {100});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgeRulesTest, PhasesAreComparedInPointsOfTheBasesTime) {
  const auto with = [](double softmax, double time) {
    Scenario scenario = Recorded(100, 100 * time);
    scenario.input.base.processes[0].values[0][{"softmax", kPhaseTime}] = 0.20;
    scenario.input.base.processes[0].values[0][{"qk", kPhaseTime}] = 0.80;
    scenario.input.candidate.processes[0].values[0][{"softmax", kPhaseTime}] = softmax;
    scenario.input.candidate.processes[0].values[0][{"qk", kPhaseTime}] = 1.0 - softmax;
    return scenario.Of();
  };
  EXPECT_EQ(with(0.214, 1.0).verdict, Verdict::kPass);
  EXPECT_EQ(with(0.216, 1.0).verdict, Verdict::kSuspect);
  EXPECT_EQ(with(0.253, 1.0).verdict, Verdict::kSuspect);
  EXPECT_EQ(with(0.254, 1.0).verdict, Verdict::kRegression);
  EXPECT_EQ(with(0.254, 1.0).phase, "softmax");
  EXPECT_EQ(with(0.254, 0.8).verdict, Verdict::kImproved);  // 20.3 points of the base's time
}

// Minimum and maximum.

Scenario WithTensorUse(double before, double after) {
  Scenario scenario = Recorded(100, 100);
  scenario.input.base.processes[0].values[0][{"", "tensor_core_utilization_ratio"}] = before;
  scenario.input.candidate.processes[0].values[0][{"", "tensor_core_utilization_ratio"}] = after;
  ThresholdRule rule;
  rule.kernel = "mma";
  rule.metric = "tensor_core_utilization_ratio";
  rule.minimum = 0.35;
  rule.line = 12;
  scenario.thresholds.file = "ci/thresholds.yaml";
  scenario.thresholds.rules = {rule};
  return scenario;
}

TEST(JudgeRulesTest, AMinimumIsEnforced) {
  EXPECT_EQ(WithTensorUse(0.40, 0.35).Judged().verdict, Verdict::kPass);
  const CaseVerdict broken = WithTensorUse(0.40, 0.321).Of();
  EXPECT_EQ(broken.verdict, Verdict::kRegression);
  EXPECT_EQ(broken.headline, "tensor pipe active 32.1 % is below the minimum of 35.0 % (ci/thresholds.yaml:12)");
  EXPECT_EQ(broken.comparisons[0].rule, "ci/thresholds.yaml:12");
  Scenario warning = WithTensorUse(0.40, 0.321);
  warning.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_EQ(warning.Judged().verdict, Verdict::kPass);
  warning.thresholds.rules[0].severity = Severity::kOff;
  EXPECT_EQ(Find(warning.Of(), "tensor_core_utilization_ratio").metric, "");
}

TEST(JudgeRulesTest, TheHeadlineNamesABrokenMaximumOfUnchangedCode) {
  ThresholdRule rule;
  rule.kernel = "mma";
  rule.metric = kPhaseTime;
  rule.phase = "pv";
  rule.maximum = 0.40;
  rule.line = 9;
  rule.owner = "ada";
  rule.reason = "sla";
  Scenario scenario = Recorded(100, 100);
  scenario.thresholds.file = "t.yaml";
  scenario.thresholds.rules = {rule};
  for (Evidence* const side : {&scenario.input.base, &scenario.input.candidate}) {
    side->processes[0].values[0][{"pv", kPhaseTime}] = 0.425;
    side->processes[0].values[0][{"qk", kPhaseTime}] = 0.575;
  }
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_TRUE(verdict.headline.starts_with("pv: ")) << verdict.headline;
  EXPECT_TRUE(Has(verdict.headline, " 42.5 % is above the maximum of 40.0 %")) << verdict.headline;
  EXPECT_TRUE(Has(verdict.headline, " (owner ada: sla) (t.yaml:9)")) << verdict.headline;
  EXPECT_FALSE(Has(verdict.headline, "42.5 -> 42.5")) << verdict.headline;
  EXPECT_TRUE(HasLine(verdict.why, "above the maximum of 40.0 %"));
  // A duration above its limit is not a slowdown.
  scenario.thresholds.rules[0] = ThresholdRule();
  scenario.thresholds.rules[0].metric = kDuration;
  scenario.thresholds.rules[0].maximum = 90e-6;
  EXPECT_TRUE(Has(scenario.Of().headline, "100.00 us is above the maximum of 90.00 us")) << scenario.Of().headline;
  EXPECT_FALSE(Has(scenario.Of().headline, "slower"));
  scenario.thresholds.rules[0].maximum = 110e-6;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeRulesTest, AMinimumIsEnforcedWhenTheBaseBrokeItToo) {
  EXPECT_TRUE(Has(WithTensorUse(0.31, 0.321).Of().headline, "; so was the base: 31.0 %"));
  EXPECT_EQ(WithTensorUse(0.31, 0.321).Judged().verdict, Verdict::kRegression);
}

TEST(JudgeRulesTest, AMaximumAppliesToCodeToTheSlowestPhaseAndToNewCases) {
  Scenario scenario("static");
  ThresholdRule rule;
  rule.metric = "spill_bytes";
  rule.maximum = 0;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.MakeIdentical();
  scenario.Base().code[0].spill_bytes = 8;
  scenario.Code().spill_bytes = 8;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);  // identical, and over the maximum all the same
  EXPECT_TRUE(scenario.Of().identical);
  scenario.input.base.cases.clear();
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  Scenario phase = Recorded(100, 100);
  for (Evidence* const side : {&phase.input.base, &phase.input.candidate}) {
    side->processes[0].values[0][{"softmax", kPhaseTime}] = 0.46;
  }
  rule.metric = kPhaseTime;
  rule.phase = "soft*";
  rule.maximum = 0.45;
  phase.thresholds.rules = {rule};
  EXPECT_EQ(phase.Judged().verdict, Verdict::kRegression);
  phase.thresholds.rules[0].maximum = 0.47;
  EXPECT_EQ(phase.Judged().verdict, Verdict::kPass);
}

TEST(JudgeRulesTest, CountsOfCodeAddUpOverFunctions) {
  Scenario scenario("static");
  scenario.Base().code.push_back(scenario.Base().code[0]);
  scenario.Base().code[1].name = "combine";
  scenario.Candidate().code.push_back(scenario.Code());
  scenario.Candidate().code[1].name = "combine";
  ThresholdRule rule;
  rule.metric = "static_tensor_instructions";
  rule.minimum = 64;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.thresholds.rules[0].minimum = 65;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  // Blocks on an SM: the function with fewest.
  scenario.thresholds.rules[0].metric = "blocks_per_sm";
  scenario.thresholds.rules[0].minimum = 4;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.Base().code[1].blocks_per_sm = scenario.Candidate().code[1].blocks_per_sm = 3;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeRulesTest, NumbersOfAnIncorrectKernelAreNotJudged) {
  Scenario scenario = WithTensorUse(0.40, 0.1);
  scenario.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(scenario.Of().comparisons.size(), 1u);
}

TEST(JudgeRulesTest, ADemandOnAnUnmeasuredMetricIsAnErrorOfTheRule) {
  Scenario scenario = WithTensorUse(0.40, 0.40);
  EXPECT_TRUE(scenario.Judged().notes.empty());
  scenario.input.candidate.processes[0].values[0].erase({"", "tensor_core_utilization_ratio"});
  const std::string message =
      "ci/thresholds.yaml:12: not checked, because tensor_core_utilization_ratio of mma was not measured";
  try {
    (void)scenario.Judged();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), message);
  }
  // A run of pairs that was saved before it measured what rules name.
  scenario.input.design = "pairs";
  EXPECT_TRUE(HasLine(scenario.Judged().notes, message));
  EXPECT_FALSE(scenario.Judged().complete);  // exit code 3 with --strict
  scenario.input.partial = true;
  EXPECT_TRUE(scenario.Judged().complete) << "a part of the ladder";
  scenario.input.partial = false;
  // A warning blocks nothing, and what is wrong has no counters.
  scenario.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_TRUE(HasLine(scenario.Judged().notes, message));
  scenario.thresholds.rules[0].severity = Severity::kError;
  scenario.Candidate().verification->draws_passed = 0;
  EXPECT_TRUE(HasLine(scenario.Judged().notes, message));
}

TEST(JudgeRulesTest, ARuleThatMatchesNothingIsAnError) {
  Scenario scenario = WithTensorUse(0.40, 0.40);
  scenario.thresholds.rules[0].kernel = "nma";
  EXPECT_THROW(scenario.Judged(), Error);
}

TEST(JudgeRulesTest, ARuleForAShapeIsAcceptedForAStaticGate) {
  Scenario scenario("static");
  ThresholdRule rule;
  rule.shape = "1,8,512,64";
  rule.metric = kDuration;
  rule.relative = 0.1;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

// The whole.

TEST(JudgeRulesTest, TheWorstCaseDecidesTheVerdictAndComesFirst) {
  Scenario scenario;
  scenario.AddCase("wmma");
  scenario.AddCase("tiled");
  scenario.AddCase("scalar");
  scenario.Time(8, {{0.8}, {1.1}, {1.2}, {}});
  scenario.Time(14, {{0.8}, {1.1}, {1.2}, {}}, 2);
  scenario.input.second_stage = true;
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  ASSERT_EQ(result.cases.size(), 4u);
  EXPECT_EQ(result.cases[0].kernel, "tiled");
  EXPECT_EQ(result.cases[1].kernel, "wmma");
  EXPECT_EQ(result.cases[2].verdict, Verdict::kImproved);
  EXPECT_EQ(result.cases[3].verdict, Verdict::kPass);
  EXPECT_TRUE(Has(result.headline, "REGRESSION: tiled 1,8,512,64: ")) << result.headline;
  EXPECT_TRUE(Has(result.headline, " slower (worst of 2 cases)")) << result.headline;
  EXPECT_EQ(result.cases[0].comparisons[0].verdict, Verdict::kRegression);
}

TEST(JudgeRulesTest, NothingToJudgeIsInconclusive) {
  Scenario scenario;
  scenario.input.base.cases.clear();
  scenario.input.candidate.cases.clear();
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
}

TEST(JudgeRulesTest, LossesAndToolVersionsAreNotes) {
  Scenario scenario = Recorded(100, 100);
  scenario.input.base.losses = {"phases were not sampled"};
  scenario.input.base.environment.tool_version = "1.0";
  scenario.input.candidate.environment.tool_version = "1.1";
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_TRUE(HasLine(result.notes, "base: phases were not sampled"));
  EXPECT_TRUE(HasLine(result.notes, "two versions of the tool, 1.0 and 1.1"));
}

TEST(JudgeRulesTest, MeasuredTextIsReducedToOneLine) {
  Scenario scenario("static");
  scenario.Candidate().compiler_warnings = {"wmma on local memory\n::error::injected\r\x1b[31m"};
  for (const CaseVerdict& one : scenario.Judged().cases) {
    for (const Comparison& comparison : one.comparisons) {
      EXPECT_TRUE(std::ranges::none_of(comparison.reason, [](char c) { return c >= 0 && c < 0x20; }));
    }
    EXPECT_FALSE(Has(one.headline, "\n"));
  }
}

TEST(JudgeRulesTest, TheSameInputGivesTheSameResult) {
  Scenario scenario = WithTensorUse(0.4, 0.3);
  const GateResult a = scenario.Judged();
  const GateResult b = scenario.Judged();
  EXPECT_EQ(a.headline, b.headline);
  ASSERT_EQ(a.cases[0].comparisons.size(), b.cases[0].comparisons.size());
  for (std::size_t i = 0; i < a.cases[0].comparisons.size(); ++i) {
    EXPECT_EQ(a.cases[0].comparisons[i].reason, b.cases[0].comparisons[i].reason);
  }
}

TEST(JudgeRulesTest, EveryVerdictHasItsExitCode) {
  const std::vector<std::tuple<Verdict, int, int>> codes = {
      {Verdict::kPass, 0, 0},       {Verdict::kImproved, 0, 0},     {Verdict::kMissing, 0, 3},
      {Verdict::kSuspect, 0, 3},    {Verdict::kInconclusive, 0, 3}, {Verdict::kIncomparable, 0, 3},
      {Verdict::kRegression, 1, 1},
  };
  for (const auto& [verdict, usual, strict] : codes) {
    GateResult result;
    result.verdict = verdict;
    EXPECT_EQ(ExitCode(result, false), usual) << ToString(verdict);
    EXPECT_EQ(ExitCode(result, true), strict) << ToString(verdict);
  }
}

TEST(JudgeRulesTest, VerdictsHaveNames) {
  EXPECT_EQ(ToString(Verdict::kPass), "PASS");
  EXPECT_EQ(ToString(Verdict::kImproved), "IMPROVED");
  EXPECT_EQ(ToString(Verdict::kMissing), "MISSING");
  EXPECT_EQ(ToString(Verdict::kSuspect), "SUSPECT");
  EXPECT_EQ(ToString(Verdict::kInconclusive), "INCONCLUSIVE");
  EXPECT_EQ(ToString(Verdict::kIncomparable), "INCOMPARABLE");
  EXPECT_EQ(ToString(Verdict::kRegression), "REGRESSION");
}

}  // namespace
}  // namespace fa_profile::gate::judge_rules_test
