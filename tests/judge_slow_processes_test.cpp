#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "fa_profile/gate.h"
#include "fa_profile/gate_statistics.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_slow_processes_test {
namespace {

/// Makes every `period`-th process of a side slower, from the first on.
void SlowDown(Evidence& side, double factor, std::size_t period) {
  for (std::size_t i = 0; i < side.processes.size(); i += period) {
    for (auto& values : side.processes[i].values) {
      for (auto& [key, value] : values) value *= factor;
    }
  }
}

/// A run of equal kernels with the base measured twice with each candidate.
Scenario Controlled(double time = 1.0) {
  Scenario scenario = Measured({time});
  scenario.input.control = scenario.input.base;
  return scenario;
}

TEST(JudgeSlowProcessesTest, HalfOfTheProcessesTenTimesSlowerIsARegression) {
  Scenario scenario = Controlled();
  SlowDown(scenario.input.candidate, 10.0, 2);
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  const Comparison slow = Find(verdict, kSlowProcesses);
  EXPECT_EQ(slow.verdict, Verdict::kRegression);
  EXPECT_DOUBLE_EQ(*slow.base, 0.0);
  EXPECT_DOUBLE_EQ(*slow.candidate, 0.5);
  EXPECT_EQ(slow.reason,
            "7 of 14 new processes took over 6.0 % more than the median, of the base's 0 of 28 (p 0.00046)");
  EXPECT_EQ(verdict.headline, slow.reason) << "the median alone would not show it";
}

TEST(JudgeSlowProcessesTest, AQuarterInTheFirstStageEscapesTheTestOfTheCentre) {
  Scenario scenario = FirstStage({1.0});
  scenario.input.control = scenario.input.base;
  SlowDown(scenario.input.candidate, 10.0, 4);  // 2 of 8
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(Find(verdict, kCycles).verdict, Verdict::kPass);
  EXPECT_EQ(Find(verdict, kSlowProcesses).verdict, Verdict::kSuspect);
}

TEST(JudgeSlowProcessesTest, TheFirstStageOnlySuspects) {
  Scenario scenario = FirstStage({1.0});
  scenario.input.control = scenario.input.base;
  SlowDown(scenario.input.candidate, 1.1, 3);
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kSuspect);
  EXPECT_EQ(result.suspects.size(), 1U);
  EXPECT_EQ(result.cases[0].headline,
            "3 of 8 processes took over 6.0 % more than the median, of the base's 0 of 16 (p 0.037): has to be "
            "measured again");
}

TEST(JudgeSlowProcessesTest, ABaseThatHasAsManySlowProcessesIsNotBetter) {
  Scenario scenario = Controlled();
  SlowDown(scenario.input.candidate, 10.0, 2);
  SlowDown(scenario.input.base, 10.0, 2);
  scenario.input.control = scenario.input.base;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeSlowProcessesTest, OneSlowProcessIsAnAccident) {
  Scenario scenario = Controlled();
  SlowDown(scenario.input.candidate, 10.0, 8);  // 1 of 8, and 2 of 14
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_EQ(Find(verdict, kSlowProcesses).metric, "");
}

TEST(JudgeSlowProcessesTest, ASuspicionThatNewPairsDoNotConfirmIsAPass) {
  Scenario scenario = Controlled();
  for (std::size_t i = 0; i < 4; ++i) {
    for (auto& [key, value] : scenario.input.candidate.processes[i].values[0]) value *= 3.0;
  }
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_EQ(Find(verdict, kSlowProcesses).reason,
            "4 of 8 processes took over 6.0 % more than the median, of the base's 0 of 16 (p 0.012): not confirmed by "
            "14 new pairs");
}

TEST(JudgeSlowProcessesTest, WithoutTheControlAHalfIsStillFound) {
  Scenario scenario = Measured({1.0});
  SlowDown(scenario.input.candidate, 2.0, 2);
  const Comparison slow = Find(scenario.Of(), kSlowProcesses);
  EXPECT_EQ(slow.verdict, Verdict::kRegression);
  EXPECT_NEAR(*slow.p, 1.0 / 128, 1e-12);
}

TEST(JudgeSlowProcessesTest, AFasterKernelWithSlowProcessesIsNotImproved) {
  Scenario scenario = Controlled(0.9);
  SlowDown(scenario.input.candidate, 10.0, 2);
  scenario.Code().spill_bytes = 8;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_TRUE(Find(verdict, "spill_bytes").blocking) << "time does not show that it is not slower";
}

TEST(JudgeSlowProcessesTest, AClockThatIsLowerInSomeProcessesIsNotCharged) {
  Scenario scenario = Controlled();
  for (std::size_t i = 0; i < scenario.input.candidate.processes.size(); i += 2) {
    scenario.input.candidate.processes[i].values[0][{"", kDuration}] *= 1.2;
  }
  EXPECT_EQ(Find(scenario.Of(), kSlowProcesses).metric, "");
}

TEST(JudgeSlowProcessesTest, ARuleThatTurnsTimeIntoAWarningHoldsForSlowProcesses) {
  Scenario scenario = Controlled();
  SlowDown(scenario.input.candidate, 10.0, 2);
  ThresholdRule rule;
  rule.metric = kDuration;
  rule.severity = Severity::kWarning;
  scenario.thresholds.rules = {rule};
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_FALSE(Find(verdict, kSlowProcesses).blocking);
}

TEST(JudgeSlowProcessesTest, ManyCasesWithTheSameSlowProcessesAreAllFound) {
  Scenario scenario;
  std::vector<Effect> effects(1);
  for (int i = 0; i < 60; ++i) {
    scenario.AddCase("kernel_" + std::to_string(i));
    effects.emplace_back();
  }
  scenario.Time(8, effects);
  scenario.Time(14, effects, 2);
  scenario.input.second_stage = true;
  scenario.input.control = scenario.input.base;
  SlowDown(scenario.input.candidate, 2.0, 2);
  for (const CaseVerdict& verdict : scenario.Judged().cases) EXPECT_EQ(verdict.verdict, Verdict::kRegression);
}

TEST(JudgeSlowProcessesTest, PIsTheExactChanceGivenTheSlowProcessesOfEachBlock) {
  // One slow of three, one of three, two of three: the candidate has them with 1/3, 1/3 and 2/3.
  const std::vector<ProcessBlock> blocks{{2.0, 1.0, 1.0}, {1.0, 2.0, 1.0}, {2.0, 2.0, 1.0}, {1.0, 1.0, 1.0}};
  const SlowProcesses counted = CountSlow(blocks, 0.5);
  EXPECT_EQ(counted.of_candidate, 2);
  EXPECT_EQ(counted.candidates, 4);
  EXPECT_EQ(counted.of_base, 2);
  EXPECT_EQ(counted.bases, 8);
  // All three: 2/27. Two: 1/3*1/3*1/3 + 2 * (1/3*2/3*2/3) = 9/27.
  EXPECT_NEAR(counted.p, 11.0 / 27, 1e-12);
  EXPECT_NEAR(counted.least_p, 2.0 / 27, 1e-12);
  EXPECT_EQ(CountSlow({}, 0.5).p, 1.0);
  EXPECT_EQ(CountSlow(std::vector<ProcessBlock>(3, ProcessBlock{1.0, 1.0, {}}), 0.5).p, 1.0);
}

}  // namespace
}  // namespace fa_profile::gate::judge_slow_processes_test
