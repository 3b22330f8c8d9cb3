#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/gate.h"
#include "gate_scenario.h"

namespace fa_profile::gate::judge_test {
namespace {

std::string All(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

// Comparable.

TEST(JudgeTest, EqualEnvironmentsCanBeCompared) {
  EXPECT_TRUE(Measured({}).Judged().incomparable.empty());
  EXPECT_EQ(Measured({}).Judged().verdict, Verdict::kPass);
}

TEST(JudgeTest, AnotherEnvironmentIsIncomparable) {
  const std::vector<std::pair<std::string, void (*)(Environment&)>> changes = {
      {"GPU: NVIDIA H200 in the base, NVIDIA H100 in the candidate",
       [](Environment& e) { e.gpu_name = "NVIDIA H100"; }},
      {"driver: ", [](Environment& e) { e.driver_version = "575.2"; }},
      {"CUDA of the driver", [](Environment& e) { e.cuda_driver_version = "12.9"; }},
      {"CUDA runtime", [](Environment& e) { e.cuda_runtime_version = "12.9"; }},
      {"highest SM clock: 1980 MHz in the base, 1755 MHz", [](Environment& e) { e.sm_clock_max_hz = 1'755'000'000; }},
      {"highest memory clock", [](Environment& e) { e.memory_clock_max_hz = 2'600'000'000; }},
      {"UUID", [](Environment& e) { e.gpu_uuid = "GPU-2"; }},
      {"UUID of the GPU: unknown in the candidate", [](Environment& e) { e.gpu_uuid.clear(); }},
      {"GPU: unknown in the candidate", [](Environment& e) { e.gpu_name.clear(); }},
  };
  for (const auto& [reason, change] : changes) {
    Scenario scenario = Measured({1.2});
    change(scenario.input.candidate.environment);
    const GateResult result = scenario.Judged();
    EXPECT_EQ(result.verdict, Verdict::kIncomparable) << reason;
    ASSERT_EQ(result.incomparable.size(), 1u) << reason;
    EXPECT_TRUE(Has(result.incomparable[0], reason)) << result.incomparable[0];
    EXPECT_TRUE(Has(result.headline, reason)) << result.headline;
    EXPECT_EQ(result.cases[0].verdict, Verdict::kIncomparable);
    EXPECT_TRUE(result.cases[0].comparisons.empty());
  }
}

TEST(JudgeTest, AnotherEnvironmentIsIncomparableWithoutCommonCases) {
  Scenario scenario = Measured({});
  scenario.input.candidate.environment.gpu_name = "NVIDIA H100";
  scenario.input.base.cases.clear();
  EXPECT_EQ(scenario.Judged().cases[0].verdict, Verdict::kPass);
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kIncomparable);
}

TEST(JudgeTest, OnlyPairsRequireTheSameGpu) {
  Scenario scenario("recordings");
  scenario.input.candidate.environment.gpu_uuid = "GPU-2";
  EXPECT_TRUE(scenario.Judged().incomparable.empty());
  scenario.input.candidate.environment.gpu_uuid.clear();
  EXPECT_TRUE(scenario.Judged().incomparable.empty());
}

TEST(JudgeTest, StaticComparisonsRequireOnlyTheSameArchitecture) {
  Scenario scenario("static");
  scenario.input.candidate.environment = {};
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.Code().architecture = "sm_80";
  scenario.Code().spill_bytes = 64;
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kIncomparable);
  EXPECT_TRUE(HasLine(result.incomparable, "architecture: sm_90a in the base, sm_80")) << All(result.incomparable);
}

TEST(JudgeTest, CorrectnessAndCodeAreJudgedOnAnyMachine) {
  Scenario wrong = Measured({});
  wrong.input.candidate.environment.gpu_name = "NVIDIA H100";
  wrong.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(wrong.Judged().verdict, Verdict::kRegression);
  Scenario spilling = Measured({});
  spilling.input.candidate.environment.gpu_name = "NVIDIA H100";
  spilling.Code().spill_bytes = 48;
  EXPECT_EQ(spilling.Judged().verdict, Verdict::kRegression);
}

// Correctness.

TEST(JudgeTest, NanIsARegressionWithoutAReportedSpeed) {
  Scenario scenario = Measured({0.5});  // twice as fast, and wrong
  scenario.Candidate().verification->draws_passed = 2;
  scenario.Candidate().verification->nonfinite = 17;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_TRUE(verdict.incorrect);
  ASSERT_EQ(verdict.comparisons.size(), 1u);
  EXPECT_EQ(verdict.comparisons[0].metric, "correct");
  EXPECT_TRUE(Has(verdict.headline, "17 outputs are NaN or infinite")) << verdict.headline;
  EXPECT_EQ(ExitCode(scenario.Judged(), false), 1);
}

TEST(JudgeTest, PassedDrawsDoNotExcuseOutputsThatAreWrong) {
  const auto verdict_with = [](auto spoil) {
    Scenario scenario = Measured({0.5});
    spoil(*scenario.Candidate().verification);
    return scenario.Of();
  };
  const CaseVerdict nan = verdict_with([](Verification& v) { v.nonfinite = 17; });
  EXPECT_EQ(nan.verdict, Verdict::kRegression);
  EXPECT_TRUE(nan.incorrect);
  EXPECT_TRUE(Has(nan.headline, "17 outputs are NaN or infinite")) << nan.headline;
  EXPECT_EQ(verdict_with([](Verification& v) { v.unwritten = 1; }).verdict, Verdict::kRegression);
  EXPECT_EQ(verdict_with([](Verification& v) { v.max_error_ratio = 1.5; }).verdict, Verdict::kRegression);
  EXPECT_FALSE(verdict_with([](Verification& v) { v.max_error_ratio = 1.0; }).incorrect);
}

TEST(JudgeTest, ANumericalErrorAboveItsToleranceIsARegression) {
  Scenario scenario = Measured({0.5});
  scenario.Candidate().verification->draws_passed = 0;
  scenario.Candidate().verification->max_error_ratio = 812.0;
  scenario.Candidate().verification->max_abs_error = 0.9;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(scenario.Of().headline, "812 times the tolerance (largest error 0.9), 0 of 3 draws passed"))
      << scenario.Of().headline;
}

TEST(JudgeTest, AKernelThatFailsToLaunchIsARegression) {
  Scenario scenario;
  scenario.Candidate().verification = Verification{};
  scenario.Candidate().verification->error = "cudaErrorLaunchOutOfResources\nat launch";
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(scenario.Of().headline, "wrong: it fails to run: cudaErrorLaunchOutOfResources at launch");
}

TEST(JudgeTest, UnwrittenOutputsAreARegression) {
  Scenario scenario;
  scenario.Candidate().verification->draws_passed = 0;
  scenario.Candidate().verification->unwritten = 3;
  EXPECT_TRUE(Has(scenario.Of().headline, "3 outputs are not written")) << scenario.Of().headline;
}

TEST(JudgeTest, AnErrorThatTheBaseHasTooIsNotARegression) {
  Scenario scenario = Measured({2.0});
  scenario.Base().verification->draws_passed = 0;
  scenario.Candidate().verification->draws_passed = 0;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(verdict.incorrect);
  EXPECT_TRUE(Has(verdict.headline, "wrong in base and candidate")) << verdict.headline;
}

TEST(JudgeTest, ACorrectedKernelIsAnImprovementAtAnySpeed) {
  Scenario scenario = Measured({2.0});
  scenario.Base().verification->draws_passed = 0;
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kImproved);
  EXPECT_FALSE(verdict.incorrect);
  EXPECT_EQ(Find(verdict, kDuration).metric, "");
}

TEST(JudgeTest, ASpeedThatTheJudgeRefusesDecides) {
  Scenario scenario = Measured({0.5});
  scenario.Candidate().refused = "a timed call executes 10 instructions, a verified one 99: timed calls do less";
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_EQ(verdict.headline,
            "not certified: a timed call executes 10 instructions, a verified one 99: timed calls do less");
  EXPECT_TRUE(verdict.refused);
  EXPECT_EQ(Find(verdict, kDuration).metric, "");
}

TEST(JudgeTest, ABaseThatTheJudgeRefusesMakesNothingBetterOrWorse) {
  for (const double factor : {0.5, 2.0}) {
    Scenario scenario = Measured({factor});
    scenario.Base().refused = "calls overlap";
    EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
    EXPECT_EQ(scenario.Of().headline, "the base is not certified: calls overlap");
  }
}

TEST(JudgeTest, WhatIsRefusedOnBothSidesIsInconclusiveAndAWrongResultIsStillARegression) {
  Scenario scenario = Measured({0.5});
  scenario.Base().refused = "calls overlap";
  scenario.Candidate().refused = "timed calls do less";
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  EXPECT_EQ(scenario.Of().headline,
            "not certified: timed calls do less; so was the base: not certified: calls overlap");
  scenario.Candidate().refused.clear();
  scenario.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

TEST(JudgeTest, AWrongBaseAndAnUnverifiedCandidateAreInconclusive) {
  Scenario scenario = Measured({0.5});
  scenario.Base().verification->draws_passed = 0;
  scenario.Candidate().verification.reset();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
}

TEST(JudgeTest, AMissingVerificationIsInconclusiveWhereTheBaseHasOne) {
  Scenario scenario = Measured({});
  scenario.Candidate().verification.reset();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  scenario.Candidate().verification = Verification{};  // without a draw nothing was verified
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  EXPECT_FALSE(scenario.Of().incorrect);
  scenario.Base().verification.reset();
  scenario.Candidate().verification.reset();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  EXPECT_TRUE(HasLine(scenario.Judged().notes, "1 of 1 cases were verified on neither side"))
      << All(scenario.Judged().notes);
  EXPECT_TRUE(Measured({}).Judged().notes.empty());
  EXPECT_TRUE(Scenario("static").Judged().notes.empty());
}

TEST(JudgeTest, AMissingCaseIsReportedAndANewCaseIsNoted) {
  Scenario scenario;
  scenario.AddCase("wmma");
  scenario.Time(8, {{}, {}});
  scenario.input.candidate.cases[1].kernel = "other";
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kMissing);
  EXPECT_EQ(result.cases[0].kernel, "wmma");
  EXPECT_EQ(scenario.Of("other").verdict, Verdict::kPass);
  EXPECT_TRUE(HasLine(result.notes, "new case without a base: other 1,8,512,64")) << All(result.notes);
}

TEST(JudgeTest, ANewKernelThatIsWrongIsARegression) {
  Scenario scenario = Measured({});
  scenario.input.base.cases.clear();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

// Tier 0.

TEST(JudgeTest, CodeForAnotherArchitectureIsNoPass) {
  Scenario scenario("static");
  scenario.input.base.cases[0].code[0].architecture = "sm_80";
  scenario.AddCase("wmma");  // comparable
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
  EXPECT_EQ(scenario.Of().headline, "machine code was not compared: sm_80 in the base, sm_90a in the candidate");
}

TEST(JudgeTest, ANewSpillIsARegression) {
  Scenario scenario("static");
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.Code().spill_bytes = 4;
  const Comparison spill = Find(scenario.Of(), "spill_bytes");
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(spill.reason, "spilled bytes per thread 0 -> 4");
  EXPECT_EQ(spill.tier, 0);
  EXPECT_EQ(scenario.Of().headline, spill.reason);
  EXPECT_TRUE(HasLine(scenario.Of().why, spill.reason)) << All(scenario.Of().why);
  // The same is not reported, less is better, more is worse.
  scenario.Base().code[0].spill_bytes = 4;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.Base().code[0].spill_bytes = 8;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_EQ(Find(scenario.Of(), "spill_bytes").verdict, Verdict::kImproved);
  scenario.Base().code[0].spill_bytes = 3;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kRegression);
}

TEST(JudgeTest, SpillsOfANewFunctionCount) {
  Scenario scenario("static");
  CodeFacts second = scenario.Code();
  second.name = "combine_kernel";
  scenario.Candidate().code.push_back(second);
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.Candidate().code[1].spill_bytes = 16;
  EXPECT_EQ(scenario.Of().headline, "spilled bytes per thread 0 -> 16 in combine_kernel");
}

TEST(JudgeTest, ARenamedFunctionIsRecognised) {
  Scenario scenario("static");
  scenario.Base().code[0].spill_bytes = 8;
  scenario.Code().spill_bytes = 8;
  scenario.Code().name = "mma_kernel_v2";
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
}

TEST(JudgeTest, FewerBlocksOnAnSmAreARegression) {
  Scenario scenario("static");
  scenario.Code().blocks_per_sm = 3;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(scenario.Of().headline, "resident blocks per SM 4 -> 3");
  scenario.Code().blocks_per_sm = 5;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  // Half as many blocks of twice the threads are as many threads.
  scenario.Code().blocks_per_sm = 2;
  scenario.Code().threads_per_block = 256;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Code().threads_per_block = 255;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  scenario.Code().threads_per_block.reset();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  // More blocks of fewer threads: a block is the smaller for it.
  scenario.Code().blocks_per_sm = 5;
  scenario.Code().threads_per_block = 64;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTest, MuchMoreCodeOrRegistersAreSuspectWithoutAGpu) {
  const auto with = [](int registers, int instructions) {
    Scenario scenario("static");
    scenario.Base().code[0].registers_per_thread = 80;
    scenario.Code().registers_per_thread = registers;
    scenario.Code().counts["softmax"]["instructions"] = instructions;  // out of 600, and 400 in qk
    return scenario;
  };
  EXPECT_EQ(with(100, 800).Of().verdict, Verdict::kPass) << "25 % and 20 % more";
  EXPECT_EQ(with(101, 600).Of().verdict, Verdict::kSuspect);
  const GateResult registers = with(128, 600).Judged();
  EXPECT_EQ(registers.cases[0].headline, "registers per thread 80 -> 128 (+60 %)");
  EXPECT_EQ(ExitCode(registers, false), 0);
  EXPECT_EQ(ExitCode(registers, true), 3);
  EXPECT_TRUE(Find(registers.cases[0], "registers_per_thread").told);
  EXPECT_EQ(with(80, 801).Of().verdict, Verdict::kSuspect);
  EXPECT_EQ(with(80, 980).Of().headline, "instructions in the code 1,000 -> 1,380 (+38 %)");
  // A single phase may grow by more, and there may be less of both.
  EXPECT_EQ(with(80, 790).Of().verdict, Verdict::kPass);
  EXPECT_EQ(with(40, 100).Of().verdict, Verdict::kPass);

  Scenario limited = with(128, 600);
  limited.thresholds.code_registers = 0.6;
  EXPECT_EQ(limited.Of().verdict, Verdict::kPass);
  ThresholdRule rule;
  rule.metric = "registers_per_thread";
  rule.severity = Severity::kWarning;
  limited = with(128, 600);
  limited.thresholds.rules = {rule};
  EXPECT_EQ(limited.Of().verdict, Verdict::kPass);
  rule.severity.reset();
  rule.relative = 1.0;
  limited.thresholds.rules = {rule};
  EXPECT_EQ(limited.Of().verdict, Verdict::kPass) << "a rule replaces the limit";
}

TEST(JudgeTest, BlocksPerSmComeFromTheLaunchWhenKnown) {
  Scenario scenario = Measured(kTooShort);
  scenario.Candidate().launches[0].blocks_per_sm = 2;
  EXPECT_EQ(scenario.Of().headline, "0.3 % slower, which may be noise: resident blocks per SM 4 -> 2");
  scenario.Candidate().launches[0].block = {256, 1, 1};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTest, GpuCodeThatNoCaseHasMustBeTheSame) {
  Scenario scenario("static");
  scenario.Code() = scenario.Base().code[0];
  scenario.input.base.other_code = {{"x.o", "00000000000000aa"}, {"y.bin", "00000000000000aa"}};
  scenario.input.candidate.other_code = scenario.input.base.other_code;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_TRUE(scenario.Judged().complete);
  EXPECT_TRUE(
      HasLine(scenario.Judged().notes, "the same on both sides: GPU code that no kernel here has, in x.o, y.bin"));
  const std::map<std::string, std::string> same = *scenario.input.base.other_code;
  std::map<std::string, std::string> changed = same;
  changed["x.o"] = "00000000000000bb";
  for (const auto& [base, candidate] :
       {std::pair(same, changed), std::pair(same, decltype(same){{"y.bin", same.at("y.bin")}}),
        std::pair(decltype(same){{"y.bin", same.at("y.bin")}}, same)}) {
    scenario.input.base.other_code = base;
    scenario.input.candidate.other_code = candidate;
    const GateResult result = scenario.Judged();
    EXPECT_EQ(result.verdict, Verdict::kInconclusive);
    EXPECT_EQ(result.headline, "INCONCLUSIVE: other GPU code, which was not compared, in x.o");
    EXPECT_EQ(ExitCode(result, true), 3);
  }
  scenario.input.candidate.other_code.reset();  // saved by an earlier version
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  EXPECT_FALSE(scenario.Judged().complete);
}

TEST(JudgeTest, CodeThatWasNotReadIsCountedInFullAndNamedInPart) {
  Scenario scenario("static");
  for (int i = 0; i < 100; ++i) scenario.input.candidate.unread_code.push_back("x.so: damaged");
  scenario.input.candidate.unread_more = 19'900;
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.headline, "INCONCLUSIVE: 20000 cubins of the candidate not read, see the notes");
  EXPECT_TRUE(HasLine(result.notes, "candidate: 19980 more images were not read")) << All(result.notes);
  EXPECT_LT(result.notes.size(), 30U);
}

TEST(JudgeTest, PtxAndLtoIrMatterWhereTheMachineCodeIsTheSame) {
  const std::string one = "00000000000000aa";
  const std::string two = "00000000000000bb";
  for (const std::string name : {"PTX compute_90", "LTO-IR compute_90"}) {
    SCOPED_TRACE(name);
    Scenario scenario("static");
    scenario.Base().architectures = {{"sm_90a", one}, {name, one}};
    scenario.Candidate().architectures = {{"sm_90a", one}, {name, two}};
    EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass) << "the machine code changed, and is judged";
    EXPECT_TRUE(scenario.Judged().complete);
    scenario.Code() = scenario.Base().code[0];
    EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
    EXPECT_EQ(scenario.Of().headline, "the same machine code, but other " + name +
                                          ", which was not judged: build machine code for what runs it");
    scenario.Candidate().architectures.erase(name);
    EXPECT_EQ(scenario.Of().headline, "no " + name + " in the candidate");
    scenario.Candidate().architectures[name] = one;
    EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
    scenario.Base().architectures.erase(name);
    EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  }
}

TEST(JudgeTest, LtoIrOfAFileMayChangeWithOneOfItsKernels) {
  Scenario scenario("static");
  scenario.AddCase("softmax");
  for (CaseFacts& facts : scenario.input.base.cases) facts.architectures["LTO-IR compute_90"] = "00000000000000aa";
  for (CaseFacts& facts : scenario.input.candidate.cases) facts.architectures["LTO-IR compute_90"] = "00000000000000bb";
  scenario.Code() = scenario.Base().code[0];  // of the first case alone
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kPass);
  scenario.input.candidate.cases[1].code = scenario.input.base.cases[1].code;
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kInconclusive);
}

TEST(JudgeTest, PrintfInDeviceCodeIsARegression) {
  Scenario scenario("static");
  scenario.Base().code[0].externals = {"malloc"};
  scenario.Code().externals = {"malloc"};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Code().externals = {"malloc", "vprintf"};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(scenario.Of().headline, "calls vprintf, unlike the base: printf in device code");
}

TEST(JudgeTest, TensorInstructionsThatAreGoneAreARegression) {
  Scenario scenario("static");
  scenario.Code().counts["qk"]["tensor"] = 1;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Code().counts["qk"]["tensor"] = 0;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_TRUE(Has(scenario.Of().headline, "32 tensor instructions are gone")) << scenario.Of().headline;
  scenario.Base().code[0].counts["qk"]["tensor"] = 0;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTest, WmmaOnLocalMemoryIsFoundByItsWarningAndItsMissingInstructions) {
  Scenario scenario("static");
  scenario.Code().counts["qk"]["tensor"] = 0;
  scenario.Code().local_array_bytes = 2048;
  scenario.Candidate().compiler_warnings = {"mma.cu(12): Warning: Cannot perform wmma load or store on local memory"};
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kRegression);
  EXPECT_EQ(Find(verdict, "compiler_warnings").verdict, Verdict::kRegression);
  EXPECT_TRUE(Find(verdict, "compiler_warnings").blocking);
  EXPECT_TRUE(Find(verdict, "static_tensor_instructions").blocking);
  EXPECT_FALSE(Find(verdict, "local_array_bytes").blocking);
  EXPECT_TRUE(HasLine(verdict.why, "on local memory")) << All(verdict.why);
}

TEST(JudgeTest, WarningsOfTheCompilerThatCostTimeBlock) {
  for (const char* const warning :
       {"Cannot do atomic on local memory", "Cannot tell what pointer points to, assuming local space",
        "Registers are spilled to shared memory", "wmma.load is not aligned",
        "wgmma.mma_async instructions are serialized", "Potential Performance Loss: setmaxnreg ignored"}) {
    Scenario scenario("static");
    scenario.Candidate().compiler_warnings = {warning, warning};
    EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression) << warning;
    EXPECT_EQ(scenario.Of().comparisons.size(), 1u) << warning;  // once is enough
  }
}

TEST(JudgeTest, OtherNewWarningsOfTheCompilerAreWarnings) {
  Scenario scenario("static");
  scenario.Candidate().compiler_warnings = {"mma.cu(12): warning #177-D: variable \"x\" was declared but never used"};
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  EXPECT_EQ(Find(verdict, "compiler_warnings").verdict, Verdict::kRegression);
  EXPECT_FALSE(Find(verdict, "compiler_warnings").blocking);
}

TEST(JudgeTest, AWarningThatMovedIsNotNew) {
  Scenario scenario("static");
  scenario.Base().compiler_warnings = {"/build/a/mma.cu(12): Warning: Cannot perform wmma load on local memory"};
  scenario.Candidate().compiler_warnings = {"/build/mma.cu(131): Warning: Cannot perform wmma load on local memory"};
  EXPECT_TRUE(scenario.Of().comparisons.empty());
  scenario.Candidate().compiler_warnings = {"/build/pv.cu(131): Warning: Cannot perform wmma load on local memory"};
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
}

TEST(JudgeTest, OtherGrowthOfCodeIsAWarning) {
  Scenario scenario("static");
  scenario.Code().registers_per_thread = 101;
  scenario.Code().stack_frame_bytes = 8;
  scenario.Code().static_shared_memory_bytes = 16;
  scenario.Code().counts["softmax"]["instructions"] = 606;  // 0.6 % of the kernel's thousand
  const CaseVerdict verdict = scenario.Of();
  EXPECT_EQ(verdict.verdict, Verdict::kPass);
  for (const char* const metric : {"registers_per_thread", "stack_frame_bytes", "static_shared_memory_bytes"}) {
    EXPECT_EQ(Find(verdict, metric).verdict, Verdict::kRegression) << metric;
    EXPECT_FALSE(Find(verdict, metric).blocking) << metric;
  }
  EXPECT_EQ(Find(verdict, "static_instructions", "softmax").verdict, Verdict::kRegression);
  EXPECT_EQ(Find(verdict, "static_instructions").verdict, Verdict::kRegression);
  scenario.Code().counts["softmax"]["instructions"] = 604;
  EXPECT_EQ(Find(scenario.Of(), "static_instructions", "softmax").verdict, Verdict::kPass);
}

TEST(JudgeTest, ARuleMakesGrowthOfCodeBlock) {
  Scenario scenario("static");
  ThresholdRule rule;
  rule.metric = "registers_per_thread";
  rule.absolute = 8;
  rule.line = 12;
  scenario.thresholds.file = "ci/thresholds.yaml";
  scenario.thresholds.rules = {rule};
  scenario.Code().registers_per_thread = 108;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Code().registers_per_thread = 109;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_EQ(Find(scenario.Of(), "registers_per_thread").rule, "ci/thresholds.yaml:12");
  scenario.thresholds.rules[0].severity = Severity::kWarning;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  EXPECT_EQ(Find(scenario.Of(), "registers_per_thread").verdict, Verdict::kRegression);
  scenario.thresholds.rules[0].severity = Severity::kOff;
  EXPECT_EQ(Find(scenario.Of(), "registers_per_thread").metric, "");
}

TEST(JudgeTest, AMissingMachineCodeIsReportedByTheStaticGate) {
  Scenario scenario("static");
  scenario.Candidate().code.clear();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  EXPECT_EQ(scenario.Of().headline, "no machine code in the candidate");
  scenario = Scenario("static");
  scenario.Base().code.clear();
  EXPECT_EQ(scenario.Of().headline, "no machine code in the base");
}

TEST(JudgeTest, MachineCodeOfTheBaseOnlyIsInconclusive) {
  Scenario scenario = Measured({});
  scenario.Candidate().code.clear();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kInconclusive);
  EXPECT_EQ(scenario.Of().headline, "no machine code in the candidate");
  scenario.Candidate().verification->draws_passed = 0;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  scenario.Candidate().verification->draws_passed = 3;
  scenario.Base().code.clear();
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
  scenario.Candidate().code = Scenario().Candidate().code;
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

// The same code.

TEST(JudgeTest, IdenticalCodeThatIsMeasuredSlowerIsARegressionOfTheLaunchOrTheMachine) {
  Scenario scenario;
  scenario.MakeIdentical();
  scenario.Time(8, {{1.10}});
  EXPECT_EQ(scenario.Judged().verdict, Verdict::kSuspect);
  scenario.Time(14, {{1.10}}, 2);
  scenario.input.second_stage = true;
  const GateResult result = scenario.Judged();
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_TRUE(result.cases[0].identical);
  EXPECT_TRUE(Has(Find(result.cases[0], kDuration).reason, "the machine code is equal: the launch, its arguments or"));
  ASSERT_TRUE(result.control);
  EXPECT_EQ(result.control->equal_code_worse, 4);  // time and cycles, in each stage
  EXPECT_EQ(result.control->false_positives, 0);
  EXPECT_TRUE(HasLine(result.notes, "equal machine code measured worse: mma 1,8,512,64")) << All(result.notes);
}

TEST(JudgeTest, EqualCodeWithOtherCountersIsNotTheSameKernel) {
  Scenario scenario;
  scenario.MakeIdentical();
  const MetricKey key{"", "instructions"};
  scenario.Record(1, {{key, 100'000}}, {{key, 200'000}});
  EXPECT_EQ(scenario.Of().verdict, Verdict::kRegression);
  EXPECT_FALSE(scenario.Of().identical);
  EXPECT_TRUE(Has(Find(scenario.Of(), key.metric).reason, "the machine code is equal"));
  scenario.input.candidate.processes.back().values[0][key] = 100'400;
  EXPECT_TRUE(scenario.Of().identical);
  EXPECT_EQ(scenario.Of().verdict, Verdict::kPass);
}

TEST(JudgeTest, AnotherClusterOrCarveOutIsAnotherKernel) {
  Scenario scenario;
  scenario.MakeIdentical();
  EXPECT_TRUE(scenario.Of().identical);
  scenario.Candidate().launches[0].cluster = {2, 1, 1};
  EXPECT_FALSE(scenario.Of().identical);
  scenario.Candidate().launches[0].cluster = {};
  scenario.Candidate().launches[0].shared_memory_config_bytes = 32768;
  EXPECT_FALSE(scenario.Of().identical) << "the base's is not known";
  scenario.Base().launches[0].shared_memory_config_bytes = 65536;
  EXPECT_FALSE(scenario.Of().identical);
  scenario.Base().launches[0].shared_memory_config_bytes = 32768;
  EXPECT_TRUE(scenario.Of().identical);
}

TEST(JudgeTest, IdenticalCodeCountsAsControlTrials) {
  Scenario scenario;
  scenario.MakeIdentical();
  scenario.Time(8, {{}});
  EXPECT_EQ(scenario.Judged().control->equal_code_trials, 2);
  EXPECT_EQ(scenario.Judged().control->equal_code_worse, 0);
  EXPECT_EQ(scenario.Judged().control->trials, 0);
  EXPECT_TRUE(scenario.Judged().notes.empty());
}

TEST(JudgeTest, AnotherLaunchOrAnotherRegisterCountIsNotIdentical) {
  Scenario scenario = Measured({});
  scenario.MakeIdentical();
  EXPECT_TRUE(scenario.Of().identical);
  scenario.Candidate().launches[0].grid = {9, 4, 1};
  EXPECT_FALSE(scenario.Of().identical);
  scenario.MakeIdentical();
  scenario.Code().registers_per_thread = 99;
  EXPECT_FALSE(scenario.Of().identical);
  scenario.MakeIdentical();
  scenario.Code().code_hash.clear();
  scenario.Base().code[0].code_hash.clear();
  EXPECT_FALSE(scenario.Of().identical);
}

}  // namespace
}  // namespace fa_profile::gate::judge_test
