#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_counters_test {
namespace {

Scenario Counted(double base, double candidate, const MetricKey& key = {"", "instructions"}) {
  Scenario scenario = Measured(kTooShort);
  scenario.Record(1, {{key, base}}, {{key, candidate}});
  return scenario;
}

TEST(JudgeCountersTest, MoreThanHalfAPercentMoreInstructionsAreARegression) {
  EXPECT_EQ(Counted(100'000, 100'501).Of().verdict, Verdict::kRegression);
  EXPECT_EQ(Counted(100'000, 100'500).Of().verdict, Verdict::kPass);
  EXPECT_EQ(Counted(100'000, 50'000).Of().verdict, Verdict::kPass);
  EXPECT_EQ(Find(Counted(100'000, 50'000).Of(), "instructions").verdict, Verdict::kImproved);
  EXPECT_EQ(Counted(100'000, 112'000).Of().headline,
            "0.3 % slower, which may be noise: instructions 100,000 -> 112,000");
  EXPECT_EQ(Find(Counted(100'000, 112'000).Of(), "instructions").tier, 1);
}

TEST(JudgeCountersTest, ARegressionNamesItsLimit) {
  EXPECT_EQ(Find(Counted(100'000, 112'000).Of(), "instructions").allowed, "0.5 %");
  EXPECT_EQ(Find(Counted(100'000, 100'400).Of(), "instructions").allowed, "");
  Scenario of_phase = Measured(kTooShort);
  const MetricKey epilogue{"epilogue", "phase_instructions"};
  const MetricKey softmax{"softmax", "phase_instructions"};
  of_phase.Record(1, {{epilogue, 1'000}, {softmax, 99'000}}, {{epilogue, 1'501}, {softmax, 99'000}});
  EXPECT_EQ(Find(of_phase.Of(), "phase_instructions", "epilogue").allowed, "0.5 % of the kernel's");
  Scenario in_equal_code = Measured(kTooShort);
  in_equal_code.Record(1, {{{"", "instructions"}, 100'000}}, {{{"", "instructions"}, 103'000}});
  in_equal_code.Record(1, {{{"", "instructions"}, 100'400}}, {{{"", "instructions"}, 103'000}});
  EXPECT_EQ(Find(in_equal_code.Of(), "instructions").allowed, "1,200");
  Scenario limited = Counted(100'000, 112'000);
  limited.thresholds.rules.emplace_back();
  limited.thresholds.rules[0].metric = "instructions";
  limited.thresholds.rules[0].relative = 0.1;
  EXPECT_EQ(Find(limited.Of(), "instructions").allowed, "10.0 %");
  limited.thresholds.rules[0].relative.reset();
  limited.thresholds.rules[0].maximum = 110'000;
  const std::vector<Comparison> both = limited.Of().comparisons;
  EXPECT_TRUE(std::ranges::any_of(both, [](const Comparison& one) { return one.allowed == "at most 110,000"; }));
}

TEST(JudgeCountersTest, WhereMoreIsBetterLessIsARegression) {
  const MetricKey threads{"", "threads_per_instruction"};
  EXPECT_EQ(Counted(32.0, 31.0, threads).Of().verdict, Verdict::kRegression);
  EXPECT_EQ(Counted(31.0, 32.0, threads).Of().verdict, Verdict::kPass);
}

TEST(JudgeCountersTest, AChangeIsWrittenWithTheDecimalsThatShowIt) {
  const auto reason = [](double base, double candidate) {
    const MetricKey coalescing{"qk", "phase_coalescing_ratio"};
    Scenario scenario = Counted(base, candidate, coalescing);
    scenario.thresholds.counter_relative = 0.0;
    return Find(scenario.Of(), coalescing.metric, coalescing.phase).reason;
  };
  EXPECT_EQ(reason(0.706, 0.505), "coalescing 70.6 % -> 50.5 % in qk");
  EXPECT_EQ(reason(0.7055, 0.7048), "coalescing 70.55 % -> 70.48 % in qk");
  EXPECT_EQ(reason(0.70551, 0.70549), "coalescing 70.551 % -> 70.549 % in qk");
}

TEST(JudgeCountersTest, ACounterFromZeroIsARegression) {
  EXPECT_EQ(Counted(0.0, 1024.0, {"", "local_memory_bytes"}).Of().verdict, Verdict::kRegression);
}

TEST(JudgeCountersTest, ACounterMustMoveMoreThanItDoesForEqualCode) {
  const MetricKey key{"", "instructions"};
  Scenario scenario = Measured(kTooShort);
  scenario.Record(1, {{key, 100'000}}, {{key, 100'800}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  scenario.Record(1, {{key, 100'300}}, {{key, 100'950}});  // a range of 300, three times that is 900
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Record(6, {{key, 100'000}}, {{key, 100'950}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

TEST(JudgeCountersTest, AnUnstableCounterIsNotJudged) {
  const MetricKey key{"", "instructions"};
  Scenario scenario = Measured(kTooShort);
  scenario.Record(1, {{key, 100'000}}, {{key, 100'500}});
  scenario.Record(1, {{key, 100'000}}, {{key, 101'010}});
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_TRUE(Has(Find(verdict, "instructions").reason, "not judged: instructions varies by 0.5 %"))
      << Find(verdict, "instructions").reason;
}

TEST(JudgeCountersTest, AnUnstableCounterThatIsWorseInEveryProcessIsJudged) {
  const auto with = [](const MetricKey& key, double base, double other_base, double least, double most) {
    Scenario scenario = Measured(kTooShort);
    scenario.Record(1, {{key, base}}, {{key, least}});
    scenario.Record(1, {{key, other_base}}, {{key, most}});
    return scenario.Of();
  };
  const MetricKey count{"", "instructions"};
  EXPECT_EQ(with(count, 100'000, 100'000, 100'501, 140'000).verdict, Verdict::kRegression);
  EXPECT_EQ(with(count, 100'000, 100'000, 100'500, 140'000).verdict, Verdict::kPass);
  EXPECT_TRUE(Has(with(count, 100'000, 100'000, 120'000, 140'000).headline, "100,000 -> 130,000, in every process"));
  // The base's own range counts three times.
  EXPECT_EQ(with(count, 100'000, 101'000, 104'001, 140'000).verdict, Verdict::kRegression);
  EXPECT_EQ(with(count, 100'000, 101'000, 104'000, 140'000).verdict, Verdict::kPass);
  const MetricKey threads{"", "threads_per_instruction"};
  EXPECT_EQ(with(threads, 32.0, 32.0, 31.0, 20.0).verdict, Verdict::kRegression);
  EXPECT_EQ(with(threads, 32.0, 32.0, 31.9, 20.0).verdict, Verdict::kPass);
  EXPECT_EQ(with(threads, 20.0, 20.0, 32.0, 25.0).verdict, Verdict::kPass);
}

TEST(JudgeCountersTest, CountersThatOnlyTheBaseHasAreInconclusive) {
  for (const MetricKey& key : {MetricKey{"", "instructions"}, MetricKey{"qk", "phase_instructions"}}) {
    Scenario scenario = Measured(kTooShort);
    scenario.Record(1, {{key, 100}}, {});
    EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive) << key.metric;
    EXPECT_TRUE(Has(scenario.Of().headline, "the candidate has none")) << scenario.Of().headline;
    scenario.input.candidate.processes.back().values[0][key] = 100;
    EXPECT_EQ(scenario.Of().verdict, Verdict::kPass) << key.metric;
    scenario.input.candidate.processes.back().values[0].clear();
    scenario.Code().spill_bytes = 8;  // something worse
    EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
    scenario = Measured(kTooShort);
    scenario.Record(1, {}, {{key, 100}});  // nothing is lost
    EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
    scenario = Measured({0.8});
    scenario.Record(1, {{key, 100}}, {});
    EXPECT_EQ(scenario.Of().verdict, Verdict::kImproved);
  }
  Scenario noisy = Measured(kTooShort);
  noisy.Record(1, {{{"", "l2_hit_ratio"}, 0.5}}, {});
  EXPECT_EQ(noisy.Of().verdict, Verdict::kPass);
}

TEST(JudgeCountersTest, NoisyAndNeutralMetricsAreNotJudgedWithoutARule) {
  EXPECT_EQ(Counted(0.5, 0.1, {"", "l2_hit_ratio"}).Of().comparisons.size(), 2u);  // time and cycles
  EXPECT_EQ(Counted(100, 900, {"", "fp32_flops"}).Of().comparisons.size(), 2u);
}

TEST(JudgeCountersTest, ACountOfAPhaseIsComparedWithThatOfTheKernel) {
  const MetricKey small{"epilogue", "phase_instructions"};
  const MetricKey large{"softmax", "phase_instructions"};
  Scenario scenario = Measured(kTooShort);
  scenario.Record(1, {{small, 1'000}, {large, 99'000}}, {{small, 1'500}, {large, 99'000}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.input.candidate.processes.back().values[0][small] = 1'501;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(scenario.Of().phase, "epilogue");
}

TEST(JudgeCountersTest, ThePhaseOfAWorseCounterIsNamedBeforeOneThatHardlyGrew) {
  const auto phase = [](double softmax, double instructions) {
    Scenario scenario = Measured(kTooShort, 0.0);
    const MetricKey count{"epilogue", "phase_instructions"};
    scenario.Record(1, {{{"softmax", kPhaseTime}, 0.300}, {{"epilogue", kPhaseTime}, 0.7}, {count, 1000.0}},
                    {{{"softmax", kPhaseTime}, softmax}, {{"epilogue", kPhaseTime}, 0.7}, {count, instructions}});
    return scenario.Of().phase;
  };
  EXPECT_EQ(phase(0.309, 1100.0), "epilogue");
  EXPECT_EQ(phase(0.311, 1100.0), "softmax");
}

TEST(JudgeCountersTest, AKernelWithoutAWorsePhaseNamesNone) {
  const auto phase = [](double softmax) {
    Scenario scenario = Measured(kTooShort, 0.0);
    scenario.Record(1, {{{"softmax", kPhaseTime}, 0.300}, {{"", "instructions"}, 100.0}},
                    {{{"softmax", kPhaseTime}, softmax}, {{"", "instructions"}, 120.0}});
    return scenario.Of().phase;
  };
  EXPECT_EQ(phase(0.299), "");
  EXPECT_EQ(phase(0.301), "softmax");
}

TEST(JudgeCountersTest, RulesReplaceTheLimitsOfCounters) {
  Scenario scenario = Counted(100'000, 109'000);
  ThresholdRule rule;
  rule.metric = "instructions";
  rule.relative = 0.10;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.thresholds.rules[0].relative = 0.08;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  scenario.thresholds.rules[0].absolute = 9'500;  // both have to break
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.thresholds.rules[0].absolute = 8'500;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

TEST(JudgeCountersTest, ARuleMakesANoisyMetricAndANeutralOneJudged) {
  ThresholdRule rule;
  rule.metric = "l2_hit_ratio";
  rule.absolute = 0.05;
  Scenario noisy = Counted(0.80, 0.74, {"", "l2_hit_ratio"});
  noisy.thresholds.rules = {rule};
  EXPECT_EQ(noisy.Of().verdict, Verdict::kRegression);
  noisy.thresholds.rules[0].absolute = 0.07;
  EXPECT_EQ(noisy.Of().verdict, Verdict::kPass);
  Scenario neutral = Counted(100, 130, {"", "fp32_flops"});
  rule.metric = "fp32_flops";
  rule.absolute.reset();
  rule.relative = 0.25;
  neutral.thresholds.rules = {rule};
  EXPECT_EQ(neutral.Of().verdict, Verdict::kRegression);
  neutral.thresholds.rules[0].relative = 0.35;
  EXPECT_EQ(neutral.Of().verdict, Verdict::kPass);
}

TEST(JudgeCountersTest, ANoisyMetricThatARuleLimitsIsTestedInPairsWhereThereAreEnough) {
  Scenario scenario = Measured(kTooShort);
  const MetricKey key{"", "l2_hit_ratio"};
  scenario.Record(8, {{key, 0.80}}, {{key, 0.70}});
  scenario.Record(14, {{key, 0.80}}, {{key, 0.70}}, 2);
  ThresholdRule rule;
  rule.metric = key.metric;
  rule.absolute = 0.05;
  scenario.thresholds.rules = {rule};
  const Comparison comparison = Find(scenario.Of(), key.metric);
  EXPECT_EQ(comparison.verdict, Verdict::kRegression);
  EXPECT_EQ(comparison.pairs, 14);
  EXPECT_NEAR(*comparison.change, -0.125, 1e-9);
  scenario.thresholds.rules[0].absolute = 0.11;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

}  // namespace
}  // namespace fa_profile::gate::judge_counters_test
