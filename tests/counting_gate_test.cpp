// Launches that the gate counts, also those that it does not measure.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "launch_gate_fixture.h"

namespace fa_profile::collect::counting_gate_test {
namespace {

class CountingGateTest : public LaunchGateTest {
 protected:
  CountingGateTest() : LaunchGateTest({{"x.sum"}, Replay::kUser, 0.01, 8, true, false}) {}
};

TEST_F(CountingGateTest, EveryLaunchIsCountedButForTheMeasuredOnes) {
  ChooseProbed({kA});
  EXPECT_EQ(Counted(), 1) << "the probe; the recording was opened by a launch before it counts";
  (void)Launch(kA);
  EXPECT_EQ(Counted(), 0);
  (void)Launch(kB);
  (void)Launch(GraphLaunch(3));
  EXPECT_EQ(Counted(), 2);
}

TEST_F(CountingGateTest, ManyThreadsCountWithNothingToMeasure) {
  (void)Launch(kA);
  gate_->Tick();
  (void)gate_->TakeCounts();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        EXPECT_EQ(gate_->Enter(kB), Way::kPasses);
        gate_->Leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Counted(), 400);
}

// A launch that is only counted takes no lock.
TEST_F(CountingGateTest, ClassesThatAreChosenLaterAreMeasuredAllTheSame) {
  for (int i = 0; i < 3; ++i) (void)Launch(kA);
  gate_->Tick();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Launch(kA), Way::kPasses);
  program_.AddCandidate(KeyOf(kA));
  gate_->Tick();
  EXPECT_EQ(Launch(kA), Way::kAlone);
  EXPECT_EQ(Launch(kA), Way::kAlone);
}

TEST_F(CountingGateTest, ChoicesAreAskedAboutEachLaunchWhileTheyMatter) {
  program_.asks_one_by_one = true;
  for (int i = 0; i < 3; ++i) (void)Launch(kA);
  EXPECT_EQ(program_.asked, 2) << "but for the one that opened the recording";
  gate_->Stop();
  (void)Launch(kA);
  EXPECT_EQ(program_.asked, 2);
}

// Contexts come and go with libraries that are loaded again and again.
TEST_F(CountingGateTest, LaunchesInOtherContextsAreToldApart) {
  for (int i = 0; i < 3; ++i) (void)Launch(kA);
  (void)gate_->TakeCounts();
  program_.records = false;
  for (int i = 0; i < 5; ++i) (void)Launch(kA);
  const AskedLaunches asked = gate_->TakeCounts();
  EXPECT_EQ(asked.elsewhere, 5);
  EXPECT_TRUE(asked.kernels.empty());
  EXPECT_EQ(gate_->TakeCounts().elsewhere, 0);
}

// CUPTI's libraries are destroyed before our last handler of exit() runs.
TEST_F(CountingGateTest, NothingIsMeasuredOnceTheProgramExits) {
  ChooseProbed({kA});
  EXPECT_EQ(Launch(kA), Way::kAlone);
  (void)program_.gpu.TakeCalls();
  gate_->EndMeasuring();
  EXPECT_EQ(program_.gpu.TakeCalls(), "context decode close:ranges")
      << "CUPTI would use the range profiler at each launch";
  EXPECT_EQ(Launch(kA), Way::kPasses);
  EXPECT_EQ(Kinds(gate_->Finish()), "pass_missing") << "what was taken is kept";
}

TEST_F(CountingGateTest, SamplingEndsAsTheProgramExitsIfOtherThreadsMayLaunch) {
  (void)Launch(kA);
  (void)program_.gpu.TakeCalls();
  gate_->EndMeasuring();
  EXPECT_EQ(program_.gpu.TakeCalls(), "") << "the thread that exits launches nothing more";
  std::thread([&] { (void)Launch(kA); }).join();
  (void)program_.gpu.TakeCalls();
  program_.idle = {false, true};
  gate_->EndMeasuring();
  EXPECT_EQ(program_.gpu.TakeCalls(), "context") << "CUPTI would wait for the busy GPU";
  gate_->OnCaptureBegins(this);
  gate_->EndMeasuring();
  gate_->OnCaptureEnded(this);
  EXPECT_EQ(program_.gpu.TakeCalls(), "");
  gate_->EndMeasuring();
  EXPECT_EQ(program_.gpu.TakeCalls(), "context -trace -samples no-samples +trace");
}

// CUPTI waits for all of the GPU's work around a launch that runs alone, also for a host function, which may wait for
// the thread that launches.
TEST_F(CountingGateTest, WorkThatMayWaitForTheHostIsQueuedBeforeOrAfterALaunchThatRunsAlone) {
  ChooseProbed({kA});
  const auto queue = [this] {
    gate_->OnWorkBegins();
    gate_->OnWorkEnded();
  };
  queue();
  std::atomic<bool> queued = false;
  ASSERT_EQ(gate_->Enter(kA), Way::kAlone);
  queue();  // CUPTI's own
  std::thread other([&] {
    queue();
    queued = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(queued);
  gate_->Leave();
  other.join();
  EXPECT_TRUE(queued);
}

// While another thread loads a module, cuptiPCSamplingDisable and the driver would wait for each other.
TEST_F(CountingGateTest, WhileAnotherThreadsCallGivesWorkNothingIsMeasured) {
  ChooseProbed({kA});
  std::thread([this] { gate_->OnWorkBegins(); }).join();
  for (int i = 0; i < 2 * IdleWait::kMostTries; ++i) {
    program_.now_ns += 1'000'000'000;
    EXPECT_EQ(gate_->Enter(kA), Way::kPasses);
  }
  std::thread([this] { gate_->OnWorkEnded(); }).join();
  program_.now_ns += 1'000'000'000;
  EXPECT_EQ(gate_->Enter(kA), Way::kAlone) << "measuring was not given up";
  gate_->Leave();
}

TEST_F(CountingGateTest, LaunchesDuringCapturesAreALoss) {
  for (int i = 0; i < 3; ++i) (void)Launch(kA);
  (void)gate_->TakeCounts();
  gate_->OnCaptureBegins(this);
  (void)Launch(kA);
  gate_->OnCaptureEnded(this);
  gate_->OnDeviceGraph();
  EXPECT_EQ(Counted(), 0);
  EXPECT_EQ(Kinds(gate_->Finish()), "launch_not_watched launch_not_watched");
}

TEST_F(CountingGateTest, AfterAFailureLaunchesAreStillCountedAndAfterStopTheyAreNot) {
  TakeFirstPass();
  program_.gpu.failing_call = "]";
  (void)Launch(kA);
  (void)gate_->TakeCounts();
  (void)Launch(kA);
  EXPECT_EQ(Counted(), 1);
  gate_->Stop();
  (void)Launch(kA);
  EXPECT_EQ(Counted(), 0);
}

TEST_F(CountingGateTest, NoFailureLeadsBackFromStop) {
  TakeFirstPass();
  gate_->Stop();
  gate_->OnContextEnds();
  (void)program_.gpu.TakeCalls();
  gate_->Tick();
  EXPECT_EQ(program_.gpu.TakeCalls(), "-watch");
}

TEST_F(CountingGateTest, SamplingEndsAtALaunchOfAProgramWithOneThread) {
  (void)Launch(kA);
  for (int i = 0; i < 11; ++i) {
    (void)Launch(kA);
    EXPECT_FALSE(gate_->EndSampling());
  }
  (void)program_.gpu.TakeCalls();
  (void)Launch(kA);
  EXPECT_EQ(program_.gpu.TakeCalls(), "-trace -samples no-samples +trace a");
  EXPECT_TRUE(gate_->EndSampling());
}

TEST_F(CountingGateTest, SamplingIsLeftOnInAProgramWithSeveralThreads) {
  for (int i = 0; i < 3; ++i) (void)Launch(kA);
  std::thread([&] { (void)Launch(kB); }).join();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(gate_->EndSampling());
  (void)Launch(kA);
  EXPECT_EQ(program_.gpu.Count("-samples"), 0);
}

TEST_F(CountingGateTest, SamplingThatDoesNotEndEndsMeasuring) {
  (void)Launch(kA);
  for (int i = 0; i < 11; ++i) EXPECT_FALSE(gate_->EndSampling());
  program_.gpu.failing_call = "-samples";
  (void)Launch(kA);
  EXPECT_FALSE(gate_->Measures());
  program_.sampled = ProgramApi::Sampling::kHangs;
  EXPECT_FALSE(gate_->EndSampling());
}

}  // namespace
}  // namespace fa_profile::collect::counting_gate_test
