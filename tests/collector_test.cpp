// What the collector measures, in which order, and how it ends, on a fake GPU.
#include "fa_profile/collector.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <variant>

#include "fake_gpu.h"
#include "recording_builder.h"

namespace fa_profile::collect::collector_test {
namespace {

// Fails where a disk would be full.
class FullDisk final : public RecordingSink {
 public:
  void Commit() override {}

 private:
  void Take(const RecordingPiece& piece) override {
    if (std::holds_alternative<const CounterImage*>(piece)) throw Error("the disk is full");
  }
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() {
    options_.metrics = {"a.sum"};
    options_.warmup_launches = 0;
    options_.timed_launches = 0;
  }
  void Collect(const std::vector<CollectJob>& jobs) { Collector(run_, options_).Collect(jobs); }
  // Only the calls of the counters: from opening the range profiler to closing it.
  std::string CounterCalls() {
    const auto first = std::find(gpu_.calls.begin(), gpu_.calls.end(), "open:ranges");
    gpu_.calls.erase(gpu_.calls.begin(), first);
    return gpu_.TakeCalls();
  }

  Device device_;
  FakeGpu gpu_;
  RecordingBuilder built_;
  CollectRun run_{device_, gpu_, built_, 100};
  CollectOptions options_;
  FakeWorkload one_{gpu_, "one"};
  FakeWorkload two_{gpu_, "two", {"p", "q"}};
};

TEST_F(CollectorTest, DurationsComeFirstThenLaunchesThenCounters) {
  options_.timed_launches = 2;
  options_.warmup_launches = 1;
  Collect({{1, &one_}});
  EXPECT_EQ(gpu_.TakeCalls(),
            "one synchronize time one one "       // a call to warm up, two samples
            "synchronize trace one synchronize "  // one call under the activity API
            "plan open:ranges user:1 start one [one one ] stop decode close:ranges");
  ASSERT_EQ(built_.recording.timings.size(), 1U);
  EXPECT_EQ(built_.recording.timings[0].durations_ns, (std::vector<double>{1000.0, 1000.0}));
}

TEST_F(CollectorTest, TimingsCarryTheClockOfTheirReplays) {
  options_.timed_launches = 2;
  Collect({{1, &one_}});
  ASSERT_FALSE(built_.recording.timings.empty());
  for (const Timing& timing : built_.recording.timings) EXPECT_EQ(timing.sm_clock_hz, 1.5e9);
}

TEST_F(CollectorTest, AClockThatCannotBeReadIsAbsent) {
  options_.timed_launches = 2;
  gpu_.sm_clock_hz.reset();
  Collect({{1, &one_}});
  ASSERT_FALSE(built_.recording.timings.empty());
  for (const Timing& timing : built_.recording.timings) EXPECT_FALSE(timing.sm_clock_hz);
}

TEST_F(CollectorTest, RangesAreTheCallAndEachOfSeveralParts) {
  Collect({{1, &one_}, {2, &two_}});
  EXPECT_EQ(CounterCalls(),
            "open:ranges user:4 start one [one one ] "
            "two/p two/q [two two/p two/q ] two/p [two/p two/p ] two/q [two/q two/q ] stop decode close:ranges");
  std::vector<std::string> names;
  for (const Range& range : built_.recording.ranges) names.push_back(range.name);
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two", "two/p", "two/q"}));
}

// varlen_gqa of examples/attention has one of 70 bytes: CUPTI ended the process when it decoded the counters.
TEST_F(CollectorTest, NamesThatAreTooLongForCuptiAreCutAndToldApart) {
  const std::string start(80, 'x');
  FakeWorkload first{gpu_, start + "1"};
  FakeWorkload second{gpu_, start + "2"};
  Collect({{1, &first}, {2, &second}});
  ASSERT_EQ(built_.recording.ranges.size(), 2U);
  EXPECT_EQ(built_.recording.ranges[0].name, start.substr(0, 57) + "#0");
  EXPECT_EQ(built_.recording.ranges[1].name, start.substr(0, 57) + "#1");
  EXPECT_EQ(built_.recording.ranges[1].case_id, 2);
}

TEST_F(CollectorTest, AFlushedCacheReplacesTheCallThatWarmsIt) {
  gpu_.flushes_cache = true;
  Collect({{1, &one_}});
  EXPECT_EQ(CounterCalls(), "open:ranges user:1 start flush [one one ] stop decode close:ranges");
}

TEST_F(CollectorTest, BatchesAreMeasuredOneAfterAnotherByOneProfilerAndOnePlan) {
  options_.ranges_per_batch = 3;
  gpu_.passes_needed = 2;
  Collect({{1, &one_}, {2, &two_}});
  EXPECT_EQ(gpu_.Count("plan"), 1);
  EXPECT_EQ(gpu_.Count("open:ranges"), 1);
  EXPECT_EQ(gpu_.Count("user:3"), 1);
  EXPECT_EQ(gpu_.Count("user:1"), 1);
  EXPECT_EQ(gpu_.Count("start"), 4);
  ASSERT_EQ(built_.recording.ranges.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(built_.recording.ranges[i].metrics.at("a.sum"), static_cast<double>(i + 1));
    EXPECT_EQ(built_.recording.ranges[i].image_index, static_cast<int>(i % 3));
  }
  EXPECT_EQ(built_.images.size(), 2U);
}

TEST_F(CollectorTest, ThePlanIsMadeOnceForAllCalls) {
  Collector collector(run_, options_);
  collector.Collect({{1, &one_}});
  collector.Collect({{2, &two_}});
  EXPECT_EQ(gpu_.Count("plan"), 1);
  EXPECT_EQ(built_.recording.configs.size(), 1U);
}

TEST_F(CollectorTest, WithoutMetricsNoProfilerIsOpened) {
  options_.metrics.clear();
  Collect({{1, &one_}});
  EXPECT_EQ(gpu_.Count("plan"), 0);
  EXPECT_EQ(gpu_.Count("open:ranges"), 0);
  EXPECT_EQ(built_.recording.launches.size(), 1U);
}

TEST_F(CollectorTest, LaunchesBelongToTheirPartsInTheOrderOfTheParts) {
  Collect({{2, &two_}});
  ASSERT_EQ(built_.recording.launches.size(), 2U);
  EXPECT_EQ(built_.recording.launches[0].part, "p");
  EXPECT_EQ(built_.recording.launches[1].part, "q");
  EXPECT_EQ(built_.recording.launches[1].case_id, 2);
}

TEST_F(CollectorTest, KernelReplayMeasuresEachJobAloneAndEachLaunchAsARange) {
  options_.kernel_replay = true;
  Collect({{1, &one_}, {2, &two_}});
  EXPECT_EQ(CounterCalls(),
            "open:ranges synchronize kernel:1 start one synchronize stop decode "
            "synchronize kernel:2 start two/p two/q synchronize stop decode close:ranges");
  ASSERT_EQ(built_.recording.ranges.size(), 3U);
  EXPECT_EQ(built_.recording.ranges[2].part, "q");
  EXPECT_EQ(built_.recording.ranges[2].case_id, 2);
}

TEST_F(CollectorTest, AFailingPassEndsTheRunKeepsFinishedBatchesAndClosesTheProfiler) {
  options_.ranges_per_batch = 1;
  gpu_.failing_call = "[two";
  EXPECT_THROW(Collect({{1, &one_}, {2, &two_}}), Error);
  EXPECT_EQ(gpu_.open, 0);
  EXPECT_EQ(gpu_.calls.back(), "close:ranges");
  ASSERT_EQ(built_.recording.ranges.size(), 1U);  // written despite the pass that failed
  EXPECT_EQ(built_.recording.ranges[0].name, "one");
}

TEST_F(CollectorTest, AnInterruptInAPassIsHeardBeforeTheNextRange) {
  gpu_.passes_needed = 5;
  run_.cancelled = [this] { return gpu_.Count("stop") == 2; };
  try {
    Collect({{1, &one_}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("interrupted"), std::string::npos);
  }
  EXPECT_EQ(gpu_.Count("start"), 3);
  EXPECT_EQ(gpu_.Count("[one"), 2);
  EXPECT_EQ(gpu_.open, 0);
}

TEST_F(CollectorTest, AnInterruptIsHeardBetweenTwoTimedSamples) {
  options_.timed_launches = 100;
  run_.cancelled = [this] { return gpu_.Count("one") == 3; };
  EXPECT_THROW(Collect({{1, &one_}}), Error);
  EXPECT_EQ(gpu_.Count("one"), 3);
  EXPECT_TRUE(built_.recording.timings.empty());
}

TEST_F(CollectorTest, ABatchThatCannotBeWrittenEndsTheRun) {
  FullDisk full;
  CollectRun run{device_, gpu_, full, 100};
  options_.ranges_per_batch = 1;
  EXPECT_THROW(Collector(run, options_).Collect({{1, &one_}, {2, &two_}}), Error);
  EXPECT_EQ(gpu_.open, 0);
  EXPECT_LE(gpu_.Count("decode"), 2);  // noticed when the next batch is to be written
}

TEST_F(CollectorTest, ProgressNamesTheStagesAndReachesItsEnd) {
  std::vector<std::string> seen;
  run_.progress = [&](const Progress& progress) {
    seen.push_back(progress.stage + " " + std::to_string(progress.done) + "/" + std::to_string(progress.total));
  };
  Collect({{1, &one_}});
  EXPECT_EQ(seen, (std::vector<std::string>{"timing 0/1", "launches 0/1", "counters 0/1", "counters 1/1"}));
}

}  // namespace
}  // namespace fa_profile::collect::collector_test
