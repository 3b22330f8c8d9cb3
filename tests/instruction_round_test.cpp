// One round that counts instructions from state to state, on a program and a GPU that are faked.
#include "fa_profile/instruction_round.h"

#include <gtest/gtest.h>

#include <string>

#include "fake_program.h"
#include "sanitized.h"

namespace fa_profile::collect::instruction_round_test {
namespace {

class InstructionRoundTest : public testing::Test {
 protected:
  LaunchUse Launch(const std::string& key, bool selected = true) {
    const LaunchUse use = round_.Begin(key, selected);
    program_.gpu.calls.push_back(key);
    if (use != LaunchUse::kNone) round_.End();
    return use;
  }
  std::string LossesSoFar() const {
    std::string text;
    for (const DataLoss& loss : shared_.losses) text += loss.kind + ": " + loss.reason + "; ";
    return text;
  }

  FakeProgram program_;
  MeasuredProgram shared_{program_, program_, program_, {{"x.sum"}, Replay::kUser, 0.01, 8, false, true}};
  InstructionRound round_{shared_};
};

TEST_F(InstructionRoundTest, FromIdleToDue) {
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(Launch("a"), LaunchUse::kNone);
  round_.Ask("a");
  EXPECT_TRUE(round_.waits());
}

TEST_F(InstructionRoundTest, NothingIsDueWithoutPhasesOrWhenEnoughLaunchesWereMeasured) {
  shared_.plan.counts_instructions = false;
  round_.Ask("a");
  EXPECT_FALSE(round_.waits());
  shared_.plan.counts_instructions = true;
  program_.most_measured = 1;
  program_.measured = 1;
  round_.Ask("a");
  EXPECT_FALSE(round_.waits());
}

TEST_F(InstructionRoundTest, ALaunchIsCountedAndTheLastOneEndsTheRound) {
  program_.gpu.counts_dropped = 3;
  program_.gpu.sass_metrics.clear();
  round_.Ask("a");
  round_.Ask("b");
  EXPECT_EQ(Launch("other"), LaunchUse::kNone);
  EXPECT_EQ(Launch("a", /*selected=*/false), LaunchUse::kNone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "other a");
  EXPECT_EQ(Launch("a"), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.TakeCalls(), "-trace counters open:counter: start a take stop +trace");
  EXPECT_TRUE(round_.waits());
  EXPECT_EQ(Launch("a"), LaunchUse::kNone) << "once a class";
  EXPECT_EQ(Launch("b"), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a -trace start b take stop +trace -measuring") << "one counter a process";
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(round_.counted_launches(), 2);
  EXPECT_EQ(program_.measured, 2);
  EXPECT_EQ(program_.counted, (std::vector<std::pair<std::string, std::uint64_t>>{{"a", 3}, {"b", 3}}));
}

TEST_F(InstructionRoundTest, AnotherRoundFollows) {
  round_.Ask("a");
  (void)Launch("a");
  round_.Ask("b");
  EXPECT_EQ(Launch("b"), LaunchUse::kMeasured);
}

TEST_F(InstructionRoundTest, ALaunchWhileTheGpuIsBusyPasses) {
  round_.Ask("a");
  program_.idle = {false, true};
  EXPECT_EQ(Launch("a"), LaunchUse::kNone);
  EXPECT_EQ(Launch("a"), LaunchUse::kMeasured);
}

TEST_F(InstructionRoundTest, FromDueToExpiredAndAnyLaunchEndsTheRound) {
  round_.Ask("a");
  for (int i = 0; i <= kMostTicksWithoutLaunch; ++i) round_.Tick();
  program_.idle = {false, true};
  EXPECT_EQ(Launch("other"), LaunchUse::kNone);
  EXPECT_TRUE(round_.waits()) << "the GPU was busy";
  EXPECT_EQ(Launch("other"), LaunchUse::kNone);
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(program_.gpu.TakeCalls(), "other -measuring other");
}

TEST_F(InstructionRoundTest, ALaunchBeginsTheTicksAgain) {
  round_.Ask("a");
  round_.Ask("b");
  for (int i = 0; i < kMostTicksWithoutLaunch; ++i) round_.Tick();
  (void)Launch("a");
  for (int i = 0; i < kMostTicksWithoutLaunch; ++i) round_.Tick();
  EXPECT_EQ(Launch("b"), LaunchUse::kMeasured);
}

TEST_F(InstructionRoundTest, WithEnoughLaunchesMeasuredTheRoundEnds) {
  program_.most_measured = 1;
  round_.Ask("a");
  round_.Ask("b");
  (void)Launch("a");
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(program_.gpu.Count("-measuring"), 1);
}

TEST_F(InstructionRoundTest, AMetricThatIsUnavailableIsALossAndTheOthersAreCounted) {
  program_.gpu.sass_metrics = {"smsp__sass_inst_executed"};
  round_.Ask("a");
  EXPECT_EQ(Launch("a"), LaunchUse::kMeasured);
  ASSERT_FALSE(program_.built.recording.losses.empty());
  EXPECT_EQ(program_.built.recording.losses[0].kind, "metric_unavailable");
}

TEST_F(InstructionRoundTest, WhateverFailsEndsCountingForGoodAndLeavesTheProgramAsItWas) {
  for (const std::string failing : {"counters", "open:counter: smsp__sass_inst_executed", "start", "take", "stop"}) {
    FakeProgram program;
    MeasuredProgram shared{program, program, program, shared_.plan};
    InstructionRound round(shared);
    round.Ask("a");
    round.Ask("b");
    program.gpu.failing_call = failing;
    if (round.Begin("a", true) != LaunchUse::kNone) round.End();
    EXPECT_FALSE(round.waits()) << failing;
    ASSERT_EQ(shared.losses.size(), 1U) << failing;
    EXPECT_EQ(shared.losses[0].kind, "counts_missing");
    EXPECT_EQ(program.gpu.Count("-trace"), program.gpu.Count("+trace")) << failing;
    EXPECT_EQ(program.gpu.Count("-measuring"), 1) << failing;
    EXPECT_EQ(program.gpu.running, 0) << failing << ": the program's code is not patched any more";
    round.Ask("a");
    EXPECT_FALSE(round.waits()) << failing;
  }
}

TEST_F(InstructionRoundTest, ALaunchThatDoesNotEndIsLeftAloneWithItsCounter) {
  if (kSanitized) return;  // the counter leaks on purpose
  round_.Ask("a");
  program_.idle = {true, false};
  (void)Launch("a");
  EXPECT_EQ(program_.waits, (std::vector<double>{0.2, 10.0}));
  EXPECT_EQ(LossesSoFar(), "counts_missing: a launch did not end while its instructions were counted; ");
  EXPECT_EQ(program_.gpu.Count("stop"), 0);
  EXPECT_EQ(program_.gpu.open, 1) << "whatever is asked of it may wait for ever";
}

TEST_F(InstructionRoundTest, DropLeavesNothingDueAndMeasuringAsItIs) {
  round_.Ask("a");
  round_.Drop();
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(program_.gpu.TakeCalls(), "");
  round_.Ask("a");
  EXPECT_TRUE(round_.waits());
}

}  // namespace
}  // namespace fa_profile::collect::instruction_round_test
