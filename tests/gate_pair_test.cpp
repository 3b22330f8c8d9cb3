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
#include "gate_pair_fixture.h"
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
