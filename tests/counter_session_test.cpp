// The loop over passes, and the way from counter data to the recording, on a GPU that is faked.
#include "fa_profile/counter_session.h"

#include <gtest/gtest.h>

#include "fake_gpu.h"
#include "recording_builder.h"

namespace fa_profile::collect::counter_session_test {
namespace {

const MetricPlan kTwoPasses = {"GH100", {"a.sum"}, {}, 2, {}, false};

class RunPassesTest : public testing::Test {
 protected:
  UserRange RangeNamed(const std::string& name) {
    return {name, [this, name] { gpu_.Launched("prepare " + name); }, [this, name] { gpu_.Launched(name); }};
  }
  CounterData Run(const std::vector<UserRange>& ranges) {
    return RunPasses(*gpu_.OpenRangeProfiler(), kTwoPasses, ranges);
  }
  std::string ErrorOfRun() {
    try {
      (void)Run({RangeNamed("a"), RangeNamed("b")});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  FakeGpu gpu_;
};

TEST_F(RunPassesTest, EveryPassRunsAllRangesInOrderEachAfterItsPreparation) {
  gpu_.passes_needed = 2;
  (void)Run({RangeNamed("a"), RangeNamed("b")});
  EXPECT_EQ(gpu_.TakeCalls(),
            "open:ranges user:2 "
            "start prepare a [a a ] prepare b [b b ] stop "
            "start prepare a [a a ] prepare b [b b ] stop "
            "decode close:ranges");
}

TEST_F(RunPassesTest, PassesEndWhenCuptiHasAllOfThemAlsoWhenThePlanNamedMore) {
  gpu_.passes_needed = 1;
  (void)Run({RangeNamed("a")});
  EXPECT_EQ(gpu_.Count("start"), 1);
  EXPECT_EQ(gpu_.Count("decode"), 1);
}

TEST_F(RunPassesTest, AFewPassesMoreThanPlannedAreTaken) {
  gpu_.passes_needed = 10;
  (void)Run({RangeNamed("a")});
  EXPECT_EQ(gpu_.Count("stop"), 10);
}

TEST_F(RunPassesTest, PassesWithoutEndAreAnError) {
  gpu_.passes_needed = 11;
  EXPECT_NE(ErrorOfRun().find("CUPTI asked for more than 10 passes"), std::string::npos);
  EXPECT_EQ(gpu_.Count("start"), 10);
  EXPECT_EQ(gpu_.Count("decode"), 0);
  EXPECT_EQ(gpu_.open, 0);
}

TEST_F(RunPassesTest, AfterAFailureNothingMoreRunsAndTheProfilerIsClosed) {
  for (const std::string failing : {"user:2", "start", "prepare a", "[a", "a", "]", "prepare b", "stop", "decode"}) {
    gpu_.failing_call = failing;
    EXPECT_NE(ErrorOfRun().find(failing + " failed"), std::string::npos) << failing;
    EXPECT_EQ(gpu_.open, 0) << failing;
    ASSERT_GE(gpu_.calls.size(), 2U);
    EXPECT_EQ(gpu_.calls[gpu_.calls.size() - 2], failing);
    EXPECT_EQ(gpu_.calls.back(), "close:ranges") << failing;
    gpu_.calls.clear();
  }
}

class CounterSessionTest : public testing::Test {
 protected:
  CounterData Measure(CounterSession& session, const std::vector<std::string>& names) {
    std::vector<UserRange> ranges;
    for (const std::string& name : names) ranges.push_back({name, [] {}, [] {}});
    return RunPasses(*gpu_.OpenRangeProfiler(), session.plan(), ranges);
  }
  const std::vector<std::string> metrics_ = {"a.sum"};
  Device device_;
  FakeGpu gpu_;
  RecordingBuilder built_;
  CollectRun run_{device_, gpu_, built_, 100};
};

TEST_F(CounterSessionTest, ThePlanAndWhatItRefusedAreWrittenFirst) {
  gpu_.refused = {{"metric_unavailable", "b.sum", "unknown", 1}};
  gpu_.passes_needed = 3;
  const CounterSession session(run_, metrics_);
  ASSERT_EQ(built_.recording.configs.size(), 1U);
  EXPECT_EQ(built_.recording.configs[0].id, 100);
  EXPECT_EQ(built_.recording.configs[0].passes, 3);
  EXPECT_EQ(built_.recording.configs[0].metrics, metrics_);
  ASSERT_EQ(built_.recording.losses.size(), 1U);
  EXPECT_EQ(built_.recording.losses[0].subject, "b.sum");
  EXPECT_EQ(built_.commits, 1);
}

TEST_F(CounterSessionTest, RangesBelongToTheirCasesAndTheirImage) {
  CounterSession session(run_, metrics_);
  session.Write(Measure(session, {"x", "x/p"}), {{1, "", "x"}, {1, "p", "x/p"}}, /*keep_image=*/true);
  const std::vector<Range>& ranges = built_.recording.ranges;
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[1].case_id, 1);
  EXPECT_EQ(ranges[1].part, "p");
  EXPECT_EQ(ranges[1].name, "x/p");
  EXPECT_EQ(ranges[1].image_index, 1);
  EXPECT_EQ(ranges[1].metrics.at("a.sum"), 2.0);
  ASSERT_EQ(built_.images.size(), 1U);
  EXPECT_EQ(built_.images.begin()->first, ranges[0].image_id);
  EXPECT_EQ(built_.images.begin()->second.config_id, 100);
  EXPECT_TRUE(built_.recording.losses.empty());
}

TEST_F(CounterSessionTest, AnImageThatIsNotKeptIsNotNamed) {
  CounterSession session(run_, metrics_);
  session.Write(Measure(session, {"x"}), {{1, "", "x"}}, /*keep_image=*/false);
  EXPECT_TRUE(built_.images.empty());
  EXPECT_EQ(built_.recording.ranges.at(0).image_id, 0);
}

TEST_F(CounterSessionTest, DroppedRangesAreALossAndTheOthersAreKept) {
  gpu_.ranges_dropped = 2;
  CounterSession session(run_, metrics_);
  session.Write(Measure(session, {"x", "y", "z"}), {{1, "", "x"}, {2, "", "y"}, {3, "", "z"}}, true);
  EXPECT_EQ(built_.recording.ranges.size(), 1U);
  ASSERT_EQ(built_.recording.losses.size(), 1U);
  EXPECT_EQ(built_.recording.losses[0].kind, "range_dropped");
  EXPECT_EQ(built_.recording.losses[0].subject, "y");
  EXPECT_EQ(built_.recording.losses[0].count, 2);
}

TEST_F(CounterSessionTest, RangesInAnotherOrderAreKnownByTheirNames) {
  gpu_.range_names = {"y", "x"};
  CounterSession session(run_, metrics_);
  session.Write(Measure(session, {"x", "y"}), {{1, "", "x"}, {2, "", "y"}}, true);
  ASSERT_EQ(built_.recording.ranges.size(), 2U);
  EXPECT_EQ(built_.recording.ranges[0].case_id, 2);
  EXPECT_EQ(built_.recording.ranges[1].case_id, 1);
}

TEST_F(CounterSessionTest, ARangeWithANameThatWasNotPushedIsAnErrorAndNoneIsWritten) {
  gpu_.range_names = {"x", "z"};
  CounterSession session(run_, metrics_);
  EXPECT_THROW(session.Write(Measure(session, {"x", "y"}), {{1, "", "x"}, {2, "", "y"}}, true), Error);
  EXPECT_TRUE(built_.recording.ranges.empty());
  EXPECT_TRUE(built_.images.empty());
}

TEST_F(CounterSessionTest, ALaunchUnderKernelReplayIsARangeThatCuptiNames) {
  CounterSession session(run_, metrics_);
  const std::unique_ptr<RangeProfiler> profiler = gpu_.OpenRangeProfiler();
  gpu_.calls.clear();
  session.StartKernelRanges(*profiler, 1);
  gpu_.Launched("kernel");
  session.WriteKernelRanges(*profiler, {{7, "", ""}}, true);
  EXPECT_EQ(gpu_.TakeCalls(), "kernel:1 start kernel stop decode");
  ASSERT_EQ(built_.recording.ranges.size(), 1U);
  EXPECT_EQ(built_.recording.ranges[0].name, "auto");
  EXPECT_EQ(built_.recording.ranges[0].case_id, 7);
}

}  // namespace
}  // namespace fa_profile::collect::counter_session_test
