#include "fa_profile/check_truths.h"

#include <gtest/gtest.h>

#include "attention_code.h"
#include "device_code.h"
#include "fa_profile/analyze.h"
#include "sample_recording.h"

namespace fa_profile::analyze::check_truths_test {
namespace {

using Verdict = TruthCheck::Verdict;

const std::string kExecuted = "smsp__sass_inst_executed";
const std::string kWavefronts = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared";

// A block that does alpha, then half of it beta while the others wait, then gamma; 100 samples; 30 of them wait for
// beta and were found at gamma's first instruction, past the barrier.
Recording Measured() {
  Recording recording;
  recording.device = sample::H200();
  recording.cases = {{1, "half_phase", "selftest", std::nullopt},
                     {2, "occupancy_1", "selftest", std::nullopt},
                     {3, "phases_50_30_20", "selftest", std::nullopt}};
  Launch launch;
  launch.id = 1;
  launch.case_id = 1;
  launch.kernel_name = "kernel";
  launch.grid = {132, 1, 1};
  launch.block = {256, 1, 1};
  launch.registers_per_thread = 32;
  launch.dynamic_shared_memory_bytes = 115 * 1024;
  recording.launches = {launch};
  recording.functions = {MakeFunction({
      {"", "FFMA", "R1,R1,R2,R2", {"ns::alpha(float)", "ns::Kernel()"}},       // 0
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"ns::sync()", "ns::Kernel()"}},  // 1
      {"@P0", "BRA", "0x40", {"ns::Kernel()"}},                                // 2
      {"", "MUFU.EX2", "R1,R1", {"ns::beta(float)", "ns::Kernel()"}},          // 3
      {"", "BAR.SYNC.DEFER_BLOCKING", "0x0", {"ns::sync()", "ns::Kernel()"}},  // 4
      {"", "LDS", "R1,[R2]", {"ns::gamma(unsigned int)", "ns::Kernel()"}},     // 5
      {"", "FFMA", "R3,R3,R2,R2", {"ns::Kernel()"}},                           // 6
      {"", "EXIT", "", {"ns::Kernel()"}},                                      // 7
  })};
  recording.samplings = {{1,
                          1,
                          "",
                          256,
                          1,
                          100,
                          0,
                          std::nullopt,
                          {{1, 0, {{"selected", 10}, {"wait", 30}}},
                           {1, 48, {{"wait", 20}}},
                           {1, 80, {{"barrier", 30}, {"short_scoreboard", 10}}}}}};
  recording.countings = {{1,
                          1,
                          "",
                          {{1, 0, {{kExecuted, 800}}},
                           {1, 48, {{kExecuted, 400}}},
                           {1, 80, {{kExecuted, 200}, {kWavefronts, 1600}}},
                           {1, 96, {{kExecuted, 7}}}}}};
  recording.ranges = {{1, 1, "", "half_phase", 0, 0, {{"sm__warps_active.sum", 800.0}}},
                      {2, 2, "", "occupancy_1", 0, 0, {{"sm__warps_active.sum", 800.0}}},
                      {3, 3, "", "phases_50_30_20", 0, 0, {}}};
  recording.losses = {{"metric_unavailable", "sm__of_another_chip.sum", "GH100 has none", 1},
                      {"metric_unavailable", "smsp__sass_of_another_chip", "GH100 has none", 1}};
  return recording;
}

TruthCheck Check(const Recording& recording, const Truth& truth) {
  const Profile profile = Analyze(recording, SelftestPhases());
  return CheckTruths(recording, profile.entries.at(0), {truth}).at(0);
}

TruthCheck CheckSass(const std::string& name, const std::string& opcode, const std::string& phase, double expected) {
  return Check(Measured(), {TruthSource::kSass, name, opcode, phase, expected, 0.0, {}});
}

TEST(CheckTruthsTest, CountsAreSummedByOpcodeAndPhase) {
  EXPECT_EQ(CheckSass(kExecuted, "FFMA", "alpha", 800).verdict, Verdict::kPass);
  EXPECT_EQ(CheckSass(kExecuted, "FFMA", "", 807).verdict, Verdict::kPass);
  EXPECT_EQ(CheckSass(kExecuted, "", "", 1407).verdict, Verdict::kPass);
  EXPECT_EQ(CheckSass(kWavefronts, "", "gamma", 1600).verdict, Verdict::kPass);
  EXPECT_EQ(CheckSass(kWavefronts, "", "alpha", 0).verdict, Verdict::kPass) << "nothing recorded is 0";
}

TEST(CheckTruthsTest, ACountThatIsOffByOneFails) {
  const TruthCheck check = CheckSass(kExecuted, "FFMA", "alpha", 801);
  EXPECT_EQ(check.verdict, Verdict::kFail);
  EXPECT_EQ(check.measured, 800.0);
}

TEST(CheckTruthsTest, CodeThatWasNotDisassembledIsNotAProof) {
  Recording recording = Measured();
  recording.functions[0].instructions.clear();
  const TruthCheck check = Check(recording, {TruthSource::kSass, kExecuted, "", "", 1407, 0.0, {}});
  EXPECT_EQ(check.verdict, Verdict::kFail);
  EXPECT_EQ(check.measured, std::nullopt);
}

TEST(CheckTruthsTest, AMetricThatTheChipLacksPassesAndOneNotMeasuredFails) {
  const auto counter = [](const char* name) {
    return Check(Measured(), {TruthSource::kCounter, name, {}, {}, 1.0, 0.0, {}}).verdict;
  };
  EXPECT_EQ(counter("sm__of_another_chip.sum"), Verdict::kUnavailable);
  EXPECT_EQ(counter("sm__forgotten.sum"), Verdict::kFail);
  EXPECT_EQ(CheckSass("smsp__sass_of_another_chip", "", "", 0).verdict, Verdict::kUnavailable);
  Recording recording = Measured();
  recording.countings.clear();
  EXPECT_EQ(Check(recording, {TruthSource::kSass, kExecuted, "", "", 0, 0.0, {}}).verdict, Verdict::kFail);
}

TEST(CheckTruthsTest, WaitingForAPhaseCountsInItsTimeAndNotInItsWork) {
  const auto share = [](const char* name, const char* phase) {
    return Check(Measured(), {TruthSource::kShare, name, {}, phase, 0.0, 0.01, {}}).measured.value();
  };
  EXPECT_NEAR(share("time_share", "alpha"), 0.4, 1e-12);
  EXPECT_NEAR(share("time_share", "beta"), 0.5, 1e-12);
  EXPECT_NEAR(share("time_share", "gamma"), 0.1, 1e-12);
  EXPECT_NEAR(share("warp_time_share", "alpha"), 0.4, 1e-12);
  EXPECT_NEAR(share("warp_time_share", "beta"), 0.2, 1e-12);
  EXPECT_NEAR(share("warp_time_share", "gamma"), 0.1, 1e-12);
  EXPECT_NEAR(share("warp_time_share", "sync"), 0.3, 1e-12);
  EXPECT_NEAR(share("work_share", "beta"), 2.0 / 7.0, 1e-12);
}

TEST(CheckTruthsTest, AShareFailsBeyondItsTolerance) {
  const auto verdict = [](double expected) {
    return Check(Measured(), {TruthSource::kShare, "time_share", {}, "beta", expected, 0.01, {}}).verdict;
  };
  EXPECT_EQ(verdict(0.509), Verdict::kPass);
  EXPECT_EQ(verdict(0.511), Verdict::kFail);
  Recording recording = Measured();
  recording.samplings.clear();
  EXPECT_EQ(Check(recording, {TruthSource::kShare, "time_share", {}, "beta", 0.0, 0.01, {}}).verdict, Verdict::kFail)
      << "no samples, no share";
}

TEST(CheckTruthsTest, ResidentBlocksComeFromTheLaunch) {
  const TruthCheck check = Check(Measured(), {TruthSource::kLaunch, "blocks_per_sm", {}, {}, 1.0, 0.0, {}});
  EXPECT_EQ(check.verdict, Verdict::kPass);
}

TEST(CheckTruthsTest, WaitsForMbarriersAreCountedAndAveraged) {
  const Profile profile = Analyze(Measured(), SelftestPhases());
  ProfileEntry entry = profile.entries.at(0);
  const auto measured = [&entry](const char* name) {
    return CheckTruths(Measured(), entry, {{TruthSource::kWait, name, {}, {}, 40.0, 0.0, {}}}).at(0).measured;
  };
  EXPECT_EQ(measured("mbarrier_waits"), std::nullopt) << "none was found";
  entry.phases->async_waits = {{"mbarrier", "sync", "a", 30.0, 100.0, {}, {}, {}},
                               {"matrix", "beta", "b", 99.0, 9.0, 9.0, {}, {}},
                               {"mbarrier", "sync", "c", 10.0, 500.0, {}, {}, {}}};
  EXPECT_EQ(measured("mbarrier_waits"), 40.0);
  EXPECT_EQ(measured("mbarrier_cycles"), 200.0);
}

TEST(CheckTruthsTest, AKernelTakenForAttentionFails) {
  const Truth none{TruthSource::kInferred, "attention_phases", {}, {}, 0.0, 0.0, {}};
  Recording recording = Measured();
  EXPECT_EQ(Check(recording, none).verdict, Verdict::kPass);
  recording.functions = {MakeFunction(MmaAttention())};
  for (SassCount& count : recording.countings[0].counts) count.values = {};  // so the code's own sums are compared
  const TruthCheck taken = Check(recording, none);
  EXPECT_EQ(taken.measured, 1.0);
  EXPECT_EQ(taken.verdict, Verdict::kFail);
  recording.countings.clear();
  EXPECT_EQ(Check(recording, none).verdict, Verdict::kFail) << "not measured";
}

TEST(CheckTruthsTest, AKnownWrongCounterIsExpectedToFailAndReportedOnceItIsFixed) {
  Recording recording = Measured();
  recording.ranges[1].metrics["TPC.TriageCompute.tpc__warps_active_realtime.sum"] = 1600.0;
  recording.ranges[2].metrics["sm__inst_executed_pipe_tensor.sum"] = 1056.0;
  const std::vector<KnownLie> lies = CheckKnownLies(recording);
  ASSERT_EQ(lies.size(), 2U);
  EXPECT_EQ(lies[0].still_lies, true);
  EXPECT_EQ(lies[0].says, 1600.0);
  EXPECT_EQ(lies[0].truth, 800.0);
  EXPECT_EQ(lies[1].kernel, "phases_50_30_20");
  EXPECT_EQ(lies[1].truth, 0.0);
  EXPECT_EQ(lies[1].still_lies, true);
  recording.ranges[2].metrics["sm__inst_executed_pipe_tensor.sum"] = 0.0;
  EXPECT_EQ(CheckKnownLies(recording)[1].still_lies, false);
  EXPECT_EQ(CheckKnownLies(Measured())[0].still_lies, std::nullopt) << "not measured";
  recording.cases.resize(1);
  EXPECT_TRUE(CheckKnownLies(recording).empty()) << "their kernels did not run";
}

}  // namespace
}  // namespace fa_profile::analyze::check_truths_test
