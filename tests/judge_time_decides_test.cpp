#include <gtest/gtest.h>

#include <string>

#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_time_decides_test {
namespace {

ThresholdRule Limits(const std::string& metric, double relative) {
  ThresholdRule rule;
  rule.metric = metric;
  rule.relative = relative;
  return rule;
}

TEST(JudgeTimeDecidesTest, FewerBlocksOfAFasterKernelAreAWarning) {
  Scenario scenario = Measured({0.854}, 0.0);
  scenario.Candidate().launches[0].blocks_per_sm = 1;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kImproved);
  const Comparison blocks = Find(verdict, "blocks_per_sm");
  EXPECT_EQ(blocks.verdict, Verdict::kRegression);
  EXPECT_FALSE(blocks.blocking);
  EXPECT_EQ(blocks.reason, "resident blocks per SM 4 -> 1, and 14.6 % faster all the same");
}

TEST(JudgeTimeDecidesTest, WorseCodeCountersAndPhasesOfACallThatIsNotSlowerAreWarnings) {
  Scenario scenario = Measured({1.0});
  const MetricKey count{"", "instructions"};
  scenario.Record(8, {{count, 100}, {{"qk", kPhaseTime}, 0.8}, {{"softmax", kPhaseTime}, 0.2}},
                  {{count, 120}, {{"qk", kPhaseTime}, 0.5}, {{"softmax", kPhaseTime}, 0.5}});
  scenario.Code().spill_bytes = 8;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  for (const Comparison& comparison : {Find(verdict, "spill_bytes"), Find(verdict, "instructions")}) {
    EXPECT_EQ(comparison.verdict, Verdict::kRegression);
    EXPECT_FALSE(comparison.blocking);
    EXPECT_TRUE(Has(comparison.reason, ", and not slower: ")) << comparison.reason;
  }
  EXPECT_FALSE(Find(verdict, kPhaseTime, "softmax").blocking);
  EXPECT_TRUE(scenario.Judged().suspects.empty()) << "a warning is not measured again";
}

TEST(JudgeTimeDecidesTest, SuspiciousCodeIsTimedAndTimeDecides) {
  const auto with = [](const Effect& effect) {
    Scenario scenario = Measured(effect);
    scenario.Code().registers_per_thread = 160;
    return scenario;
  };
  const Scenario equal = with({1.0});
  EXPECT_EQ(equal.Of().verdict, Verdict::kPass);
  const Comparison registers = Find(equal.Of(), "registers_per_thread");
  EXPECT_FALSE(registers.blocking);
  EXPECT_TRUE(registers.overruled);
  EXPECT_TRUE(registers.reason.starts_with("registers per thread 100 -> 160 (+60 %), and not slower: "))
      << registers.reason;
  EXPECT_EQ(with({0.9}).Of().verdict, Verdict::kImproved);
  EXPECT_EQ(with({1.05}).Of().verdict, Verdict::kRegression);
  EXPECT_EQ(with(kTooShort).Of().verdict, Verdict::kSuspect) << "time cannot tell";
  Scenario untimed;
  untimed.Code().registers_per_thread = 160;
  EXPECT_EQ(untimed.Judged().verdict, Verdict::kInconclusive);
  EXPECT_TRUE(untimed.Judged().suspects.empty()) << "more pairs do not decide it";
  Scenario recorded("recordings");
  recorded.Code().registers_per_thread = 160;
  EXPECT_EQ(Find(recorded.Of(), "registers_per_thread").verdict, Verdict::kRegression);
  EXPECT_FALSE(Find(recorded.Of(), "registers_per_thread").blocking);
}

TEST(JudgeTimeDecidesTest, ACallThatMayBeSlowerKeepsTheRegressionOfItsCode) {
  for (const Effect& effect : {Effect{1.019}, kTooShort}) {
    Scenario scenario = Measured(effect);
    scenario.Code().spill_bytes = 8;
    EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  }
  Scenario untimed;
  untimed.Code().spill_bytes = 8;
  EXPECT_EQ(untimed.Of().verdict, Verdict::kRegression);
}

TEST(JudgeTimeDecidesTest, AShortCallThatIsFasterThanItsWideToleranceIsNotSlower) {
  Scenario scenario = Measured({0.7, 0.0, 1e-6}, 0.0);
  scenario.Code().spill_bytes = 8;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kImproved);
  EXPECT_TRUE(Find(scenario.Of(), "spill_bytes").overruled);
}

TEST(JudgeTimeDecidesTest, PIsTheChanceOfTheVerdict) {
  const Comparison faster = Find(Measured({0.9}).Of(), kDuration);
  EXPECT_EQ(faster.verdict, Verdict::kImproved);
  EXPECT_LT(*faster.p, 0.01);
  EXPECT_GT(*Find(Measured({0.99}).Of(), kDuration).p, 0.99) << "not worse";
}

TEST(JudgeTimeDecidesTest, RecordedTimesDecideBeyondTheirErrorTermAndCountersAreSuspectWithinIt) {
  const auto with = [](double time) {
    Scenario scenario("recordings");
    const auto values = [](double seconds, double count) {
      return Scenario::Values{{{"", kDuration}, seconds}, {{"", "instructions"}, count}};
    };
    scenario.Record(1, values(100e-6, 100), values(time * 100e-6, 120));
    return scenario.Of();
  };
  EXPECT_EQ(with(0.90).verdict, Verdict::kImproved);
  EXPECT_EQ(with(0.90).headline, "10.0 % faster");
  EXPECT_EQ(Find(with(0.90), "instructions").reason, "instructions 100 -> 120, and 10.0 % faster all the same");
  EXPECT_EQ(with(0.97).verdict, Verdict::kSuspect) << "time cannot tell, and speaks against the counter";
  EXPECT_EQ(with(0.97).headline, "3.0 % faster, which may be noise: instructions 100 -> 120");
  EXPECT_EQ(Find(with(0.97), kDuration).reason, "too few processes to tell 3.0 % from noise: run gate --pair");
  EXPECT_EQ(with(1.00).verdict, Verdict::kRegression) << "time cannot tell: counters decide";
  EXPECT_EQ(with(1.03).verdict, Verdict::kRegression);
  EXPECT_EQ(with(1.03).headline, "perhaps 3.0 % slower: instructions 100 -> 120");
  EXPECT_EQ(with(1.10).headline, "10.0 % slower");
}

TEST(JudgeTimeDecidesTest, EqualMachineCodeThatWasNotTimedSaysThatHostCodeWasNotCompared) {
  for (const char* const design : {"static", "pairs"}) {
    Scenario scenario(design);
    scenario.MakeIdentical();
    EXPECT_EQ(scenario.Of().headline, "the same machine code; host code was not compared") << design;
  }
  Scenario is_static("static");
  is_static.MakeIdentical();
  EXPECT_EQ(is_static.Judged().headline, "PASS: 1 case, 1 with the same machine code; host code was not compared");
  Scenario timed = FirstStage({1.0});
  timed.MakeIdentical();
  EXPECT_EQ(timed.Of().headline, "the same machine code");
}

TEST(JudgeTimeDecidesTest, EqualMachineCodeWithOtherHostCodeIsJudgedByItsTime) {
  const auto with_hosts = [](Scenario scenario, const char* base, const char* candidate) {
    scenario.MakeIdentical();
    scenario.Base().host_code_hash = base;
    scenario.Candidate().host_code_hash = candidate;
    return scenario;
  };
  Scenario timed = with_hosts(FirstStage({1.0}), "a", "b");
  EXPECT_EQ(timed.Of().verdict, Verdict::kPass);
  EXPECT_FALSE(timed.Of().identical);
  EXPECT_TRUE(HasLine(timed.Judged().notes, "the same machine code, other host code: timed (mma 1,8,512,64)"));
  EXPECT_EQ(with_hosts(FirstStage({1.10}), "a", "b").Of().verdict, Verdict::kSuspect);
  EXPECT_TRUE(with_hosts(FirstStage({1.0}), "a", "a").Of().identical);
  EXPECT_TRUE(with_hosts(FirstStage({1.0}), "", "b").Of().identical) << "not known";

  const Scenario untimed = with_hosts(Scenario("pairs"), "a", "b");
  EXPECT_EQ(Scenario(untimed).Of().verdict, Verdict::kInconclusive) << "it has to be timed";

  Scenario recorded = with_hosts(Scenario("recordings"), "a", "b");
  recorded.Record(1, {{{"", kDuration}, 100e-6}}, {{{"", kDuration}, 140e-6}});
  EXPECT_FALSE(recorded.Of().identical);
  EXPECT_TRUE(Has(Find(recorded.Of(), kDuration).reason, "; the machine code is equal, the host code is not"));
}

TEST(JudgeTimeDecidesTest, OfBuildsOtherHostCodeIsNoted) {
  Scenario scenario("static");
  scenario.MakeIdentical();
  scenario.Base().host_code_hash = "a";
  scenario.Candidate().host_code_hash = "b";
  EXPECT_EQ(scenario.Of().headline, "the same machine code, other host code");
  EXPECT_EQ(scenario.Judged().headline,
            "PASS: 1 case, 1 with the same machine code; other host code, which was not timed");
  EXPECT_TRUE(HasLine(scenario.Judged().notes,
                      "the same machine code, other host code: not timed; gate --pair times it (mma)"));
  scenario.Candidate().host_code_hash = "a";
  EXPECT_EQ(scenario.Judged().headline, "PASS: 1 case, 1 with the same machine code");
  EXPECT_TRUE(scenario.Judged().notes.empty());
}

TEST(JudgeTimeDecidesTest, PhasesOfTwoModelsAreNotCompared) {
  for (const char* const design : {"recordings", "pairs"}) {
    Scenario scenario(design);
    if (scenario.input.design == "pairs") scenario.Time(8, {{1.0}});
    const auto values = [](double softmax, double count) {
      return Scenario::Values{{{"", kDuration}, 100e-6},
                              {{"softmax", kPhaseTime}, softmax},
                              {{"qk", kPhaseTime}, 1.0 - softmax},
                              {{"softmax", "phase_instructions"}, count}};
    };
    scenario.Record(8, values(0.2, 100), values(0.8, 900));
    scenario.Code().counts["softmax"]["instructions"] = 9000;
    scenario.Code().counts["qk"]["instructions"] = 100;
    const auto of_phases = [](const CaseVerdict& verdict) {
      return std::ranges::count_if(verdict.comparisons, [](const Comparison& one) { return !one.phase.empty(); });
    };
    for (const char* const known : {"inferred", ""}) {  // in old evidence the base's is not known
      scenario.Base().phase_model = known;
      scenario.Candidate().phase_model = std::string(known).empty() ? "named" : known;
      // With pairs the time decides.
      EXPECT_EQ(scenario.Of().verdict == Verdict::kRegression, scenario.input.design == "recordings") << known;
      EXPECT_GT(of_phases(scenario.Of()), 0) << design << known;
    }
    scenario.Base().phase_model = "inferred";
    scenario.Candidate().phase_model = "named";
    scenario.Code().counts["qk"]["instructions"] = 400;
    scenario.Code().counts["softmax"]["instructions"] = 600;
    const GateResult result = scenario.Judged();
    EXPECT_EQ(result.verdict, Verdict::kPass) << design << testing::PrintToString(result.notes);
    EXPECT_EQ(of_phases(result.cases[0]), 0);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(ExitCode(result, /*strict=*/true), 3);
    EXPECT_TRUE(HasLine(result.notes,
                        "mma 1,8,512,64: phases come from two models: inferred in the base, named in the "
                        "candidate; they were not compared"))
        << testing::PrintToString(result.notes);
    EXPECT_FALSE(HasLine(result.notes, "the base has no phases")) << testing::PrintToString(result.notes);
  }
}

TEST(JudgeTimeDecidesTest, CodeOfPhasesOfTwoModelsIsNotComparedNorRenamed) {
  Scenario scenario("static");
  scenario.Base().phase_model = "opcode classes";
  scenario.Candidate().phase_model = "named";
  auto& counts = scenario.Code().counts;
  counts["exponential"] = std::exchange(counts["softmax"], {{"instructions", 0}});
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_FALSE(result.complete);
  for (const Comparison& one : result.cases[0].comparisons) EXPECT_EQ(one.phase, "") << one.reason;
  EXPECT_FALSE(HasLine(result.notes, "is named")) << testing::PrintToString(result.notes);
}

TEST(JudgeTimeDecidesTest, ARuleOnAPhaseReadsTheCandidatesWhateverTheBasesModel) {
  Scenario scenario("recordings");
  scenario.Base().phase_model = "inferred";
  scenario.Candidate().phase_model = "named";
  const Scenario::Values base{{{"", kDuration}, 100e-6}, {{"softmax", kPhaseTime}, 1.0}};
  const Scenario::Values candidate{{{"", kDuration}, 100e-6}, {{"epilogue", kPhaseTime}, 1.0}};
  scenario.Record(1, base, candidate);
  ThresholdRule rule;
  rule.kernel = rule.shape = "*";
  rule.phase = "epilogue";
  rule.metric = kPhaseTime;
  rule.maximum = 0.5;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  rule.maximum.reset();
  rule.relative = 0.1;
  rule.phase = "softmax";  // only the base's: it is known, and not compared
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTimeDecidesTest, CyclesDecideToo) {
  Scenario scenario = Measured({1.0, 1.04});  // hidden by a higher clock
  scenario.Code().spill_bytes = 8;
  EXPECT_TRUE(Find(scenario.Of(), "spill_bytes").blocking);
}

TEST(JudgeTimeDecidesTest, ARuleBlocksWhateverTheTimeIs) {
  Scenario scenario = Measured({0.8});
  scenario.Code().spill_bytes = 8;
  scenario.thresholds.rules = {Limits("spill_bytes", 0.0)};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  scenario.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kImproved);
}

TEST(JudgeTimeDecidesTest, AMaximumThatEqualCodeBreaksIsNotChargedToItsLaunch) {
  Scenario scenario;
  scenario.MakeIdentical();
  scenario.Record(1, {{{"", "instructions"}, 100}}, {{{"", "instructions"}, 100}});
  ThresholdRule rule;
  rule.metric = "instructions";
  rule.maximum = 50.0;
  scenario.thresholds.rules = {rule};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_FALSE(Has(scenario.Of().headline, "machine code is equal")) << scenario.Of().headline;
}

TEST(JudgeTimeDecidesTest, AWrongResultIsARegressionHoweverFast) {
  Scenario scenario = Measured({0.5});
  scenario.Candidate().verification->draws_passed = 2;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

/// A run whose base and control differ, in turns up and down.
Scenario Noisy(double candidate, double noise) {
  Scenario scenario = FirstStage({candidate});
  Evidence control = scenario.input.base;
  int sign = 1;
  for (ProcessSample& process : control.processes) {
    for (auto& [key, value] : process.values[0]) value *= 1.0 + noise * sign;
    sign = -sign;
  }
  scenario.input.control = control;
  return scenario;
}

TEST(JudgeTimeDecidesTest, TheRunsOwnNoiseWidensTheTolerance) {
  EXPECT_EQ(FirstStage({1.03}).Of().verdict, Verdict::kSuspect);
  const Comparison time = Find(Noisy(1.03, 0.04).Of(), kDuration);
  EXPECT_EQ(time.verdict, Verdict::kPass);
  EXPECT_TRUE(Has(time.reason, "the run's own noise")) << time.reason;
}

TEST(JudgeTimeDecidesTest, ANoiseOfMoreThanFivePercentIsInconclusive) {
  const Comparison time = Find(Noisy(1.04, 0.06).Of(), kDuration);
  EXPECT_EQ(time.verdict, Verdict::kInconclusive);
  EXPECT_EQ(time.reason, "the run's own noise, 7.0 %, is too large to tell");
}

TEST(JudgeTimeDecidesTest, EqualCodeThatIsMuchSlowerThanABaselineIsARegression) {
  Scenario scenario;
  scenario.MakeIdentical();
  scenario.Time(20, {{1.5}});
  scenario.input.design = "recordings";
  const CaseVerdict recording = scenario.Of();
  EXPECT_EQ(recording.verdict, Verdict::kSuspect);
  EXPECT_TRUE(Has(Find(recording, kDuration).reason, "the machine code is equal")) << Find(recording, kDuration).reason;
  scenario.input.design = "baseline";
  scenario.input.base_is_promoted = true;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  Scenario same;
  same.MakeIdentical();
  same.Time(20, {{1.03}});
  same.input.design = "recordings";
  EXPECT_EQ(same.Of().verdict, Verdict::kPass) << "two recordings differ by so much";
}

// Phases that have another name, or are gone.

TEST(JudgeTimeDecidesTest, ARenamedPhaseIsFoundByItsCode) {
  Scenario scenario = FirstStage(kTooShort);
  auto counts = scenario.Code().counts.extract("softmax");
  counts.key() = "row_softmax";
  scenario.Code().counts.insert(std::move(counts));
  scenario.Record(8, {{{"qk", kPhaseTime}, 0.75}, {{"softmax", kPhaseTime}, 0.25}},
                  {{{"qk", kPhaseTime}, 0.75}, {{"row_softmax", kPhaseTime}, 0.25}});
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_TRUE(HasLine(result.notes, "the phase softmax is named row_softmax in the candidate: equal code"));
  // Other code is another phase.
  ++scenario.Code().counts["row_softmax"]["instructions"];
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kSuspect);
  EXPECT_FALSE(HasLine(scenario.Judged().notes, "is named"));
}

TEST(JudgeTimeDecidesTest, APhaseThatIsGoneIsMissing) {
  Scenario scenario = FirstStage({1.0});
  scenario.Code().counts.erase("softmax");
  scenario.Record(8, {{{"qk", kPhaseTime}, 0.75}, {{"softmax", kPhaseTime}, 0.25}}, {{{"qk", kPhaseTime}, 1.0}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kMissing) << scenario.Of().headline;
  EXPECT_EQ(ExitCode(scenario.Judged(), true), 3);
  ThresholdRule waiver;
  waiver.metric = kPhaseTime;
  waiver.phase = "softmax";
  waiver.severity = Severity::kOff;
  scenario.thresholds.rules = {waiver};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTimeDecidesTest, APhaseWithoutSamplesWhoseCodeIsThereIsNotFaster) {
  Scenario scenario;
  scenario.Time(8, {kTooShort});
  scenario.Record(8, {{{"qk", kPhaseTime}, 0.75}, {{"softmax", kPhaseTime}, 0.25}}, {{{"qk", kPhaseTime}, 1.0}});
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive) << verdict.headline;
  const Comparison& softmax = Find(verdict, kPhaseTime, "softmax");
  EXPECT_EQ(softmax.verdict, Verdict::kInconclusive);
  EXPECT_FALSE(softmax.candidate);
  EXPECT_NE(softmax.reason.find("no sample of softmax, which had 25.0 % of the time"), std::string::npos);
}

TEST(JudgeTimeDecidesTest, CountersAndPhasesThatOneSideLacksAreNoted) {
  Scenario scenario = FirstStage({1.0});
  scenario.input.drawn_pairs = false;
  scenario.MakeIdentical();
  const Scenario::Values whole{{{"", "tensor_instructions"}, 32.0}, {{"qk", kPhaseTime}, 1.0}};
  const auto judged = [&](const Scenario::Values& base, const Scenario::Values& candidate) {
    Scenario one = scenario;
    one.Record(8, base, candidate);
    return one.Judged();
  };
  EXPECT_FALSE(HasLine(judged(whole, whole).notes, "they were not compared"));
  const GateResult none = judged(whole, {});
  EXPECT_TRUE(HasLine(none.notes, "the candidate has no counters of mma 1,8,512,64, the base has: they were not"));
  EXPECT_TRUE(HasLine(none.notes, "the candidate has no phases of mma 1,8,512,64, the base has: they were not"));
  EXPECT_FALSE(none.complete);
  EXPECT_TRUE(HasLine(judged({{{"qk", kPhaseTime}, 1.0}}, whole).notes, "the base has no counters of mma"));
}

}  // namespace
}  // namespace fa_profile::gate::judge_time_decides_test
