// One round of counters from state to state, on a program and a GPU that are faked.
#include "fa_profile/counter_round.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "fake_program.h"

namespace fa_profile::collect::counter_round_test {
namespace {

const LaunchCall kA = KernelLaunch("a");
const LaunchCall kB = KernelLaunch("b");
const LaunchCall kOther = KernelLaunch("other");

class CounterRoundTest : public testing::Test {
 protected:
  CounterRoundTest() { program_.gpu.passes_needed = 2; }

  void Choose(const std::vector<LaunchCall>& calls, double mean_ns = 1e9) {
    program_.candidates.clear();
    for (const LaunchCall& call : calls) program_.AddCandidate(KeyOf(call), mean_ns);
    round_.Choose(program_.candidates);
  }
  // One launch of the program; what became of it.
  LaunchUse Launch(const LaunchCall& call, bool selected = true) {
    const LaunchUse use = round_.Begin(call, KeyOf(call), selected);
    program_.gpu.calls.emplace_back(call.symbol != nullptr ? call.symbol : "graph");
    if (use != LaunchUse::kNone) round_.End();
    return use;
  }
  // The class was probed before.
  void ChooseProbed(const std::vector<LaunchCall>& calls, double mean_ns = 1e9) {
    Choose(calls, mean_ns);
    for (const LaunchCall& call : calls) ASSERT_EQ(Launch(call), LaunchUse::kProbed);
    (void)program_.gpu.TakeCalls();
  }
  void Tick(int times) {
    for (int i = 0; i < times; ++i) round_.Tick();
  }
  std::string WriteNext(bool at_end = false) {
    std::optional<CounterRound::Measured> measured = round_.TakeMeasured(at_end);
    if (!measured) return "nothing";
    std::string text;
    for (const DataLoss& loss : round_.Write(std::move(*measured))) text += loss.kind + " " + loss.subject + "; ";
    return text;
  }

  FakeProgram program_;
  MeasuredProgram shared_{program_, program_, program_, {{"x.sum"}, Replay::kUser, 0.01, 8, false, true}};
  InstructionRound instructions_{shared_};
  CounterRound round_{shared_, instructions_};
};

TEST_F(CounterRoundTest, FromIdleToChosen) {
  EXPECT_TRUE(round_.MayChoose());
  EXPECT_FALSE(round_.waits());
  EXPECT_EQ(Launch(kA), LaunchUse::kNone);
  Choose({kA});
  EXPECT_FALSE(round_.MayChoose());
  EXPECT_TRUE(round_.waits());
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
}

TEST_F(CounterRoundTest, WhatIsRareOrUnwantedOrStillIsNotChosen) {
  program_.AddCandidate(KeyOf(kA));
  program_.unwanted = {KeyOf(kA)};
  program_.AddCandidate(KeyOf(KernelLaunch("ncclDevKernel")));
  program_.candidates.push_back({KeyOf(kB), 0.5, 100, 1, 1.0});
  program_.candidates.push_back({KeyOf(kOther), 0.001, 100, 100, 1.0});
  round_.Choose(program_.candidates);
  EXPECT_TRUE(round_.MayChoose());
}

TEST_F(CounterRoundTest, NoMoreClassesAreChosenThanThePlanAllows) {
  shared_.plan.max_classes = 1;
  ChooseProbed({kA});
  program_.gpu.passes_needed = 1;
  (void)Launch(kA);
  Choose({kB});
  EXPECT_TRUE(round_.MayChoose()) << "none is left to choose";
}

TEST_F(CounterRoundTest, SmallClassesFollowLargeOnesUntilMostOfTheTimeHasCounters) {
  program_.gpu.passes_needed = 1;
  program_.candidates = {{KeyOf(kA), 0.94, 100, 100, 1.0},
                         {KeyOf(kB), 0.009, 100, 100, 1.0},
                         {KeyOf(KernelLaunch("c")), 0.008, 100, 100, 1.0},
                         {KeyOf(kOther), 0.007, 100, 100, 1.0}};
  round_.Choose(program_.candidates);
  EXPECT_EQ(Launch(kB), LaunchUse::kNone) << "large ones do not wait for small ones";
  EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  ASSERT_TRUE(round_.MayChoose());
  round_.Choose(program_.candidates);
  for (const LaunchCall& call : {kB, KernelLaunch("c")}) EXPECT_EQ(Launch(call), LaunchUse::kProbed);
  EXPECT_EQ(Launch(kOther), LaunchUse::kNone) << "those before it make more than 95 %";
}

TEST_F(CounterRoundTest, AsManySmallClassesAsLargeOnesAndNoInstructionsOfTheirs) {
  program_.gpu.passes_needed = 1;
  shared_.plan.max_classes = 1;
  program_.candidates = {{KeyOf(kA), 0.009, 100, 100, 1.0}, {KeyOf(kB), 0.008, 100, 100, 1.0}};
  round_.Choose(program_.candidates);
  EXPECT_EQ(Launch(kB), LaunchUse::kNone);
  EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_FALSE(instructions_.waits());
  program_.candidates.push_back({KeyOf(kOther), 0.5, 100, 100, 1.0});
  std::swap(program_.candidates.front(), program_.candidates.back());
  round_.Choose(program_.candidates);
  EXPECT_EQ(Launch(kOther), LaunchUse::kProbed) << "small ones take no turn from large ones";
}

TEST_F(CounterRoundTest, AClassGetsTheFirstMetricsAndThenAll) {
  program_.gpu.passes_needed = 1;
  shared_.plan.first_metrics = {"first.sum"};
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(WriteNext(), "nothing") << "more may come";
  EXPECT_FALSE(instructions_.waits());
  Choose({kA});
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(WriteNext(), "");
  Choose({kA});
  EXPECT_TRUE(round_.MayChoose());
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing") << "all metrics are better than the first";
  const std::vector<CounterConfig>& configs = program_.built.recording.configs;
  ASSERT_EQ(configs.size(), 2U);
  EXPECT_EQ(configs[0].metrics, std::vector<std::string>{"first.sum"});
  EXPECT_EQ(configs[1].metrics, std::vector<std::string>{"x.sum"});
}

TEST_F(CounterRoundTest, TheFirstMetricsStayWhereAllNeedMoreLaunches) {
  program_.gpu.passes_needed = 1;
  shared_.plan.first_metrics = {"first.sum"};
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  program_.gpu.passes_needed = 6;
  Choose({kA});
  for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  Tick(kMostTicksWithoutLaunch + 1);
  (void)Launch(kOther);
  EXPECT_EQ(WriteNext(/*at_end=*/true), "");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing") << "a third of all is worth less";
  ASSERT_EQ(shared_.losses.size(), 1U);
  EXPECT_EQ(shared_.losses[0].kind + " " + shared_.losses[0].subject, "pass_missing a");
}

TEST_F(CounterRoundTest, ASmallClassGetsTheFirstMetricsOnly) {
  program_.gpu.passes_needed = 1;
  shared_.plan.first_metrics = {"first.sum"};
  program_.candidates = {{KeyOf(kA), 0.009, 100, 100, 1.0}};
  round_.Choose(program_.candidates);
  EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  round_.Choose(program_.candidates);
  EXPECT_TRUE(round_.MayChoose());
  EXPECT_EQ(WriteNext(/*at_end=*/true), "");
  EXPECT_TRUE(shared_.losses.empty()) << "no more was wanted";
}

// Like the kernels of a step, which are few while a program warms up.
TEST_F(CounterRoundTest, ASmallClassThatBecomesLargeGetsAllMetrics) {
  program_.gpu.passes_needed = 1;
  shared_.plan.first_metrics = {"first.sum"};
  program_.candidates = {{KeyOf(kA), 0.009, 100, 100, 1.0}};
  round_.Choose(program_.candidates);
  for (int launch = 0; launch < 2; ++launch) (void)Launch(kA);
  program_.candidates[0].share_ratio = 0.5;
  round_.Choose(program_.candidates);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(WriteNext(), "");
  EXPECT_EQ(program_.built.recording.configs.back().metrics, std::vector<std::string>{"x.sum"});
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U) << "one row for one class";
}

TEST_F(CounterRoundTest, FromChosenToIdleWhenNoneComes) {
  shared_.plan.max_classes = 1;
  Choose({kA});
  Tick(kMostTicksWithoutLaunch);
  EXPECT_TRUE(round_.waits());
  Tick(1);
  EXPECT_TRUE(round_.MayChoose());
  Choose({kA});
  EXPECT_TRUE(round_.waits()) << "it may be chosen again";
}

TEST_F(CounterRoundTest, TheFirstLaunchOfAClassIsProbedAndLeavesNothingOpen) {
  Choose({kA});
  EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
  EXPECT_EQ(program_.waits, (std::vector<double>{0.2, 2.0}));
  EXPECT_FALSE(round_.taking());
}

TEST_F(CounterRoundTest, AClassThatWaitsForAnotherLaunchIsNeverMeasured) {
  Choose({kA});
  program_.idle = {true, false, true};
  EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
  ASSERT_EQ(shared_.losses.size(), 1U);
  EXPECT_EQ(shared_.losses[0].kind, "launch_not_measured");
  EXPECT_EQ(shared_.losses[0].subject, "a");
  EXPECT_EQ(Launch(kA), LaunchUse::kNone);
  EXPECT_FALSE(round_.taking());
}

TEST_F(CounterRoundTest, FromChosenToTakingAtALaunchThatEndsAlone) {
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kOther), LaunchUse::kNone);
  EXPECT_FALSE(round_.taking());
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_TRUE(round_.taking());
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "other room -trace -samples counters plan +measuring counters open:ranges +trace user:1 "
            "-trace start [class 0 a ] stop +trace");
  EXPECT_EQ(round_.ranges(), 1);
  EXPECT_EQ(program_.measured, 1);
}

TEST_F(CounterRoundTest, ALaunchThatTheUserDidNotSelectIsNotMeasured) {
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kA, /*selected=*/false), LaunchUse::kNone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
}

TEST_F(CounterRoundTest, AfterTheLastPassTheImageIsTakenAndTheRoundIsIdle) {
  ChooseProbed({kA});
  (void)Launch(kA);
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.TakeCalls(), "-trace start [class 0 a ] stop +trace decode close:ranges -measuring");
  EXPECT_TRUE(round_.MayChoose());
  EXPECT_FALSE(round_.open());
  EXPECT_EQ(WriteNext(), "") << "no pass is missing";
  EXPECT_EQ(program_.cases, std::vector<std::string>{KeyOf(kA)});
  ASSERT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(program_.built.recording.ranges[0].case_id, 1);
  EXPECT_EQ(WriteNext(), "nothing");
  Choose({kA});
  EXPECT_TRUE(round_.MayChoose()) << "it was measured";
}

TEST_F(CounterRoundTest, TheSecondRoundUsesThePlanOfTheFirst) {
  program_.gpu.passes_needed = 1;
  ChooseProbed({kA});
  (void)Launch(kA);
  ChooseProbed({kB});
  (void)Launch(kB);
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "room -trace -samples +measuring counters open:ranges +trace user:1 "
            "-trace start [class 0 b ] stop +trace decode close:ranges -measuring");
}

TEST_F(CounterRoundTest, FromTakingToExpiredAndTheNextLaunchEndsTheRound) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  Tick(kMostTicksWithoutLaunch);
  (void)Launch(kB);
  Tick(kMostTicksWithoutLaunch);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured) << "a range begins the ticks again";
  Tick(kMostTicksWithoutLaunch + 1);
  (void)program_.gpu.TakeCalls();
  program_.idle = {false, true};
  EXPECT_EQ(Launch(kOther), LaunchUse::kNone);
  EXPECT_TRUE(round_.taking()) << "the GPU was busy";
  EXPECT_EQ(Launch(kOther), LaunchUse::kNone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "other stop decode close:ranges -measuring other");
  EXPECT_EQ(WriteNext(), "");
  EXPECT_EQ(WriteNext(/*at_end=*/true), "pass_missing b; ");
}

// For example because its module was unloaded.
TEST_F(CounterRoundTest, AClassThatComesNoMoreLacksPassesAndTheOthersDoNot) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  (void)Launch(kB);
  (void)Launch(kA);
  Tick(kMostTicksWithoutLaunch + 1);
  (void)Launch(kA);
  EXPECT_EQ(WriteNext(), "");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(WriteNext(/*at_end=*/true), "pass_missing b; ");
  EXPECT_EQ(program_.built.recording.ranges.size(), 2U);
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing");
}

TEST_F(CounterRoundTest, AClassWithoutAllPassesMayBeChosenAgain) {
  shared_.plan.max_classes = 2;
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  Tick(kMostTicksWithoutLaunch + 1);
  (void)Launch(kOther);
  EXPECT_EQ(WriteNext(), "nothing");
  Choose({kA, kB});
  EXPECT_EQ(Launch(kB), LaunchUse::kMeasured) << "it was probed before";
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  (void)Launch(kB);
  (void)Launch(kA);
  EXPECT_EQ(WriteNext(), "") << "both have all passes";
  EXPECT_EQ(program_.built.recording.ranges.size(), 2U);
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing") << "the part is not needed";
}

// Like a prompt's kernels, which come in bursts.
TEST_F(CounterRoundTest, OfSeveralPartsTheLargestIsWrittenAtTheEnd) {
  program_.gpu.passes_needed = 6;
  for (const int passes : {1, 3, 2}) {
    Choose({kA});
    if (passes == 1) {
      EXPECT_EQ(Launch(kA), LaunchUse::kProbed);
    }
    for (int pass = 0; pass < passes; ++pass) ASSERT_EQ(Launch(kA), LaunchUse::kMeasured);
    Tick(kMostTicksWithoutLaunch + 1);
    (void)Launch(kOther);
    EXPECT_EQ(WriteNext(), "nothing");
  }
  Choose({kA});
  EXPECT_TRUE(round_.MayChoose()) << "three rounds are enough";
  const std::optional<CounterRound::Measured> written = round_.TakeMeasured(/*at_end=*/true);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->passes, std::vector<int>{3});
  EXPECT_EQ(WriteNext(/*at_end=*/true), "nothing");
  EXPECT_TRUE(round_.Losses(program_.candidates).empty()) << "it was measured";
}

TEST_F(CounterRoundTest, ALaunchWhileTheGpuIsBusyPassesAndTheWaitDoubles) {
  ChooseProbed({kA});
  program_.waits.clear();
  program_.idle = {false, false, false, false, false, true};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Launch(kA), LaunchUse::kNone);
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(program_.waits, (std::vector<double>{0.2, 0.4, 0.8, 1.6, 1.6, 1.6, 0.2}));
  EXPECT_EQ(shared_.idle.failed(), 5);
}

TEST_F(CounterRoundTest, AGpuThatIsNeverIdleIsAnError) {
  ChooseProbed({kA});
  program_.idle = {false};
  for (int i = 1; i < IdleWait::kMostTries; ++i) EXPECT_EQ(Launch(kA), LaunchUse::kNone);
  EXPECT_THROW((void)Launch(kA), Error);
}

TEST_F(CounterRoundTest, WithEnoughLaunchesMeasuredTheRoundEndsAtOnce) {
  ChooseProbed({kA});
  program_.most_measured = 1;
  (void)Launch(kA);
  EXPECT_FALSE(round_.taking());
  EXPECT_EQ(WriteNext(), "pass_missing a; ");
}

TEST_F(CounterRoundTest, AShortKernelIsHandedOnAndMeasuringGoesOn) {
  shared_.plan.counts_instructions = true;
  program_.gpu.passes_needed = 1;
  ChooseProbed({kA}, 1000.0);
  (void)Launch(kA);
  EXPECT_TRUE(instructions_.waits());
  EXPECT_EQ(program_.gpu.Count("-measuring"), 0);
}

TEST_F(CounterRoundTest, NeitherALongKernelNorAGraphIsHandedOn) {
  shared_.plan.counts_instructions = true;
  program_.gpu.passes_needed = 1;
  ChooseProbed({kA}, 6e6);
  (void)Launch(kA);
  EXPECT_EQ(program_.gpu.Count("-measuring"), 1);
  ChooseProbed({GraphLaunch(7)}, 0.0);
  EXPECT_EQ(Launch(GraphLaunch(7)), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.Count("-measuring"), 1);
  EXPECT_FALSE(instructions_.waits());
}

TEST_F(CounterRoundTest, ACounterThatIsUnavailableIsALossOfTheRecordingAndTheOthersAreMeasured) {
  program_.gpu.refused = {{"metric_unavailable", "x.sum", "the chip has it not", 1}};
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  ASSERT_EQ(program_.built.recording.losses.size(), 1U);
  EXPECT_EQ(program_.built.recording.losses[0].kind, "metric_unavailable");
}

TEST_F(CounterRoundTest, WhateverFailsBeforeARangeLeavesTheTraceOn) {
  for (const std::string failing : {"-samples", "counters", "plan", "+measuring", "open:ranges", "start", "[class 0"}) {
    FakeProgram program;
    MeasuredProgram shared{program, program, program, shared_.plan};
    InstructionRound instructions(shared);
    CounterRound round(shared, instructions);
    program.AddCandidate(KeyOf(kA));
    round.Choose(program.candidates);
    ASSERT_EQ(round.Begin(kA, KeyOf(kA), true), LaunchUse::kProbed);
    round.End();
    program.gpu.failing_call = failing;
    EXPECT_THROW((void)round.Begin(kA, KeyOf(kA), true), Error) << failing;
    EXPECT_EQ(program.gpu.Count("-trace"), program.gpu.Count("+trace")) << failing;
    round.Abandon();
    EXPECT_EQ(program.gpu.open, 0) << failing;
    EXPECT_FALSE(round.waits());
    EXPECT_FALSE(round.MayChoose());
  }
}

TEST_F(CounterRoundTest, AFailureAtTheEndOfTheRangeReachesTheCaller) {
  ChooseProbed({kA});
  program_.gpu.failing_call = "]";
  EXPECT_THROW((void)Launch(kA), Error);
}

TEST_F(CounterRoundTest, CutShortKeepsWhatCompletePassesHave) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  round_.CutShort();
  EXPECT_TRUE(round_.taking()) << "no pass was complete";
  (void)Launch(kB);
  (void)Launch(kA);
  (void)program_.gpu.TakeCalls();
  round_.CutShort();
  EXPECT_EQ(program_.gpu.TakeCalls(), "stop decode close:ranges");
  EXPECT_EQ(WriteNext(), "pass_missing b; ");
}

TEST_F(CounterRoundTest, AFailureToCutShortIsALoss) {
  ChooseProbed({kA});
  (void)Launch(kA);
  program_.gpu.failing_call = "decode";
  round_.CutShort();
  ASSERT_EQ(shared_.losses.size(), 1U);
  EXPECT_EQ(shared_.losses[0].kind, "counters_ended");
  round_.Abandon();
  EXPECT_EQ(WriteNext(), "nothing");
}

TEST_F(CounterRoundTest, AtTheEndClassesThatWereNeverMeasuredAreALoss) {
  Choose({kA, kB});
  round_.ForgetChosen();
  const std::vector<DataLoss> losses = round_.Losses(program_.candidates);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].kind, "counters_not_measured");
  EXPECT_EQ(losses[0].count, 2);
}

class KernelReplayTest : public CounterRoundTest {
 protected:
  KernelReplayTest() {
    shared_.plan.replay = Replay::kKernel;
    shared_.plan.max_classes = 2;
  }
};

TEST_F(KernelReplayTest, TheFirstLaunchOfEachClassIsReplayedAndTheProfilerStaysOpen) {
  EXPECT_FALSE(round_.MayChoose());
  EXPECT_EQ(Launch(kA), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "room -trace -samples counters plan +measuring counters open:ranges +trace kernel:1 start a stop decode");
  EXPECT_EQ(Launch(kA), LaunchUse::kNone);
  EXPECT_TRUE(round_.waits());
  EXPECT_EQ(Launch(kB), LaunchUse::kMeasured);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a kernel:1 start b stop decode");
  EXPECT_FALSE(round_.waits()) << "as many classes as the plan allows";
  EXPECT_EQ(round_.replayed_launches(), 2);
  EXPECT_EQ(round_.ranges(), 0);
}

TEST_F(KernelReplayTest, NeitherAGraphNorALaunchThatWasNotSelectedIsReplayed) {
  EXPECT_EQ(Launch(GraphLaunch(1)), LaunchUse::kNone);
  EXPECT_EQ(Launch(kA, /*selected=*/false), LaunchUse::kNone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "graph a");
}

TEST_F(KernelReplayTest, TheImageIsWrittenWhenARecordOfTheClassCameOrAtTheEnd) {
  program_.unknown = {KeyOf(kA)};
  (void)Launch(kA);
  EXPECT_EQ(WriteNext(), "nothing");
  (void)Launch(kB);
  EXPECT_EQ(WriteNext(), "");
  EXPECT_EQ(program_.cases, std::vector<std::string>{KeyOf(kB)});
  std::optional<CounterRound::Measured> last = round_.TakeMeasured(/*at_end=*/true);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->launch->kernel_name, "a");
}

}  // namespace
}  // namespace fa_profile::collect::counter_round_test
