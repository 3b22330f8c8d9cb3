#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_control_test {
namespace {

void AddControl(Scenario& scenario, double factor) {
  Evidence control = scenario.input.base;
  int i = 0;
  for (ProcessSample& process : control.processes) {
    const double noise = 1.0 + 0.002 * (i++ % 3 - 1);
    for (auto& values : process.values) {
      for (auto& [key, value] : values) value *= factor * noise;
    }
  }
  scenario.input.control = control;
}

TEST(JudgeControlTest, AFailedControlMakesTheRunInconclusive) {
  Scenario scenario = Measured({1.05});
  AddControl(scenario, 1.0);
  const GateResult good = scenario.Judged();
  EXPECT_EQ(good.verdict, Verdict::kRegression);
  EXPECT_TRUE(good.control->passed);
  EXPECT_EQ(good.control->trials, 4);  // time and cycles in two stages
  EXPECT_EQ(good.control->false_positives, 0);
  AddControl(scenario, 1.04);
  const GateResult bad = scenario.Judged();
  EXPECT_EQ(bad.verdict, Verdict::kInconclusive);
  EXPECT_FALSE(bad.control->passed);
  EXPECT_EQ(bad.control->false_positives, 4);
  EXPECT_TRUE(Has(bad.headline, "INCONCLUSIVE: the base was judged worse than itself: mma 1,8,512,64"));
  EXPECT_TRUE(bad.suspects.empty());
}

TEST(JudgeControlTest, ARunOfPairsWithoutItsControlsIsInconclusive) {
  const auto with = [](bool control, bool reference) {
    Scenario scenario;
    if (reference) scenario.AddCase(kReferenceKernel);
    const std::vector<Effect> effects = reference ? std::vector<Effect>{{1.05}, {}} : std::vector<Effect>{{1.05}};
    scenario.Time(8, effects, 1, 0.001);
    scenario.Time(14, effects, 2, 0.001);
    scenario.input.second_stage = true;
    scenario.input.drawn_pairs = false;
    if (control) AddControl(scenario, 1.0);
    return scenario;
  };
  EXPECT_EQ(with(true, true).Judged().verdict, Verdict::kRegression);
  EXPECT_FALSE(HasLine(with(true, true).Judged().notes, "no control"));
  const GateResult uncontrolled = with(false, true).Judged();
  EXPECT_EQ(uncontrolled.verdict, Verdict::kInconclusive);
  EXPECT_EQ(uncontrolled.headline, "INCONCLUSIVE: no control: the base was not measured against itself");
  EXPECT_TRUE(HasLine(uncontrolled.notes, "no control: the base was not measured against itself"));
  const GateResult unreferenced = with(true, false).Judged();
  EXPECT_EQ(unreferenced.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(HasLine(unreferenced.notes, "no control: the reference kernel was not timed on both sides"));
  // A control that only recorded timed nothing.
  Scenario recorded = with(true, true);
  for (ProcessSample& process : recorded.input.control->processes) process.kind = "recording";
  EXPECT_EQ(recorded.Judged().verdict, Verdict::kInconclusive);
  // Results that need no clock stand.
  Scenario spilling = with(false, false);
  spilling.Code().spill_bytes = 8;
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kRegression);
  // Code that is the same, or wrong, has no time to judge.
  Scenario same = with(false, false);
  same.MakeIdentical();
  EXPECT_EQ(same.Judged().verdict, Verdict::kPass);
  // The first look of a run, one pair of recordings that settles its only case, is followed by no timing.
  const auto settled = [](int pairs) {
    Scenario scenario;
    scenario.input.drawn_pairs = false;
    scenario.Code().spill_bytes = 8;
    scenario.Record(pairs, {{{"qk", kPhaseTime}, 1.0}}, {{{"qk", kPhaseTime}, 1.0}});
    return scenario.Judged();
  };
  EXPECT_EQ(settled(1).verdict, Verdict::kRegression);
  EXPECT_TRUE(settled(1).notes.empty());
  EXPECT_EQ(settled(8).notes.size(), 1u);
  Scenario mended = with(false, false);
  mended.Base().verification->draws_passed = 0;
  EXPECT_EQ(mended.Judged().verdict, Verdict::kImproved);
}

TEST(JudgeControlTest, AControlWithinTheToleranceRaisesNoAlarm) {
  Scenario scenario = Measured({1.05});
  AddControl(scenario, 1.015);
  EXPECT_TRUE(scenario.Judged().control->passed);
}

TEST(JudgeControlTest, TooFewPairsAreNotCountedAsTrialsOfTheControl) {
  Scenario scenario = FirstStage({1.0}, 4);
  AddControl(scenario, 1.0);
  EXPECT_FALSE(scenario.Judged().control);
  scenario = FirstStage({1.0}, 5);
  AddControl(scenario, 1.0);
  EXPECT_EQ(scenario.Judged().control->trials, 2);
}

TEST(JudgeControlTest, OneSmallAlarmAmongManyControlsIsTolerated) {
  const auto judged = [](std::size_t slow) {
    Scenario scenario;
    for (int i = 1; i < 14; ++i) scenario.AddCase(std::string("k").append(std::to_string(i)));
    scenario.Time(8, std::vector<Effect>(14));
    AddControl(scenario, 1.0);
    std::vector<ProcessSample>& processes = scenario.input.control->processes;
    for (std::size_t i = 0; i < slow; ++i) processes[i].values[3][{"", kDuration}] *= 1.1;
    return scenario.Judged();
  };
  const GateResult result = judged(7);
  EXPECT_EQ(result.control->false_positives, 1);
  EXPECT_EQ(result.control->trials, 28);
  EXPECT_TRUE(result.control->passed);  // 12 x 2/256 is over 5 %
  EXPECT_FALSE(judged(8).control->passed);
}

TEST(JudgeControlTest, AControlThatIsFiftyTimesSlowerFailsAmongAnyNumberOfCases) {
  Scenario scenario;
  for (int i = 1; i < 60; ++i) scenario.AddCase(std::string("k").append(std::to_string(i)));
  scenario.Time(8, std::vector<Effect>(60));
  AddControl(scenario, 50.0);
  const GateResult result = scenario.Judged();
  EXPECT_FALSE(result.control->passed);
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
}

TEST(JudgeControlTest, EqualCodeWithAFailedControlIsInconclusive) {
  Scenario scenario = FirstStage({1.0});
  scenario.MakeIdentical();
  AddControl(scenario, 1.04);
  EXPECT_EQ(scenario.Judged().cases[0].verdict, Verdict::kPass);
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
}

TEST(JudgeControlTest, VerdictsWithoutTimingHoldDespiteAFailedControl) {
  Scenario spilling = Measured({1.0});
  AddControl(spilling, 1.04);
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kInconclusive);
  spilling.Code().spill_bytes = 8;
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kRegression);
  spilling.Code().spill_bytes = 0;
  spilling.Record(1, {{{"", "instructions"}, 100}}, {{{"", "instructions"}, 120}});
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kRegression);
  spilling.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeControlTest, AFailedControlProvesNoImprovement) {
  Scenario scenario = Measured({0.8});
  scenario.Record(1, {{{"", "instructions"}, 100}}, {{{"", "instructions"}, 120}});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kImproved);
  AddControl(scenario, 1.04);
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeControlTest, TheReferenceKernelIsNotACaseAndItsChangeMakesTheRunInconclusive) {
  const auto run = [](double reference) {
    Scenario scenario;
    scenario.AddCase(kReferenceKernel);
    scenario.Time(8, {{1.05}, {reference}}, 1, 0.001);
    return scenario.Judged();
  };
  EXPECT_EQ(run(1.0).verdict, Verdict::kSuspect);
  ASSERT_EQ(run(1.0).cases.size(), 1u);
  EXPECT_NEAR(*run(1.0).control->reference_change, 0.0, 0.003);
  EXPECT_EQ(run(1.015).verdict, Verdict::kSuspect);
  for (const double moved : {1.025, 0.975}) {
    EXPECT_EQ(run(moved).verdict, Verdict::kInconclusive) << moved;
    EXPECT_TRUE(Has(run(moved).headline, "the reference kernel, whose code never changes, moved by ")) << moved;
  }
}

TEST(JudgeControlTest, ANoisyReferenceRaisesNoAlarm) {
  Scenario scenario;
  scenario.AddCase(kReferenceKernel);
  scenario.Time(8, {{1.0}, {1.0}});
  int i = 0;
  for (ProcessSample& process : scenario.input.candidate.processes) {
    process.values[1][{"", kDuration}] *= i++ < 5 ? 1.03 : 0.9;
  }
  EXPECT_GT(*scenario.Judged().control->reference_change, 0.02);
  EXPECT_TRUE(scenario.Judged().control->passed);
}

TEST(JudgeControlTest, SixtyCasesAreJudged) {
  Scenario scenario;
  for (int i = 1; i < 60; ++i) scenario.AddCase(std::string("k").append(std::to_string(i)));
  scenario.Time(8, std::vector<Effect>(60));
  scenario.Time(14, std::vector<Effect>(60), 2);
  AddControl(scenario, 1.0);
  EXPECT_EQ(scenario.Judged().cases.size(), 60u);
}

}  // namespace
}  // namespace fa_profile::gate::judge_control_test
