#include "call_timeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "sample_recording.h"
#include "timeline_samples.h"

namespace fa_profile::analyze::call_timeline_test {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::optional<CallTimeline> Of(const std::vector<PmSample>& samples) {
  std::vector<const PmSample*> pointers;
  for (const PmSample& sample : samples) pointers.push_back(&sample);
  return CallTimelineOf(pointers);
}

/// From consecutive 10 us samples of the SMs' activity, in percent.
CallTimeline OfSmActivity(const std::vector<double>& values) {
  std::vector<PmSample> samples;
  for (const double value : values) {
    samples.push_back({1, "sm_active", static_cast<std::int64_t>(samples.size()) * 10'000, 10'000, value});
  }
  return Of(samples).value();
}

TEST(CallTimelineTest, SeriesAreInTheOrderOfTheMetricsAndTheirSamplesInThatOfTime) {
  const CallTimeline timeline =
      Of({{1, "l2", 20, 10, 5.0}, {1, "tensor", 10, 10, 75.0}, {1, "l2", 0, 10, 2.0}, {1, "tensor", 0, 10, 25.0}})
          .value();
  ASSERT_EQ(timeline.series.size(), 2U);
  EXPECT_EQ(timeline.series[0].metric, "tensor");
  EXPECT_EQ(timeline.series[0].samples[0].ratio, 0.25);
  EXPECT_EQ(timeline.series[0].samples[1].start_ns, 10);
  EXPECT_EQ(timeline.series[1].metric, "l2");
  EXPECT_EQ(timeline.series[1].largest_ratio, 0.05);
  EXPECT_EQ(timeline.active_ns, 30);
  EXPECT_TRUE(timeline.tails.empty());
}

TEST(CallTimelineTest, WhatIsLeftOutIsALossOfTheProfile) {
  Recording recording = sample::MakeRecording();
  sample::AddTimeline(recording, 1);
  const auto left_out = [&] {
    std::int64_t count = 0;
    for (const DataLoss& loss : Analyze(recording).losses) {
      if (loss.kind == "timeline_left_out" && loss.subject == "mma@1,8,512,64") count += loss.count;
    }
    return count;
  };
  EXPECT_EQ(left_out(), 0);
  recording.pm_samples[0].value = -1.0;
  recording.pm_samples[1].metric = "unknown";
  recording.pm_samples[2].duration_ns = 0;
  EXPECT_EQ(left_out(), 3);
}

TEST(CallTimelineTest, TheMeanIsByTimeWhileTheLaunchOfTheGroupWasActive) {
  const CallTimeline timeline = Of({{1, "sm_active", 0, 30, 100.0},
                                    {1, "sm_active", 30, 10, 20.0},
                                    {1, "sm_active", 40, 960, 0.5},
                                    {1, "tensor", 0, 30, 40.0},
                                    {1, "tensor", 30, 10, 0.0},
                                    {1, "tensor", 40, 960, 0.0}})
                                    .value();
  EXPECT_EQ(timeline.active_ns, 40);
  EXPECT_DOUBLE_EQ(timeline.series[0].mean_ratio, 0.8);
  EXPECT_DOUBLE_EQ(timeline.series[1].mean_ratio, 0.3);
}

TEST(CallTimelineTest, TheTailIsTheEndBelowAPartOfTheLargestActivity) {
  const CallTimeline timeline = OfSmActivity({31, 100, 99, 40, 100, 60, 51, 30, 10, 0, 0});
  EXPECT_EQ(timeline.active_ns, 90'000);
  ASSERT_EQ(timeline.tails.size(), 2U);
  EXPECT_EQ(timeline.tails[0].below_ratio, 0.9);
  EXPECT_EQ(timeline.tails[0].start_ns, 50'000);
  EXPECT_EQ(timeline.tails[0].duration_ns, 40'000);
  EXPECT_EQ(timeline.tails[0].samples, 4);
  EXPECT_EQ(timeline.tails[1].below_ratio, 0.5);
  EXPECT_EQ(timeline.tails[1].duration_ns, 20'000);
  EXPECT_DOUBLE_EQ(timeline.tails[1].share_ratio, 2.0 / 9.0);
  EXPECT_EQ(timeline.tails[1].samples, 2);
}

TEST(CallTimelineTest, TheSampleInWhichTheCallEndsIsATailOfOneSample) {
  const CallTimeline timeline = OfSmActivity({100, 100, 100, 29, 0});
  EXPECT_EQ(timeline.tails.at(1).samples, 1);
  EXPECT_EQ(timeline.tails.at(1).duration_ns, 10'000);
}

TEST(CallTimelineTest, WithoutActivityThereIsNoTail) {
  const CallTimeline timeline = OfSmActivity({0, 0});
  EXPECT_EQ(timeline.active_ns, 0);
  EXPECT_EQ(timeline.series.at(0).mean_ratio, 0.0);
  EXPECT_TRUE(timeline.tails.empty());
}

TEST(CallTimelineTest, WhatIsNoSampleIsLeftOut) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(Of({}));
  EXPECT_FALSE(Of({{1, "later", 0, 10, 5.0},
                   {1, "tensor", -1, 10, 5.0},
                   {1, "tensor", 0, 0, 5.0},
                   {1, "tensor", kMost, 1, 5.0},
                   {1, "tensor", 0, 10, infinity},
                   {1, "tensor", 0, 10, -1.0}}));
  EXPECT_EQ(Of({{1, "tensor", kMost - 1, 1, 1e300}})->active_ns, kMost);
}

TEST(CallTimelineTest, TheCallHasItsSamplesAndPartsAndWrongKernelsHaveNone) {
  Recording recording = sample::MakeRecording();
  for (const Case& each : recording.cases) sample::AddTimeline(recording, each.id);
  for (const ProfileEntry& entry : Analyze(recording).entries) {
    const bool correct = !entry.verification || entry.verification->correct();
    EXPECT_EQ(entry.timeline.has_value(), entry.part.empty() && correct) << entry.kernel << "/" << entry.part;
    if (!entry.timeline) continue;
    EXPECT_EQ(entry.timeline->series.size(), TimelineMetrics().size());
    EXPECT_EQ(entry.timeline->active_ns, 1'010'000);
    EXPECT_EQ(entry.timeline->tails.at(1).duration_ns, 40'000);
  }
}

}  // namespace
}  // namespace fa_profile::analyze::call_timeline_test
