// Launches of a program before its gate, on a program and a GPU that are faked.
#include "fa_profile/launch_gate.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "fa_profile/gate_lock.h"
#include "launch_gate_fixture.h"

namespace fa_profile::collect::launch_gate_test {
namespace {

TEST_F(LaunchGateTest, TheFirstLaunchOpensTheRecordingAndPasses) {
  gate_->Tick();
  EXPECT_EQ(program_.gpu.TakeCalls(), "") << "nothing is done before it";
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "recording a a");
}

TEST_F(LaunchGateTest, AProcessThatIsNotRecordedIsNotMeasuredWithoutAWord) {
  program_.recorded = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(program_.gpu.TakeCalls(), "recording no-samples a a");
  EXPECT_FALSE(gate_->Measures());
}

TEST_F(LaunchGateTest, ARecordingThatCannotBeOpenedIsSaidOnce) {
  program_.gpu.failing_call = "recording";
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fa-profile: no counters are measured any more: cuptiFake failed with CUPTI_ERROR_UNKNOWN: recording "
            "failed\n");
  EXPECT_EQ(program_.gpu.Count("recording"), 1);
}

TEST_F(LaunchGateTest, WithoutClassesToMeasureTheWatchOfLaunchesEndsAndBeginsWithThem) {
  (void)Launch(kA);
  gate_->Tick();
  EXPECT_EQ(program_.gpu.TakeCalls(), "recording a -watch");
  gate_->Tick();
  EXPECT_EQ(program_.gpu.TakeCalls(), "");
  program_.AddCandidate(KeyOf(kA));
  gate_->Tick();
  EXPECT_TRUE(gate_->Measures());
  EXPECT_EQ(program_.gpu.TakeCalls(), "+watch");
}

TEST_F(LaunchGateTest, AChosenClassIsProbedAndThenMeasuredPassByPass) {
  (void)Launch(kA);
  program_.AddCandidate(KeyOf(kA));
  gate_->Tick();
  EXPECT_EQ(Launch(kA), Way::kAlone) << "the probe";
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(kB), Way::kPasses);
  EXPECT_EQ(Launch(kA), Way::kAlone);
  EXPECT_EQ(program_.gpu.TakeCalls(),
            "b room -trace -samples counters plan +measuring counters open:ranges +trace user:1 "
            "-trace start [class 0 a ] stop +trace");
  EXPECT_EQ(Launch(kA), Way::kAlone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "-trace start [class 0 a ] stop +trace decode close:ranges -measuring");
  gate_->Tick();
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(gate_->measured_launches(), 2);
  EXPECT_EQ(Kinds(gate_->Finish()), "");
}

TEST_F(LaunchGateTest, AGraphLaunchIsMeasuredAsAWhole) {
  const LaunchCall graph = GraphLaunch(7);
  ChooseProbed({graph});
  EXPECT_EQ(Launch(graph), Way::kAlone);
  EXPECT_EQ(Launch(GraphLaunch(8)), Way::kPasses);
  EXPECT_EQ(Launch(graph), Way::kAlone);
  gate_->Tick();
  EXPECT_EQ(program_.cases, std::vector<std::string>{"CUDA graph 7"});
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
}

TEST_F(LaunchGateTest, LaunchesOfOurOwnPassInsideTheOneThatRunsAlone) {
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  EXPECT_EQ(gate_->Enter(kA), Way::kPasses);
  EXPECT_EQ(gate_->Enter(kB), Way::kPasses);
  gate_->Leave();
  gate_->Leave();
  EXPECT_EQ(program_.gpu.Count("]"), 0);
  gate_->Leave();
  EXPECT_EQ(program_.gpu.Count("]"), 1);
}

// A test cannot wait for a thread to be waiting; but if it were not, its launch would be in the range.
TEST_F(LaunchGateTest, ALaunchOfASecondThreadWaitsUntilTheRangeIsClosed) {
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  std::atomic<bool> comes = false;
  std::thread second([&] {
    comes = true;
    EXPECT_EQ(Launch(kB), Way::kPasses);
  });
  while (!comes) std::this_thread::yield();
  (void)program_.gpu.TakeCalls();
  program_.gpu.calls.emplace_back("a");
  gate_->Leave();
  second.join();
  EXPECT_EQ(program_.gpu.TakeCalls(), "a ] stop +trace b");
}

TEST_F(LaunchGateTest, BetweenTwoRangesALaunchOfASecondThreadPasses) {
  TakeFirstPass();
  std::thread([&] {
    EXPECT_EQ(Launch(kB), Way::kPasses);
    EXPECT_EQ(Launch(kA), Way::kAlone) << "and takes the pass if it is its turn";
  }).join();
  EXPECT_EQ(program_.gpu.TakeCalls(), "b -trace start [class 0 a ] stop +trace decode close:ranges -measuring");
}

TEST_F(LaunchGateTest, ALeaveOfAThreadThatDidNotEnterDoesNothing) {
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  std::thread([&] { gate_->Leave(); }).join();
  EXPECT_EQ(program_.gpu.Count("]"), 0);
  gate_->Leave();
  EXPECT_EQ(program_.gpu.Count("]"), 1);
}

// The driver reports its end like any other's.
TEST_F(LaunchGateTest, ALaunchThatTheDriverRefusesClosesItsRange) {
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  gate_->Leave();
  EXPECT_EQ(program_.gpu.Count("]"), 1);
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, ALaunchThatCrashesTheDeviceEndsMeasuringAndTheProgramGoesOn) {
  TakeFirstPass();
  program_.gpu.failing_call = "]";
  testing::internal::CaptureStderr();
  EXPECT_EQ(Launch(kA), Way::kAlone);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fa-profile: no counters are measured any more: cuptiFake failed with CUPTI_ERROR_UNKNOWN: ] failed\n");
  EXPECT_EQ(program_.gpu.TakeCalls(), "-trace start [class 0 a ] +trace close:ranges -measuring");
  EXPECT_FALSE(gate_->Measures());
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_ended counters_not_measured");
}

TEST_F(LaunchGateTest, CountersThatAnotherProcessHasEndMeasuring) {
  ChooseProbed({kA});
  program_.gpu.failing_call = "counters";
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "room -trace -samples counters +trace -measuring a");
  EXPECT_FALSE(gate_->Measures());
}

TEST_F(LaunchGateTest, ACounterThatIsUnavailableIsALossAndTheRoundGoesOn) {
  program_.gpu.refused = {{"metric_unavailable", "y.sum", "unknown", 1}};
  TakeFirstPass();
  EXPECT_EQ(Launch(kA), Way::kAlone);
  gate_->Tick();
  EXPECT_EQ(Kinds(program_.built.recording.losses), "metric_unavailable");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
}

TEST_F(LaunchGateTest, AGpuThatIsNeverIdleEndsMeasuring) {
  ChooseProbed({kA});
  program_.idle = {false};
  testing::internal::CaptureStderr();
  for (int i = 0; i < IdleWait::kMostTries; ++i) EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fa-profile: no counters are measured any more: the GPU does not become idle, so no launch can be measured "
            "alone\n");
  EXPECT_FALSE(gate_->Measures());
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_ended counters_not_measured launch_not_measured");
}

// CUPTI needs more stack than some threads have: such a thread ended with a stack overflow.
TEST_F(LaunchGateTest, ALaunchOfAThreadWithASmallStackIsNotMeasured) {
  ChooseProbed({kA});
  std::function<Way()> launch = [this] { return Launch(kA); };
  struct Attempt {
    std::function<Way()>* launch;
    Way way;
  };
  const auto launch_on = [&launch](std::size_t stack_bytes) {
    Attempt attempt{&launch, Way::kAlone};
    pthread_attr_t attributes;
    EXPECT_EQ(pthread_attr_init(&attributes), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    pthread_t thread{};
    const auto body = [](void* given) -> void* {
      auto& asked = *static_cast<Attempt*>(given);
      asked.way = (*asked.launch)();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, body, &attempt), 0);
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
    (void)pthread_attr_destroy(&attributes);
    return attempt.way;
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch_on(std::size_t{256} << 10U), Way::kPasses);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--phases off does not sample"), std::string::npos);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
  EXPECT_EQ(launch_on(std::size_t{8} << 20U), Way::kAlone);
  const std::vector<DataLoss> losses = gate_->Finish();
  const auto loss = std::ranges::find(losses, "launches on a small stack", &DataLoss::subject);
  ASSERT_NE(loss, losses.end());
  EXPECT_EQ(loss->count, 1);
}

TEST_F(LaunchGateTest, WhileAStreamCapturesLaunchesPassAndTheRoundGoesOnAfterIt) {
  TakeFirstPass();
  const int streams[2] = {};
  gate_->OnCaptureBegins(&streams[0]);
  gate_->OnCaptureBegins(&streams[1]);
  EXPECT_TRUE(gate_->IsCapturing());
  EXPECT_EQ(Launch(kA), Way::kPasses);
  gate_->OnCaptureEnded(&streams[0]);
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a a") << "nothing of CUPTI";
  gate_->OnCaptureEnded(&streams[1]);
  EXPECT_FALSE(gate_->IsCapturing());
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, ACaptureWaitsUntilTheRangeIsClosed) {
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  std::atomic<bool> comes = false;
  std::thread second([&] {
    comes = true;
    gate_->OnCaptureBegins(this);
    program_.gpu.calls.emplace_back("capture");
  });
  while (!comes) std::this_thread::yield();
  gate_->Leave();
  second.join();
  EXPECT_EQ(program_.gpu.calls.back(), "capture");
  EXPECT_TRUE(gate_->IsCapturing());
}

TEST_F(LaunchGateTest, WhatMustNotDisturbACaptureIsLeftOut) {
  int done = 0;
  gate_->IfNothingCaptures([&] { ++done; });
  EXPECT_EQ(done, 1);
  gate_->OnCaptureBegins(this);
  gate_->IfNothingCaptures([&] { ++done; });
  EXPECT_EQ(done, 1);
  gate_->OnCaptureEnded(this);
  ChooseProbed({kA});
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  std::thread([&] { gate_->IfNothingCaptures([&] { ++done; }); }).join();
  EXPECT_EQ(done, 1) << "it does not wait for a launch that runs alone";
  gate_->IfNothingCaptures([&] { ++done; });
  EXPECT_EQ(done, 2) << "but is done on the thread of that launch";
  gate_->Leave();
}

// Its kernels come no more.
TEST_F(LaunchGateTest, AModuleThatIsUnloadedInTheMiddleOfARoundEndsItWithWhatWasMeasured) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  (void)Launch(kB);
  (void)Launch(kA);
  for (int i = 0; i <= kMostTicksWithoutLaunch; ++i) gate_->Tick();
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "stop decode close:ranges -measuring a");
  gate_->Tick();
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U) << "b may come again";
  EXPECT_EQ(Kinds(gate_->Finish()), "pass_missing");
  EXPECT_EQ(program_.built.recording.ranges.size(), 2U);
}

TEST_F(LaunchGateTest, AContextThatEndsWhileARoundIsOpenEndsMeasuring) {
  TakeFirstPass();
  testing::internal::CaptureStderr();
  gate_->OnContextEnds();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fa-profile: no counters are measured any more: the program destroyed its CUDA context\n");
  EXPECT_EQ(program_.gpu.TakeCalls(), "close:ranges context-lost -measuring");
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_ended counters_not_measured");
}

TEST_F(LaunchGateTest, AContextThatEndsBetweenRoundsEndsMeasuringWithoutAWord) {
  ChooseProbed({kA});
  testing::internal::CaptureStderr();
  gate_->OnContextEnds();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(gate_->Measures());
}

TEST_F(LaunchGateTest, TheExitOfTheProgramKeepsTheCompletePassesOfAnOpenRound) {
  TakeFirstPass();
  EXPECT_EQ(Kinds(gate_->Finish()), "pass_missing");
  EXPECT_EQ(program_.gpu.TakeCalls(), "decode close:ranges");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(Launch(kA), Way::kPasses) << "of a thread that goes on";
}

TEST_F(LaunchGateTest, TheExitOfTheProgramWithoutACompletePassIsALoss) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_not_measured");
  EXPECT_TRUE(program_.built.recording.ranges.empty());
}

TEST_F(LaunchGateTest, TheExitOfTheProgramDoesNotWaitForABusyGpu) {
  TakeFirstPass();
  program_.idle = {false};
  program_.waits.clear();
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_not_measured");
  EXPECT_EQ(program_.waits, std::vector<double>{0.2});
  EXPECT_EQ(program_.gpu.TakeCalls(), "") << "nothing of CUPTI";
}

// A signal handler calls exit() in the middle of it, on its thread.
TEST_F(LaunchGateTest, AnExitInsideALaunchThatRunsAloneDoesNotWaitForIt) {
  TakeFirstPass();
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_not_measured");
  EXPECT_EQ(program_.gpu.TakeCalls(), "") << "nothing of CUPTI";
  EXPECT_EQ(Counted(), 0) << "the lock is free";
}

TEST_F(LaunchGateTest, AfterStopLaunchesAreNotLookedAt) {
  TakeFirstPass();
  gate_->Stop();
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_FALSE(gate_->Measures());
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
  EXPECT_EQ(Kinds(gate_->Finish()), "pass_missing") << "what was taken before is kept";
}

TEST_F(LaunchGateTest, WithTooLittleMemoryNothingNewIsMeasuredAndWhatWasTakenIsKept) {
  TakeFirstPass();
  program_.gpu.failing_call = "room";
  gate_->WatchRoom();
  gate_->WatchRoom();
  EXPECT_EQ(program_.gpu.TakeCalls(), "room") << "once";
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_ended pass_missing");
}

TEST_F(LaunchGateTest, AnotherProfilerGetsCuptiAfterTheImageOfAnOpenRound) {
  TakeFirstPass();
  EXPECT_TRUE(gate_->LeaveCupti());
  EXPECT_EQ(program_.gpu.TakeCalls(), "context decode close:ranges leave");
  EXPECT_EQ(program_.built.recording.ranges.size(), 1U);
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "a");
}

TEST_F(LaunchGateTest, WhileTheGpuIsBusyCuptiIsNotLeftAndARoundGoesOn) {
  TakeFirstPass();
  program_.idle = {false, true};
  EXPECT_FALSE(gate_->LeaveCupti());
  EXPECT_EQ(program_.gpu.TakeCalls(), "");
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, WhileAStreamCapturesCuptiIsNotLeft) {
  TakeFirstPass();
  gate_->OnCaptureBegins(this);
  EXPECT_FALSE(gate_->LeaveCupti());
  gate_->OnCaptureEnded(this);
  EXPECT_EQ(program_.gpu.TakeCalls(), "");
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, WithNothingOpenCuptiIsLeftWhileTheGpuIsBusy) {
  (void)Launch(kA);
  program_.sampled = ProgramApi::Sampling::kOff;
  program_.idle = {false};
  EXPECT_TRUE(gate_->LeaveCupti());
}

TEST_F(LaunchGateTest, CallbacksAreSwitchedWhileNothingIsMeasured) {
  ChooseProbed({kA});
  gate_->WhileNothingIsWatched([&] { EXPECT_EQ(Launch(kA), Way::kPasses); });
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, TheTimeOfMeasuringIsKnownFromThePlanOn) {
  program_.step_ns = 1'000'000;
  ChooseProbed({kA});
  EXPECT_EQ(gate_->TakeMeasuringNs(), 0);
  (void)Launch(kA);
  EXPECT_EQ(gate_->TakeMeasuringNs(), 1'000'000);
  EXPECT_EQ(gate_->TakeMeasuringNs(), 0);
}

TEST_F(LaunchGateTest, ALaunchOutsideTheRecordedContextPasses) {
  TakeFirstPass();
  program_.records = false;
  EXPECT_EQ(Launch(kA), Way::kPasses);
  program_.records = true;
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(LaunchGateTest, LaunchesThatTheUserLeftOutPass) {
  TakeFirstPass();
  program_.asks_one_by_one = true;
  program_.takes = false;
  EXPECT_EQ(Launch(kA), Way::kPasses);
  program_.takes = true;
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

class InstructionsAtTheGateTest : public LaunchGateTest {
 protected:
  InstructionsAtTheGateTest() : LaunchGateTest({{"x.sum"}, Replay::kUser, 0.01, 8, false, true}) {
    program_.gpu.passes_needed = 1;
    program_.gpu.sass_metrics.clear();
  }
};

TEST_F(InstructionsAtTheGateTest, AfterItsCountersTheInstructionsOfAClassAreCounted) {
  ChooseProbed({kA});
  (void)Launch(kA);
  EXPECT_TRUE(gate_->Measures());
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(kB), Way::kPasses);
  EXPECT_EQ(Launch(kA), Way::kAlone);
  EXPECT_EQ(program_.gpu.TakeCalls(), "b -trace counters open:counter: start a take stop +trace -measuring");
  EXPECT_FALSE(gate_->Measures());
  EXPECT_EQ(gate_->measured_launches(), 2);
}

TEST_F(InstructionsAtTheGateTest, ARoundThatFailsLeavesNothingDue) {
  ChooseProbed({kA, kB});
  (void)Launch(kA);
  (void)Launch(kB);
  program_.idle = {false};
  for (int i = 0; i < IdleWait::kMostTries; ++i) EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_FALSE(gate_->Measures());
  EXPECT_EQ(Kinds(gate_->Finish()), "counters_ended launch_not_measured");
}

TEST_F(InstructionsAtTheGateTest, AContextThatEndsLeavesNothingDue) {
  ChooseProbed({kA});
  (void)Launch(kA);
  gate_->OnContextEnds();
  EXPECT_FALSE(gate_->Measures());
}

TEST_F(InstructionsAtTheGateTest, TheCounterIsClosedBeforeItsContextIsGone) {
  ChooseProbed({kA});
  (void)Launch(kA);
  (void)Launch(kA);
  (void)program_.gpu.TakeCalls();
  gate_->OnContextEnds();
  EXPECT_EQ(program_.gpu.TakeCalls(), "close:counter: context-lost");
}

class ReplayAtTheGateTest : public LaunchGateTest {
 protected:
  ReplayAtTheGateTest() : LaunchGateTest({{"x.sum"}, Replay::kKernel, 0.01, 8, true, false}) {}
};

TEST_F(ReplayAtTheGateTest, TheFirstLaunchOfEachClassRunsAlone) {
  EXPECT_EQ(Launch(kA), Way::kAlone) << "also the one that opens the recording";
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Launch(kB), Way::kAlone);
  EXPECT_EQ(gate_->replayed_launches(), 2);
  gate_->Tick();
  EXPECT_EQ(program_.built.recording.ranges.size(), 2U);
}

TEST_F(ReplayAtTheGateTest, AfterAFailureNothingRunsAlone) {
  program_.gpu.failing_call = "decode";
  EXPECT_EQ(Launch(kA), Way::kAlone);
  (void)program_.gpu.TakeCalls();
  EXPECT_EQ(Launch(kB), Way::kPasses);
  EXPECT_EQ(program_.gpu.TakeCalls(), "b");
}

TEST(GateLockTest, ItsHolderCannotBeCancelled) {
  GateLock lock;
  std::atomic<bool> held = false;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> outlived = false;
  std::thread holder([&] {
    lock.lock();
    held = true;
    while (!cancelled) std::this_thread::yield();
    pthread_testcancel();
    outlived = true;
    lock.unlock();
    while (true) pthread_testcancel();
  });
  while (!held) std::this_thread::yield();
  ASSERT_EQ(pthread_cancel(holder.native_handle()), 0);
  cancelled = true;
  holder.join();
  EXPECT_TRUE(outlived);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// The GPU may be busy with a host function that waits for a launch of the other thread.
TEST(IdleWaitTest, AThreadThatWantsToLaunchComesBeforeTheNextTry) {
  FakeProgram program;
  program.idle = {false};
  GateLock lock;
  const WorkCalls calls;
  IdleWait idle(program, calls);
  idle.YieldTo(lock);
  std::unique_lock hold(lock);
  EXPECT_FALSE(idle.Wait());
  EXPECT_FALSE(idle.Wait());
  std::thread other([&] { const std::lock_guard launches(lock); });
  while (!lock.IsWantedByOthers()) std::this_thread::yield();
  EXPECT_FALSE(idle.Wait());
  EXPECT_EQ(program.waits, (std::vector<double>{0.2, 0.4, 0.2}));
  hold.unlock();
  other.join();
  hold.lock();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(idle.Wait());
  EXPECT_EQ(program.waits.size(), 3U) << "other launches come first";
  program.now_ns += 200'000'001;
  EXPECT_FALSE(idle.Wait());
  EXPECT_EQ(program.waits.back(), 1.6);
}

}  // namespace
}  // namespace fa_profile::collect::launch_gate_test
