#include "fa_profile/gate_pair.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/gate_build.h"
#include "fa_profile/gate_run.h"
#include "test_files.h"

namespace fa_profile::gate::gate_pair_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Empty while the file is missing.
std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Whether a process is there and no corpse. One that was killed a moment ago may still be.
bool StillRuns(const std::string& pid) {
  for (int i = 0; i < 30'000; ++i) {
    const std::string stat = TextOf("/proc/" + pid + "/stat");
    const std::size_t end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos || stat.substr(end_of_name + 2, 1) == "Z") return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// The recording that tests/fake_build writes.
Evidence LoadFake(const std::string& path) {
  const Json json = Json::parse(ReadFile(path));
  Evidence evidence;
  const Json& environment = json.at("environment");
  evidence.origin = path;
  evidence.environment.gpu_name = environment.at("gpu_name");
  evidence.environment.gpu_uuid = environment.at("gpu_uuid");
  evidence.environment.chip = environment.at("chip");
  evidence.environment.driver_version = environment.at("driver_version");
  evidence.environment.cuda_driver_version = environment.at("cuda_driver_version");
  evidence.environment.cuda_runtime_version = environment.at("cuda_runtime_version");
  evidence.environment.cupti_version = environment.at("cupti_version");
  evidence.environment.sm_clock_max_hz = environment.at("sm_clock_max_hz");
  evidence.environment.memory_clock_max_hz = environment.at("memory_clock_max_hz");
  evidence.environment.tool_version = environment.at("tool_version");
  ProcessSample process;
  process.kind = "recording";
  for (const Json& one : json.at("cases")) {
    CaseFacts facts;
    facts.kernel = one.at("kernel");
    facts.shape = one.at("shape");
    CodeFacts code;
    code.name = facts.kernel + "(args)";
    code.code_hash = one.at("hash");
    facts.code = {code};
    LaunchFacts launch;
    launch.kernel_name = code.name;
    facts.launches = {launch};
    if (const int draws = one.at("draws"); draws > 0) {
      facts.verification.emplace();
      facts.verification->draws = draws;
      facts.verification->draws_passed = one.at("correct").get<bool>() ? draws : 0;
      facts.verification->max_error_ratio = one.at("correct").get<bool>() ? 0.5 : 9.0;
    }
    evidence.cases.push_back(facts);
    std::map<MetricKey, double> values;
    for (const auto& [phase, share] : one.at("shares").items()) values[{phase, kPhaseTime}] = share;
    process.values.push_back(values);
  }
  evidence.processes = {process};
  return evidence;
}

// A process as the log has it.
struct Started {
  std::string build, kind;
  int order = 0;
  std::string kernels, shapes, draws;
};

class GatePairTest : public FolderTest {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "log").flush();
    fs::create_directory(folder_ / "tmp");
    knobs_["base"] = {{"name", "base"}, {"log", folder_ / "log"}};
    knobs_["base"]["kernels"] = {{"mma", {{"hash", "00000000000000aa"}}}, {"wmma", {{"hash", "00000000000000bb"}}}};
    knobs_["head"] = knobs_["base"];
    knobs_["head"]["name"] = "head";
    knobs_["head"]["kernels"]["mma"]["hash"] = "00000000000000cc";
    knobs_["head"]["kernels"]["wmma"]["hash"] = "00000000000000dd";
    options_.base = folder_ / "base";
    options_.candidate = folder_ / "head";
    options_.today = "2026-11-21";
    options_.timeout_seconds = 600;
    options_.phase_pairs = 0;  // half of the time
    options_.load = LoadFake;
    (void)setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp")) << "something was left behind";
    (void)unsetenv("TMPDIR");
  }

  Json& Head(const std::string& kernel) { return knobs_["head"]["kernels"][kernel]; }

  void WriteBuilds() {
    for (const auto& [name, knobs] : knobs_) {
      fs::create_directories(folder_ / name);
      fs::copy_file(FA_PROFILE_FAKE_BUILD, folder_ / name / "fa-profile", fs::copy_options::overwrite_existing);
      std::ofstream(folder_ / name / "knobs.json") << knobs.dump();
    }
  }
  GateResult Run() {
    WriteBuilds();
    run_ = RunPair(options_);
    return JudgePair(run_, options_.thresholds, options_.today, "fa-profile gate --pair base head");
  }
  // The message of the error that the run ends with, and its hint.
  std::string Refusal() {
    WriteBuilds();
    try {
      run_ = RunPair(options_);
    } catch (const Error& error) {
      return error.message() + " | " + error.hint();
    }
    return "";
  }
  std::vector<Started> Log(const std::string& kind) const {
    std::vector<Started> log;
    std::ifstream file(folder_ / "log");
    for (Started one; file >> one.build >> one.kind >> one.order >> one.kernels;) {
      std::string rest;
      std::getline(file, rest);
      one.draws = rest.substr(rest.rfind(' ') + 1);
      one.shapes = rest.substr(1, rest.rfind(' ') - 1);
      if (one.kind == kind) log.push_back(one);
    }
    return log;
  }
  static const CaseVerdict& CaseOf(const GateResult& result, const std::string& kernel) {
    const auto found = std::ranges::find(result.cases, kernel, &CaseVerdict::kernel);
    if (found == result.cases.end()) throw std::runtime_error("no case " + kernel);
    return *found;
  }
  static int Processes(const Evidence& evidence, const std::string& kind, int stage) {
    return static_cast<int>(std::ranges::count_if(evidence.processes, [&](const ProcessSample& process) {
      return process.kind == kind && process.stage == stage;
    }));
  }

  std::map<std::string, Json> knobs_;
  PairOptions options_;
  PairRun run_;
};

TEST(ArmOrderTest, InAnEvenNumberOfPairsEachArmRunsFirstHalfOfTheTime) {
  const std::vector<PairArm> arms = {PairArm::kBase, PairArm::kCandidate, PairArm::kControl};
  std::map<std::pair<PairArm, PairArm>, int> before;
  for (int pair = 0; pair < 24; ++pair) {
    const std::vector<PairArm> order = ArmOrder(pair);
    ASSERT_TRUE(std::ranges::is_permutation(order, arms));
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (std::size_t j = i + 1; j < order.size(); ++j) ++before[{order[i], order[j]}];
    }
    if (pair % 2 == 0) continue;
    for (const auto& [two, times] : before) EXPECT_EQ(times, (pair + 1) / 2);
    EXPECT_EQ(before.size(), 6U);
  }
}

TEST(ArmOrderTest, InSixPairsEveryOrderOfTheArmsIsBalanced) {
  std::map<std::pair<std::size_t, PairArm>, int> places;
  std::map<std::pair<PairArm, PairArm>, int> neighbours;
  for (int pair = 0; pair < 6; ++pair) {
    const std::vector<PairArm> order = ArmOrder(pair);
    for (std::size_t i = 0; i < order.size(); ++i) ++places[{i, order[i]}];
    for (std::size_t i = 1; i < order.size(); ++i) ++neighbours[{order[i - 1], order[i]}];
  }
  EXPECT_EQ(places.size(), 9U);
  EXPECT_EQ(neighbours.size(), 6U);
  for (const auto& [place, times] : places) EXPECT_EQ(times, 2);
  for (const auto& [two, times] : neighbours) EXPECT_EQ(times, 2);
}

TEST_F(GatePairTest, RecordingsHaveTheCountersThatRulesName) {
  // A saved build is judged by the rules too: gate --measure, then gate --candidate.
  const std::string rules = folder_ / "thresholds.yaml";
  std::ofstream(rules) << "version: 1\nrules:\n  - {kernel: mma, metric: tensor_core_utilization_ratio, minimum: 1%}\n";
  WriteBuilds();
  GateOptions options;
  options.thresholds = rules;
  options.run = options_;
  options.processes = options.recordings = 1;
  options.measure = options_.base;
  options.save = folder_ / "base.json";
  (void)RunGate(options);
  EXPECT_NE(TextOf(folder_ / "base" / "metrics").find("sm__pipe_tensor"), std::string::npos);
  options.measure = options.save = "";
  options.pair = {options_.base, options_.candidate};
  (void)RunGate(options);
  EXPECT_NE(TextOf(folder_ / "head" / "metrics").find("sm__pipe_tensor"), std::string::npos);
}

TEST_F(GatePairTest, EqualMachineCodeIsNotTimed) {
  for (const char* const kernel : {"mma", "wmma"}) Head(kernel) = knobs_["base"]["kernels"][kernel];
  Head("mma")["factor"] = 2.0;  // which must not be shown
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_EQ(Log("timing").size(), 0U);
  EXPECT_EQ(Log("recording").size(), 2U);
}

TEST_F(GatePairTest, OfTwoCasesTheOneWithOtherCodeIsTimed) {
  Head("wmma") = knobs_["base"]["kernels"]["wmma"];
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_TRUE(CaseOf(result, "wmma").identical);
  for (const Started& one : Log("timing")) EXPECT_EQ(one.kernels, "mma");
}

TEST_F(GatePairTest, EqualMachineCodeIsTimedOnRequest) {
  for (const char* const kernel : {"mma", "wmma"}) Head(kernel) = knobs_["base"]["kernels"][kernel];
  options_.measure_identical = true;
  Run();
  EXPECT_EQ(Log("timing").size(), 2U + 3U * 8U);
}

TEST_F(GatePairTest, EqualSpeedPassesAfterTheFirstStageInTheDocumentedOrder) {
  options_.phase_pairs = 8;
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  ASSERT_TRUE(result.control);
  EXPECT_TRUE(result.control->passed);
  EXPECT_FALSE(run_.second_stage);

  const std::vector<Started> timings = Log("timing");
  ASSERT_EQ(timings.size(), 2U + 3U * 8U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(timings[i].order, 0) << "warm-up";
  for (int pair = 0; pair < 8; ++pair) {
    const std::vector<PairArm> arms = ArmOrder(pair);
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const Started& one = timings[2 + 3 * static_cast<std::size_t>(pair) + i];
      EXPECT_EQ(one.build, arms[i] == PairArm::kCandidate ? "head" : "base");
      EXPECT_EQ(one.order, pair + 1) << "the arms of a pair have one order of cases";
      EXPECT_EQ(one.kernels, "mma+wmma");
      EXPECT_EQ(one.shapes, "1,8,512,64");
    }
  }
  const std::vector<Started> recordings = Log("recording");
  ASSERT_EQ(recordings.size(), 3U * 8U);
  for (std::size_t i = 0; i < recordings.size(); ++i) EXPECT_EQ(recordings[i].draws, i < 2 ? "3" : "0");
  for (const Evidence* const evidence : {&run_.base, &run_.candidate, &run_.control}) {
    EXPECT_EQ(Processes(*evidence, "timing", 1), 8);
    EXPECT_EQ(Processes(*evidence, "recording", 1), 8);
    EXPECT_EQ(Processes(*evidence, "timing", 2), 0);
    for (const ProcessSample& process : evidence->processes) {
      EXPECT_GE(process.pair, 0);
      EXPECT_LT(process.pair, 8);
      EXPECT_EQ(process.values.size(), 3U) << "two cases and the reference kernel";
    }
  }
}

TEST_F(GatePairTest, OnlySuspectCasesAreMeasuredAgain) {
  Head("mma")["factor"] = 1.10;
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_EQ(CaseOf(result, "mma").verdict, Verdict::kRegression);
  EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass);
  EXPECT_TRUE(run_.second_stage);
  const std::vector<Started> timings = Log("timing");
  ASSERT_EQ(timings.size(), 2U + 3U * 8U + 3U * 14U);
  for (std::size_t i = 2 + 3 * 8; i < timings.size(); ++i) {
    EXPECT_EQ(timings[i].kernels, "mma");
    EXPECT_GT(timings[i].order, 8) << "pair numbers go on";
  }
  for (const Evidence* const evidence : {&run_.base, &run_.candidate, &run_.control}) {
    EXPECT_EQ(Processes(*evidence, "timing", 2), 14);
  }
}

TEST_F(GatePairTest, TheSlowerPhaseIsNamed) {
  options_.phase_pairs = 8;
  Head("mma")["factor"] = 1.15;
  Head("mma")["softmax"] = 1.7;
  const GateResult result = Run();
  EXPECT_EQ(CaseOf(result, "mma").verdict, Verdict::kRegression);
  EXPECT_EQ(CaseOf(result, "mma").phase, "softmax");
  EXPECT_EQ(Processes(run_.candidate, "recording", 2), 14);
}

TEST_F(GatePairTest, AControlThatMovesMakesTheRunInconclusive) {
  knobs_["base"]["control_factor"] = 1.10;
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kInconclusive) << result.headline;
  EXPECT_FALSE(result.control->passed);
}

TEST_F(GatePairTest, AReferenceKernelThatMovesMakesTheRunInconclusive) {
  knobs_["head"]["reference_factor"] = 1.05;
  EXPECT_EQ(Run().verdict, Verdict::kInconclusive);
}

TEST_F(GatePairTest, ThrottledPairsAreDropped) {
  knobs_["head"]["throttled_pairs"] = {0, 1, 2, 3};
  EXPECT_EQ(Run().verdict, Verdict::kInconclusive);
}

TEST_F(GatePairTest, AWrongKernelIsARegressionAndNotTimed) {
  Head("mma")["wrong"] = true;
  Head("mma")["factor"] = 0.1;
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_TRUE(CaseOf(result, "mma").incorrect);
  EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass);
  for (const Started& one : Log("timing")) EXPECT_EQ(one.kernels, "wmma");
}

TEST_F(GatePairTest, AKernelThatCrashesIsNamedAndTheOthersAreJudged) {
  options_.phase_pairs = 8;
  Head("mma")["timing_fails"] = "crash";
  knobs_["head"]["fails_from"] = 3;
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_TRUE(CaseOf(result, "mma").incorrect);
  EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass) << CaseOf(result, "wmma").headline;
  const auto index = FindCase(run_.candidate, "mma", "1,8,512,64");
  ASSERT_TRUE(index);
  EXPECT_EQ(run_.candidate.cases[*index].verification->error,
            "its process was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(Processes(run_.candidate, "timing", 1), 8) << "the pair is measured without it";
}

TEST_F(GatePairTest, AKernelThatFailsInTheFirstRecordingIsNamed) {
  for (const char* const how : {"crash", "refuse"}) {
    Head("mma")["recording_fails"] = how;
    const GateResult result = Run();
    EXPECT_EQ(result.verdict, Verdict::kRegression) << how;
    EXPECT_TRUE(CaseOf(result, "mma").incorrect);
    EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass) << CaseOf(result, "wmma").headline;
  }
}

TEST_F(GatePairTest, TheOnlyKernelThatCrashesIsARegression) {
  for (const char* const build : {"base", "head"}) knobs_[build]["kernels"].erase("wmma");
  Head("mma")["recording_fails"] = "crash";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_TRUE(CaseOf(result, "mma").incorrect);
  EXPECT_EQ(Log("timing").size(), 0U);
}

TEST_F(GatePairTest, AKernelThatHangsIsKilledWithItsChildren) {
  Head("mma")["timing_fails"] = "hang";
  options_.timeout_seconds = 20.0;  // applies to the others too, on a busy machine
  const GateResult result = Run();
  EXPECT_TRUE(CaseOf(result, "mma").incorrect);
  const auto index = FindCase(run_.candidate, "mma", "1,8,512,64");
  EXPECT_TRUE(run_.candidate.cases[*index].verification->error.starts_with("its process did not end within "));
  std::ifstream pids(folder_ / "head" / "pids");
  int found = 0;
  for (std::string pid; pids >> pid; ++found) EXPECT_FALSE(StillRuns(pid));
  EXPECT_GE(found, 2);
}

TEST_F(GatePairTest, ACaseThatReportsAFailureIsIncorrect) {
  Head("mma")["error"] = "cudaErrorInvalidConfiguration";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression);
  EXPECT_TRUE(CaseOf(result, "mma").incorrect);
  EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass);
}

TEST_F(GatePairTest, ASpeedThatIsRefusedDecidesAndTheOtherCasesAreTimed) {
  Head("mma")["refused"] = "a timed call executes 10 instructions, a verified one 99: timed calls do less";
  const GateResult result = Run();
  EXPECT_EQ(ExitCode(result, false), 1);
  EXPECT_TRUE(result.headline.starts_with("REGRESSION: mma 1,8,512,64: not certified: a timed call executes 10 "))
      << result.headline;
  EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass);
}

TEST_F(GatePairTest, ABaseThatIsRefusedMakesNoCandidateBetter) {
  knobs_["base"]["kernels"]["mma"]["refused"] = "calls overlap";
  Head("mma")["factor"] = 0.5;
  const GateResult result = Run();
  EXPECT_EQ(CaseOf(result, "mma").verdict, Verdict::kInconclusive);
  EXPECT_EQ(CaseOf(result, "mma").headline, "the base is not certified: calls overlap");
}

TEST_F(GatePairTest, WhatTheJudgeCannotTimeIsNeverBetter) {
  for (const std::vector<std::string>& builds : {std::vector<std::string>{"base", "head"}, {"base"}, {"head"}}) {
    for (const char* const build : {"base", "head"}) knobs_[build]["kernels"]["mma"].erase("untimed");
    for (const std::string& build : builds) {
      knobs_[build]["kernels"]["mma"]["untimed"] = "another process works on this GPU";
    }
    Head("mma")["factor"] = 0.5;
    const GateResult result = Run();
    EXPECT_EQ(CaseOf(result, "mma").verdict, Verdict::kInconclusive);
    EXPECT_EQ(CaseOf(result, "mma").headline, "the judge cannot time it: another process works on this GPU");
    EXPECT_EQ(CaseOf(result, "wmma").verdict, Verdict::kPass);
  }
}

// A process left by a candidate may end the base's worker.
TEST_F(GatePairTest, ABaseThatNoLongerRunsMakesNoCandidateBetter) {
  knobs_["base"]["kernels"]["mma"]["error"] = "its process was killed";
  const GateResult result = Run();
  EXPECT_EQ(CaseOf(result, "mma").verdict, Verdict::kInconclusive);
  EXPECT_EQ(CaseOf(result, "mma").headline,
            "the judge cannot time it: it ran at first and no longer does: its process was killed");
}

TEST_F(GatePairTest, AFailingBaseIsAnErrorWithoutAVerdict) {
  knobs_["base"]["kernels"]["mma"]["recording_fails"] = "refuse";
  const std::string recording = Refusal();
  EXPECT_NE(recording.find("the base"), std::string::npos) << recording;
  EXPECT_NE(recording.find("ended with exit code 2: fa-profile: error: no GPU"), std::string::npos) << recording;
  EXPECT_NE(recording.find("run by hand: " + (folder_ / "base" / "fa-profile").string()), std::string::npos);
  knobs_["base"]["kernels"]["mma"].erase("recording_fails");
  knobs_["base"]["kernels"]["mma"]["timing_fails"] = "crash";
  EXPECT_NE(Refusal().find("gate-sample"), std::string::npos);
}

TEST_F(GatePairTest, ACandidateThatRefusesEveryShapeIsAnErrorWithoutAVerdict) {
  for (const char* const kernel : {"mma", "wmma"}) Head(kernel)["recording_fails"] = "refuse";
  EXPECT_NE(Refusal().find("the candidate"), std::string::npos);
}

TEST_F(GatePairTest, AnInvalidSampleIsAnErrorWithoutAVerdict) {
  knobs_["head"]["output"] = "garbage\n";
  knobs_["head"]["output_instead"] = true;
  EXPECT_NE(Refusal().find("succeeded, but: invalid output of the timing process"), std::string::npos);
}

TEST_F(GatePairTest, OutputOfAKernelDoesNotHideTheSample) {
  knobs_["head"]["output"] = "printed by a kernel {\n{\"a\": 1}\n";
  knobs_["head"]["output_times"] = 100000;
  EXPECT_EQ(Run().verdict, Verdict::kPass);
}

TEST_F(GatePairTest, BothBuildsMustRunOnTheSameGpu) {
  knobs_["head"]["uuid"] = "GPU-2";
  const std::string refusal = Refusal();
  EXPECT_NE(refusal.find("GPU-2"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("GPU-1"), std::string::npos);
  EXPECT_EQ(Log("timing").size(), 0U);
}

TEST_F(GatePairTest, ABusyGpuIsRefusedUnlessAllowed) {
  std::string asked;
  options_.compute_processes = [&](const std::string& uuid) {
    asked = uuid;
    return std::optional<unsigned>(1);
  };
  EXPECT_NE(Refusal().find("another process has a compute context on GPU GPU-1"), std::string::npos);
  EXPECT_EQ(asked, "GPU-1");
  options_.shared = true;
  EXPECT_EQ(Refusal(), "");
  options_.shared = false;
  options_.compute_processes = [](const std::string&) { return std::optional<unsigned>(); };
  EXPECT_EQ(Refusal(), "") << "a driver that does not say is no reason";
}

TEST_F(GatePairTest, AProcessThatAppearsDuringTheRunIsADataLoss) {
  options_.pairs = 6;
  int asked = 0;
  options_.compute_processes = [&](const std::string&) {
    return std::optional<unsigned>(++asked == 1 ? 0 : asked < 25);
  };
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(run_.base.losses, (std::vector<std::string>{"another process used the GPU after pair 1"}));
}

TEST_F(GatePairTest, AnInvalidBuildIsRefusedBeforeAnythingRuns) {
  WriteBuilds();
  options_.candidate = folder_ / "nowhere";
  EXPECT_NE(Refusal().find(" not found"), std::string::npos);
  options_.candidate = folder_ / "tmp";
  EXPECT_NE(Refusal().find("no fa-profile in the folder"), std::string::npos);
  options_.candidate = folder_ / "log";
  EXPECT_NE(Refusal().find("is neither an executable program nor a library"), std::string::npos);
  options_.candidate = folder_ / "head";
  std::ofstream(folder_ / "head" / "old").flush();
  EXPECT_NE(Refusal().find("does not know gate-sample"), std::string::npos);
  options_.candidate = FA_PROFILE_FAKE_LIBRARY;
  EXPECT_NE(Refusal().find("a program and a kernel library cannot be compared"), std::string::npos);
  EXPECT_EQ(Log("recording").size(), 0U);
}

TEST_F(GatePairTest, KernelsOfTwoLibrariesAreMatchedAcrossTheSides) {
  const fs::path base(FA_PROFILE_FAKE_LIBRARY);
  const fs::path head(FA_PROFILE_FAKE_LIBRARY_2);
  for (const fs::path& library : {base, head}) {
    const bool is_base = library == base;
    knobs_["base"]["libraries"][library.filename()] = {
        {"name", is_base ? "base" : "head"},
        {"kernels", {{is_base ? "mine" : "mine_2", {{"hash", is_base ? "00000000000000aa" : "00000000000000bb"}}}}}};
  }
  knobs_["base"]["libraries"][head.filename()]["kernels"]["mine_2"]["factor"] = 1.2;
  options_.base = base;
  options_.candidate = head;
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_EQ(CaseOf(result, "mine").verdict, Verdict::kRegression);
  EXPECT_EQ(run_.candidate.losses.front(), "its kernel is named mine_2; it is compared with mine");
}

// Two files of kernels in Python, with two cases each: the base's function `norm`, and the head's, `function`.
void WritePythonFiles(const fs::path& folder, Json& knobs, const std::string& function) {
  for (const std::string name : {"base", "head"}) {
    WriteFile(folder / (name + ".py"), "");
    const std::string kernel = name == "base" ? "norm" : function;
    const std::string hash = name == "base" ? "00000000000000aa" : "00000000000000bb";
    Json kernels;
    for (const char* const label : {"@n=1", "@n=2"}) kernels[kernel + label] = {{"hash", hash}};
    knobs["libraries"][name + ".py:" + kernel] = {{"name", name}, {"kernels", kernels}};
  }
}

TEST_F(GatePairTest, EqualMachineCodeOfLibrariesWithOtherHostCodeIsTimed) {
  const fs::path base(FA_PROFILE_FAKE_LIBRARY);
  const fs::path head(FA_PROFILE_FAKE_LIBRARY_AGAIN);
  const Json kernels = {{"mine", {{"hash", "00000000000000aa"}}}};
  knobs_["base"]["libraries"][base.filename()] = {{"name", "base"}, {"kernels", kernels}};
  knobs_["base"]["libraries"][head.filename()] = {{"name", "head"}, {"kernels", kernels}};
  options_.base = base;
  options_.candidate = head;
  options_.tool = folder_ / "base" / "fa-profile";
  GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_EQ(Log("timing").size(), 2U + 3U * 8U);
  EXPECT_EQ(std::ranges::count(result.notes, "the same machine code, other host code: timed (mine 1,8,512,64)"), 1);

  knobs_["base"]["libraries"][head.filename()]["kernels"]["mine"]["factor"] = 1.2;
  result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_FALSE(CaseOf(result, "mine").identical);

  fs::copy(base, folder_ / base.filename());  // the same library in another folder
  std::ofstream(folder_ / "log").flush();
  options_.candidate = folder_ / base.filename();
  result = Run();
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.headline;
  EXPECT_EQ(CaseOf(result, "mine").headline, "the same machine code and host code");
  EXPECT_EQ(Log("timing").size(), 0U);
}

TEST_F(GatePairTest, EqualMachineCodeOfAnotherPythonFileIsTimed) {
  WritePythonFiles(folder_, knobs_["base"], "norm");
  Json& head = knobs_["base"]["libraries"]["head.py:norm"]["kernels"];
  for (Json& kernel : head) kernel["hash"] = "00000000000000aa";
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  options_.tool = folder_ / "base" / "fa-profile";
  EXPECT_EQ(Run().verdict, Verdict::kPass);
  EXPECT_EQ(Log("timing").size(), 0U) << "the two files are equal";

  WriteFile(folder_ / "head.py", "import time\n");
  head["norm@n=2"]["factor"] = 1.2;
  const GateResult result = Run();
  EXPECT_EQ(CaseOf(result, "norm@n=1").verdict, Verdict::kPass);
  EXPECT_EQ(CaseOf(result, "norm@n=2").verdict, Verdict::kRegression) << result.headline;
}

TEST_F(GatePairTest, CasesOfTwoPythonFunctionsAreMatchedAcrossTheSides) {
  WritePythonFiles(folder_, knobs_["base"], "norm_2");
  knobs_["base"]["libraries"]["head.py:norm_2"]["kernels"]["norm_2@n=2"]["factor"] = 1.2;
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm_2";
  options_.candidate_note = "its tolerance is looser";
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_EQ(CaseOf(result, "norm@n=1").verdict, Verdict::kPass);
  EXPECT_EQ(CaseOf(result, "norm@n=2").verdict, Verdict::kRegression);
  EXPECT_EQ(run_.candidate.losses, (std::vector<std::string>{"its kernel is named norm_2; it is compared with norm",
                                                             "its tolerance is looser"}));
  // The second stage measures only the suspect, on both sides.
  EXPECT_EQ(Log("timing").back().kernels.substr(0, 4), "norm");
  EXPECT_FALSE(Contains(Log("timing").back().kernels, "n=1"));
}

TEST_F(GatePairTest, AWrongPythonCaseIsNamed) {
  WritePythonFiles(folder_, knobs_["base"], "norm");
  knobs_["base"]["libraries"]["head.py:norm"]["kernels"]["norm@n=2"]["wrong"] = true;
  options_.base = (folder_ / "base.py").string() + ":norm";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  options_.tool = folder_ / "base" / "fa-profile";
  const GateResult result = Run();
  EXPECT_EQ(result.verdict, Verdict::kRegression) << result.headline;
  EXPECT_TRUE(CaseOf(result, "norm@n=2").incorrect);
  EXPECT_FALSE(CaseOf(result, "norm@n=1").incorrect);
}

TEST_F(GatePairTest, AKernelInPythonIsComparedWithAnotherOnly) {
  WriteBuilds();
  WriteFile(folder_ / "head.py", "");
  options_.base = folder_ / "base";
  options_.candidate = (folder_ / "head.py").string() + ":norm";
  EXPECT_TRUE(Contains(Refusal(), "a program and a kernel in Python cannot be compared"));
  options_.candidate = folder_ / "head.py";
  EXPECT_TRUE(Contains(Refusal(), "names no function"));
}

TEST_F(GatePairTest, ASavedRunCanBeJudgedAgain) {
  Head("mma")["factor"] = 1.10;
  const GateResult result = Run();
  const PairRun again = PairRunFromJson(PairRunToJson(run_), "run.json");
  EXPECT_TRUE(again.second_stage);
  EXPECT_EQ(PairRunToJson(again), PairRunToJson(run_));
  const GateResult replayed = JudgePair(again, options_.thresholds, options_.today, "");
  EXPECT_EQ(replayed.verdict, result.verdict);
  EXPECT_EQ(replayed.headline, result.headline);
  for (const char* const text : {"", "[]", "{}", "{\"version\": 1}"}) {
    EXPECT_THROW((void)PairRunFromJson(text, "run.json"), Error) << text;
  }
}

TEST_F(GatePairTest, AnEditedOrForeignRunFileIsRefusedWithTheReason) {
  Run();
  const std::string good = PairRunToJson(run_);
  const auto refusal = [](const std::string& text) {
    try {
      (void)PairRunFromJson(text, "run.json");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string text = good;
    text.replace(text.find(before), before.size(), after);
    return refusal(text);
  };
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_EQ(refusal(std::string(200'000, '[')), "run.json is nested deeper than 16 levels");
  EXPECT_EQ(with("\"control\":", "\"candidate\": {},\n\"control\":"),
            "run.json: duplicate key \"candidate\" in an object");
  EXPECT_EQ(with("\"second_stage\"", "\"more\": 1,\n\"second_stage\""), "run.json: unknown key \"more\"");
  EXPECT_EQ(with("\"version\": 1", "\"version\": 2"),
            "run.json was written by a newer fa-profile: version 2, and this one reads up to 1");
  EXPECT_EQ(with("\"control\":", "\"contol\":"), "run.json: unknown key \"contol\"; did you mean control?");
  EXPECT_EQ(refusal(PairRunToJson(run_).substr(0, good.size() / 2)).substr(0, 9), "run.json:");
  EXPECT_EQ(refusal("{\"version\": 1}"), "run.json is not a run of pairs");
}

TEST_F(GatePairTest, ASignalEndsTheChildrenAndRemovesTemporaryFiles) {
  Head("mma")["timing_fails"] = "hang";
  options_.timeout_seconds = 600.0;
  WriteBuilds();
  for (const int signal : {SIGTERM, SIGINT}) {
    fs::remove(folder_ / "head" / "pids");
    const pid_t child = fork();
    if (child == 0) {
      try {
        (void)RunPair(options_);
      } catch (const Error& error) {
        _exit(error.message() == "interrupted" ? 42 : 1);
      }
      _exit(0);
    }
    std::string pid;
    for (int i = 0; i < 30'000 && !pid.ends_with('\n'); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      pid = TextOf(folder_ / "head" / "pids");
    }
    ASSERT_FALSE(pid.empty());
    EXPECT_FALSE(fs::is_empty(folder_ / "tmp"));
    ASSERT_EQ(kill(child, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 42);
    pid.pop_back();
    EXPECT_FALSE(StillRuns(pid)) << "a child of a child was left";
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
  }
}

TEST(ShellLineTest, CharactersSpecialToTheShellAreQuoted) {
  EXPECT_EQ(ShellLine({"a", "^(mma|wmma)$", "it's", ""}), "a '^(mma|wmma)$' 'it'\\''s' ''");
}

}  // namespace
}  // namespace fa_profile::gate::gate_pair_test
