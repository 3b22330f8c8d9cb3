#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_paired_test {
namespace {

ThresholdRule Rule(const std::string& metric) {
  ThresholdRule rule;
  rule.metric = metric;
  rule.line = 7;
  return rule;
}

// The two stages.

TEST(JudgePairedTest, ThreeAndFivePercentSlowerAreRegressions) {
  for (const double slower : {1.03, 1.05}) {
    EXPECT_EQ(FirstStage({slower}).Judged().verdict, Verdict::kSuspect) << slower;
    const GateResult result = Measured({slower}).Judged();
    EXPECT_EQ(result.verdict, Verdict::kRegression) << slower;
    const Comparison time = Find(result.cases[0], kDuration);
    EXPECT_EQ(time.verdict, Verdict::kRegression);
    EXPECT_EQ(time.pairs, 14);
    EXPECT_NEAR(*time.change, slower - 1.0, 0.004);
    EXPECT_LT(*time.change_low, slower - 1.0);
    EXPECT_GT(*time.change_high, slower - 1.0);
    EXPECT_LE(*time.p_adjusted, 0.01);
    EXPECT_GE(*time.p_adjusted, *time.p);
    EXPECT_TRUE(result.suspects.empty());
  }
  const std::string headline = Measured({1.05}).Judged().headline;
  EXPECT_TRUE(Has(headline, "REGRESSION: mma 1,8,512,64: 5.1 % slower")) << headline;
}

TEST(JudgePairedTest, ASlowdownWithinTheToleranceIsAPass) {
  EXPECT_EQ(FirstStage({1.015}).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(FirstStage({1.0}).Judged().verdict, Verdict::kPass);
  // The same slowdown is over a tolerance of 1 %.
  Scenario strict = Measured({1.015});
  strict.thresholds.duration.relative = 0.01;
  EXPECT_EQ(strict.Judged().verdict, Verdict::kRegression);
}

TEST(JudgePairedTest, AChangeSignificantAtTheFirstStageIsSuspect) {
  // Four pairs of five are 5 % slower and one is 0.5 % faster: two of 32 choices of signs give as much.
  Scenario scenario = FirstStage({1.0}, 5);
  for (std::size_t i = 0; i < 5; ++i) {
    for (const auto& [key, value] : scenario.input.base.processes[i].values[0]) {
      scenario.input.candidate.processes[i].values[0][key] = value * (i < 4 ? 1.05 : 0.995);
    }
  }
  EXPECT_NEAR(*Find(scenario.Of(), kDuration).p, 2.0 / 32, 1e-12);
  scenario.thresholds.suspect_level = 0.062;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.thresholds.suspect_level = 0.063;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kSuspect);
}

TEST(JudgePairedTest, ATimeThatOneSideLacksIsNotDroppedWithoutAWord) {
  Scenario scenario = FirstStage({1.0});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  int left_out = 0;
  for (ProcessSample& process : scenario.input.candidate.processes) {
    if (process.kind != "timing" || left_out == 2) continue;
    left_out += static_cast<int>(process.values[0].erase({"", kDuration}));
  }
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass) << "2 of 8 are the limit";
  for (ProcessSample& process : scenario.input.candidate.processes) {
    if (process.kind != "timing" || left_out == 3) continue;
    left_out += static_cast<int>(process.values[0].erase({"", kDuration}));
  }
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Has(Find(scenario.Of(), kDuration).reason, "3 of 8 pairs have a value of one side alone"))
      << Find(scenario.Of(), kDuration).reason;
}

TEST(JudgePairedTest, ASuspectIsNamedToBeMeasuredAgain) {
  Scenario scenario;
  scenario.AddCase("wmma");
  scenario.Time(8, {{}, {1.05}});
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.suspects, std::vector<std::string>{"wmma 1,8,512,64"});
  EXPECT_EQ(result.cases[0].kernel, "wmma");
  EXPECT_EQ(result.cases[0].verdict, Verdict::kSuspect);
  EXPECT_TRUE(Has(result.cases[0].headline, "perhaps 5.")) << result.cases[0].headline;
  EXPECT_EQ(result.cases[1].verdict, Verdict::kPass);
}

TEST(JudgePairedTest, ASuspicionThatIsNotConfirmedPassesWithANote) {
  Scenario scenario;
  scenario.Time(8, {{1.04}});
  scenario.Time(14, {{1.0}}, 2);
  scenario.input.second_stage = true;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_TRUE(Has(Find(scenario.Of(), kDuration).reason, "suspected (p 0.0039), not confirmed by 14 new pairs"));
}

TEST(JudgePairedTest, TheSecondStageUsesOnlyItsOwnPairs) {
  Scenario scenario;
  scenario.Time(8, {{1.30}});
  scenario.Time(14, {{1.021}}, 2, 0.02);
  scenario.input.second_stage = true;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgePairedTest, ASuspectThatWasNotMeasuredAgainIsInconclusive) {
  Scenario scenario = FirstStage({1.05});
  scenario.input.second_stage = true;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Has(Find(scenario.Of(), kDuration).reason, "worse (p "));
  EXPECT_TRUE(Has(Find(scenario.Of(), kDuration).reason, "unconfirmed: not measured again"));
}

TEST(JudgePairedTest, FewerThanFourPairsAreInconclusive) {
  EXPECT_EQ(FirstStage({1.0}, 3).Judged().verdict, Verdict::kInconclusive);
  EXPECT_EQ(FirstStage({1.5}, 3).Judged().verdict, Verdict::kInconclusive);
  EXPECT_EQ(FirstStage({1.0}, 4).Judged().verdict, Verdict::kPass);
  EXPECT_EQ(FirstStage({1.5}, 4).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(FirstStage({1.0}, 0).Judged().verdict, Verdict::kInconclusive);
  EXPECT_EQ(FirstStage({1.0}, 0).Judged().headline, "INCONCLUSIVE: mma 1,8,512,64: not timed in any pair of processes");
}

TEST(JudgePairedTest, TheSecondStageNeedsPairsForItsLevel) {
  const auto with = [](int pairs, double level) {
    Scenario scenario;
    scenario.Time(8, {{1.5}});
    scenario.Time(pairs, {{1.5}}, 2);
    scenario.input.second_stage = true;
    scenario.thresholds.regression_level = level;
    return scenario.Judged().verdict;
  };
  EXPECT_EQ(with(7, 0.01), Verdict::kRegression);    // 1/128
  EXPECT_EQ(with(6, 0.01), Verdict::kInconclusive);  // 1/64
  EXPECT_EQ(with(6, 0.02), Verdict::kRegression);
}

TEST(JudgePairedTest, MoreSuspectsNeedMoreEvidence) {
  // One of ten new pairs is not over the limit, by little: two of 1024 choices of signs give as much. That is enough
  // for one kernel, not for one of eight suspects when the others are not confirmed (Holm).
  const auto first = [](std::size_t kernels) {
    Scenario scenario;
    for (std::size_t i = 1; i < kernels; ++i) scenario.AddCase(std::string("k").append(std::to_string(i)));
    std::vector<Effect> effects(kernels, {1.05});
    scenario.Time(8, effects);
    std::fill(effects.begin() + 1, effects.end(), Effect{});
    scenario.Time(10, effects, 2);
    scenario.input.second_stage = true;
    for (const char* const metric : {kDuration, kCycles}) {
      const double base = scenario.input.base.processes.back().values[0][{"", metric}];
      scenario.input.candidate.processes.back().values[0][{"", metric}] = base * 1.01;
    }
    return scenario.Of();
  };
  EXPECT_NEAR(*Find(first(1), kDuration).p, 2.0 / 1024, 1e-12);
  EXPECT_NEAR(*Find(first(1), kDuration).p_adjusted, 4.0 / 1024, 1e-12);
  EXPECT_EQ(first(1).verdict, Verdict::kRegression);
  EXPECT_NEAR(*Find(first(8), kDuration).p_adjusted, 20.0 / 1024, 1e-12);  // not 32: ten pairs can show ten
  EXPECT_EQ(first(8).verdict, Verdict::kPass);
}

TEST(JudgePairedTest, ALargeSlowdownOfManyCasesIsConfirmed) {
  // 41 cases with time, cycles and two phases: 164 suspects, more than 14 pairs could distinguish from chance at 1 %.
  const auto run = [](double slower, int pairs) {
    Scenario scenario;
    for (int i = 1; i < 41; ++i) scenario.AddCase(std::string("k").append(std::to_string(i)));
    for (const int stage : {1, 2}) {
      const int count = stage == 1 ? 8 : pairs;
      scenario.Time(count, std::vector<Effect>(41, {slower}), stage);
      scenario.Record(count, {}, {}, stage);
      for (Evidence* const side : {&scenario.input.base, &scenario.input.candidate}) {
        for (ProcessSample& process : side->processes) {
          if (process.kind != "recording") continue;
          for (auto& values : process.values) values = {{{"qk", kPhaseTime}, 0.5}, {{"softmax", kPhaseTime}, 0.5}};
        }
      }
    }
    scenario.input.second_stage = true;
    return scenario.Judged();
  };
  const GateResult result = run(1.1, 14);
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  for (const CaseVerdict& one : result.cases) {
    EXPECT_EQ(one.verdict, Verdict::kRegression) << one.kernel;
    for (const Comparison& comparison : one.comparisons) {
      EXPECT_EQ(comparison.verdict, Verdict::kRegression) << comparison.metric;
      EXPECT_LE(*comparison.p_adjusted, 0.01);
    }
  }
  EXPECT_EQ(run(1.1, 6).verdict, Verdict::kInconclusive);  // 1/64: no correction at all would do
  EXPECT_EQ(run(1.0, 14).verdict, Verdict::kPass);
}

TEST(JudgePairedTest, AFasterKernelIsAnImprovement) {
  const GateResult result = FirstStage({0.9}).Judged();
  EXPECT_EQ(result.verdict, Verdict::kImproved);
  EXPECT_TRUE(Has(result.headline, "faster")) << result.headline;
  EXPECT_EQ(ExitCode(result, true), 0);
  EXPECT_EQ(FirstStage({0.985}).Judged().verdict, Verdict::kPass);   // within the tolerance
  EXPECT_EQ(FirstStage({0.9}, 6).Judged().verdict, Verdict::kPass);  // 1/64 is more than 1 %
  EXPECT_EQ(FirstStage({0.9}, 7).Judged().verdict, Verdict::kImproved);
}

TEST(JudgePairedTest, ADriftThatBothArmsShareIsNoDifference) {
  Scenario scenario = FirstStage({1.0});
  for (Evidence* const side : {&scenario.input.base, &scenario.input.candidate}) {
    double drift = 1.0;
    for (ProcessSample& process : side->processes) {
      for (auto& [key, value] : process.values[0]) value *= drift;
      drift *= 1.1;
    }
  }
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

// Short calls, rules.

TEST(JudgePairedTest, ATenthOfAMicrosecondIsTheLeastTolerance) {
  EXPECT_EQ(FirstStage({1.04, 0.0, 10.2e-6}).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(FirstStage({1.04, 0.0, 5.7e-6}).Judged().verdict, Verdict::kSuspect);
  EXPECT_EQ(FirstStage({1.04, 0.0, 2e-6}).Judged().verdict, Verdict::kPass);  // 0.08 us
  EXPECT_EQ(FirstStage({1.07, 0.0, 2e-6}).Judged().verdict, Verdict::kSuspect);
}

TEST(JudgePairedTest, ARuleReplacesTheToleranceOfTimeAndCycles) {
  Scenario scenario = Measured({1.08});
  scenario.thresholds.rules = {Rule(kDuration)};
  scenario.thresholds.file = "t.yaml";
  scenario.thresholds.rules[0].relative = 0.10;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.thresholds.rules[0].relative = 0.06;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  EXPECT_EQ(Find(scenario.Of(), kDuration).rule, "t.yaml:7");
  EXPECT_EQ(Find(scenario.Of(), kCycles).rule, "t.yaml:7");
  scenario.thresholds.rules[0].absolute = 9e-6;  // 100 us: 9 %
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  // A rule for cycles applies only to them, in cycles.
  scenario.thresholds.rules = {Rule(kCycles)};
  scenario.thresholds.rules[0].absolute = 9e-6 * 1.8e9;
  EXPECT_EQ(Find(scenario.Of(), kCycles).verdict, Verdict::kPass);
  scenario.thresholds.rules[0].absolute = 7e-6 * 1.8e9;
  EXPECT_EQ(Find(scenario.Of(), kCycles).verdict, Verdict::kRegression);
}

TEST(JudgePairedTest, SeverityDecidesWhatBlocks) {
  Scenario scenario = Measured({1.08});
  scenario.thresholds.rules = {Rule(kDuration)};
  scenario.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Find(scenario.Of(), kDuration).verdict, Verdict::kRegression);
  scenario.thresholds.rules[0].severity = Severity::kOff;
  EXPECT_EQ(Find(scenario.Of(), kDuration).metric, "");
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgePairedTest, AnExpiredExceptionIsIgnoredAndReported) {
  Scenario scenario = Measured({1.08});
  scenario.thresholds.rules = {Rule(kDuration)};
  scenario.thresholds.file = "t.yaml";
  scenario.thresholds.rules[0].relative = 0.10;
  scenario.thresholds.rules[0].exception = true;
  scenario.thresholds.rules[0].owner = "ada";
  scenario.thresholds.rules[0].expires = "2026-11-21";  // its last day
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_FALSE(HasLine(scenario.Judged().notes, "ended"));
  scenario.thresholds.rules[0].expires = "2026-11-20";
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
  EXPECT_TRUE(HasLine(scenario.Judged().notes,
                      "t.yaml:7: the exception for duration_seconds of * expired on 2026-11-20 (ada)"));
}

// The clock.

TEST(JudgePairedTest, ASlowdownHiddenByAFasterClockIsARegression) {
  const CaseVerdict verdict = Measured({1.0, 1.06}).Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_EQ(Find(verdict, kDuration).verdict, Verdict::kPass);
  EXPECT_EQ(Find(verdict, kCycles).verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(verdict.headline, "more cycles, hidden by a higher clock: +")) << verdict.headline;
}

TEST(JudgePairedTest, ALowerClockAloneIsInconclusive) {
  Scenario scenario = Measured({1.06, 1.0});
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_EQ(Find(verdict, kDuration).verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Has(verdict.headline, "lower in every pair: its code may be the cause")) << verdict.headline;
  // In one pair of the second stage the clock was not lower.
  for (ProcessSample& process : scenario.input.candidate.processes) {
    if (process.stage == 2) {
      process.values[0][{"", kCycles}] *= 1.07;
      break;
    }
  }
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  EXPECT_FALSE(Has(scenario.Of().headline, "in every pair"));
}

TEST(JudgePairedTest, TimeAndCyclesAreMeasuredAgainTogether) {
  // In the first stage a lower clock hid that there are more cycles, too.
  Scenario scenario;
  scenario.Time(8, {{1.06, 1.0}});
  scenario.Time(14, {{1.06, 1.06}}, 2);
  scenario.input.second_stage = true;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(Find(scenario.Of(), kCycles).verdict, Verdict::kRegression);
}

TEST(JudgePairedTest, ProvenTimeWithCyclesThatArePerhapsWorseIsARegression) {
  // Cycles of the second stage scatter about the tolerance: their p is above 1 % and under 10 %.
  Scenario scenario;
  scenario.Time(8, {{1.04, 1.04}});
  scenario.Time(14, {{1.04, 1.0}}, 2);
  scenario.input.second_stage = true;
  const auto with_cycles = [&](double most) {
    for (std::size_t i = 0; i < 14; ++i) {
      auto& values = scenario.input.candidate.processes[8 + i].values[0];
      const auto& base = scenario.input.base.processes[8 + i].values[0];
      values[{"", kCycles}] = base.at({"", kCycles}) * (i % 2 == 0 ? most : 1.01);
    }
    return scenario.Of();
  };
  const CaseVerdict worse = with_cycles(1.045);
  EXPECT_GT(*Find(worse, kCycles).p, 0.01);
  EXPECT_LE(*Find(worse, kCycles).p, 0.10);
  EXPECT_EQ(worse.verdict, Verdict::kRegression);
  const CaseVerdict clock = with_cycles(1.02);
  EXPECT_GT(*Find(clock, kCycles).p, 0.10);
  EXPECT_EQ(clock.verdict, Verdict::kInconclusive) << "the clock was lower";
}

TEST(JudgePairedTest, WithoutCyclesTimeAloneDecides) {
  Scenario scenario = Measured({1.06});
  for (Evidence* const side : {&scenario.input.base, &scenario.input.candidate}) {
    for (ProcessSample& process : side->processes) process.values[0].erase({"", kCycles});
  }
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgePairedTest, AHigherClockAloneIsNotAnImprovement) {
  const CaseVerdict verdict = FirstStage({0.9, 1.0}).Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_TRUE(Has(Find(verdict, kDuration).reason, "faster, but not proven in cycles"));
}

// Pairs that are dropped.

TEST(JudgePairedTest, APairThrottledOnEitherSideIsDropped) {
  Scenario scenario = FirstStage({1.0});
  scenario.input.base.processes[0].throttled = true;
  scenario.input.candidate.processes[3].throttled = true;
  for (const std::size_t i : {0u, 3u}) scenario.input.candidate.processes[i].values[0][{"", kDuration}] = 1.0;
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_EQ(Find(result.cases[0], kDuration).pairs, 6);
  EXPECT_TRUE(HasLine(result.notes, "2 of 8 pairs dropped"));
  scenario.input.candidate.processes[5].throttled = true;  // three of eight are more than a quarter
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  EXPECT_TRUE(Has(scenario.Judged().headline, "the GPU was throttled in 3 of 8 pairs"));
}

TEST(JudgePairedTest, ProcessesWithoutAPairAreNotPaired) {
  Scenario scenario = FirstStage({1.05});
  for (ProcessSample& process : scenario.input.candidate.processes) process.pair = -1;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  for (ProcessSample& process : scenario.input.base.processes) process.pair = -1;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  EXPECT_EQ(Find(scenario.Of(), kDuration).pairs, 0);
}

// Phases.

Scenario::Values Shares(double qk, double softmax) {
  return {{{"qk", kPhaseTime}, qk}, {{"softmax", kPhaseTime}, softmax}};
}

TEST(JudgePairedTest, APhaseThatGrewIsARegressionWhereTimeCannotTell) {
  const auto verdict = [](double softmax) {
    Scenario scenario = Measured(kTooShort, 0.0);
    scenario.Record(8, Shares(0.8, 0.2), Shares(1.0 - softmax, softmax));
    scenario.Record(14, Shares(0.8, 0.2), Shares(1.0 - softmax, softmax), 2);
    return scenario.Of();
  };
  EXPECT_EQ(verdict(0.214).verdict, Verdict::kPass);
  EXPECT_EQ(verdict(0.216).verdict, Verdict::kRegression);
  EXPECT_EQ(verdict(0.216).phase, "softmax");
  EXPECT_EQ(Find(verdict(0.216), kPhaseTime, "qk").verdict, Verdict::kPass);
  EXPECT_NEAR(*Find(verdict(0.216), kPhaseTime, "softmax").change, 0.016, 1e-6);
  EXPECT_EQ(verdict(0.216).headline, "the same time: softmax costs 8.0 % more: 20.0 -> 21.6 % of the time");
}

TEST(JudgePairedTest, TheRelativeLimitAppliesToALargePhase) {
  const auto verdict = [](double softmax) {
    Scenario scenario = Measured(kTooShort, 0.0);
    scenario.Record(8, Shares(0.4, 0.6), Shares(1.0 - softmax, softmax));
    scenario.Record(14, Shares(0.4, 0.6), Shares(1.0 - softmax, softmax), 2);
    return scenario.Of().verdict;
  };
  EXPECT_EQ(verdict(0.629), Verdict::kPass);
  EXPECT_EQ(verdict(0.631), Verdict::kRegression);
}

TEST(JudgePairedTest, AFasterPhaseDoesNotMakeTheKernelImproved) {
  Scenario scenario = FirstStage({1.0});
  scenario.Record(8, Shares(0.5, 0.48), Shares(0.49, 0.40));
  EXPECT_EQ(Find(scenario.Of(), kPhaseTime, "softmax").verdict, Verdict::kImproved);
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgePairedTest, AFasterPhaseDoesNotMakeTheOtherPhasesWorse) {
  // qk takes half as long: softmax is 50 % of what is left, and takes as long as ever.
  Scenario scenario = FirstStage({0.75}, 8);
  scenario.Record(8, Shares(0.5, 0.375), {{{"qk", kPhaseTime}, 1.0 / 3}, {{"softmax", kPhaseTime}, 0.5}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kImproved);
  EXPECT_EQ(Find(scenario.Of(), kPhaseTime, "softmax").verdict, Verdict::kPass);
}

TEST(JudgePairedTest, ASlowerPhaseOfAFasterKernelIsANote) {
  Scenario scenario = FirstStage({0.8});
  scenario.Record(8, Shares(0.8, 0.2), Shares(0.5, 0.5));
  EXPECT_EQ(scenario.Of().verdict, Verdict::kImproved);
  EXPECT_FALSE(Find(scenario.Of(), kPhaseTime, "softmax").blocking);
  EXPECT_TRUE(scenario.Judged().suspects.empty());
}

TEST(JudgePairedTest, TooFewPairsOfPhasesDoNotBlock) {
  Scenario scenario = FirstStage({1.0});
  scenario.Record(1, Shares(0.8, 0.2), Shares(0.5, 0.5));
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  EXPECT_EQ(Find(scenario.Of(), kPhaseTime, "softmax").verdict, Verdict::kInconclusive);
}

TEST(JudgePairedTest, ANewPhaseGrowsFromZero) {
  Scenario scenario = FirstStage(kTooShort);
  scenario.Record(8, {{{"qk", kPhaseTime}, 1.0}}, {{{"qk", kPhaseTime}, 0.9}, {{"sync", kPhaseTime}, 0.1}});
  EXPECT_EQ(Find(scenario.Of(), kPhaseTime, "sync").verdict, Verdict::kSuspect);
  EXPECT_EQ(scenario.Of().phase, "sync");
}

TEST(JudgePairedTest, TheOwnerOfABrokenRuleIsNamed) {
  Scenario scenario = Measured({1.08});
  scenario.thresholds.rules = {Rule(kDuration)};
  scenario.thresholds.rules[0].relative = 0.05;
  scenario.thresholds.rules[0].owner = "ada";
  scenario.thresholds.rules[0].reason = "sla";
  EXPECT_TRUE(Has(Find(scenario.Of(), kDuration).reason, " (owner ada: sla)")) << Find(scenario.Of(), kDuration).reason;
  scenario.thresholds.rules[0].relative = 0.10;
  EXPECT_FALSE(Has(Find(scenario.Of(), kDuration).reason, "ada"));
}

}  // namespace
}  // namespace fa_profile::gate::judge_paired_test
