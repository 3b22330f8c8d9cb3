#include "fa_profile/make_timeline.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "program_recording.h"
#include "sample_recording.h"

namespace fa_profile::analyze::make_timeline_test {
namespace {

Timeline Make(const Recording& recording) { return MakeTimeline(recording, Analyze(recording)); }

const TimelineTrack* Find(const std::vector<TimelineTrack>& tracks, const std::string& name) {
  for (const TimelineTrack& track : tracks) {
    if (track.name == name) return &track;
    if (const TimelineTrack* const below = Find(track.tracks, name)) return below;
  }
  return nullptr;
}

const TimelineTrack& Named(const Timeline& timeline, const std::string& name) {
  static const TimelineTrack kNone{};
  const TimelineTrack* const track = Find(timeline.tracks, name);
  EXPECT_NE(track, nullptr) << name;
  return track == nullptr ? kNone : *track;
}

std::string TextOf(const TimelineSlice& slice, const std::string& fact) {
  for (const auto& [name, value] : slice.facts) {
    if (name == fact) return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "a number";
  }
  return {};
}

/// Fails where slices overlap, or are not within `start` to `end`.
void ExpectInOrder(const std::vector<TimelineSlice>& slices, std::int64_t start, std::int64_t end) {
  for (const TimelineSlice& slice : slices) {
    EXPECT_GE(slice.start_ns, start) << slice.name;
    EXPECT_GE(slice.duration_ns, 0) << slice.name;
    start = slice.start_ns + slice.duration_ns;
    EXPECT_LE(start, end) << slice.name;
    ExpectInOrder(slice.nested, slice.start_ns, start);
  }
}

void ExpectInOrder(const std::vector<TimelineTrack>& tracks) {
  for (const TimelineTrack& track : tracks) {
    ExpectInOrder(track.slices, 0, kTimelineEndNs);
    for (std::size_t i = 1; i < track.points.size(); ++i) {
      EXPECT_GE(track.points[i].at_ns, track.points[i - 1].at_ns) << track.name;
    }
    ExpectInOrder(track.tracks);
  }
}

TEST(MakeTimelineTest, LaunchesAreSlicesOfTheirStreamWithStatisticalPhases) {
  const Timeline timeline = Make(sample::MakeRecording());
  ExpectInOrder(timeline.tracks);
  EXPECT_EQ(timeline.tracks.at(0).name, "GPU 0: NVIDIA H200");
  const TimelineTrack& stream = Named(timeline, "stream 0");
  ASSERT_EQ(stream.slices.size(), 5U);
  const TimelineSlice& mma = stream.slices[0];
  EXPECT_EQ(mma.name, "mma_kernel<64, false>");
  EXPECT_EQ(mma.start_ns, 0);
  EXPECT_EQ(mma.duration_ns, 9000);
  EXPECT_EQ(TextOf(mma, "call"), "mma@1,8,512,64");
  EXPECT_EQ(TextOf(mma, "correct"), "yes");
  ASSERT_FALSE(mma.nested.empty());
  EXPECT_EQ(mma.nested[0].name, "softmax (statistical)");
  EXPECT_EQ(TextOf(mma.nested[0], "statistical"), "share of samples, order not measured");
}

TEST(MakeTimelineTest, TheTimeBetweenCallsIsCutAndTimesInsideThemAreKept) {
  Recording recording = sample::MakeRecording();
  constexpr std::int64_t kMinute = 60'000'000'000;
  for (Launch& launch : recording.launches) {
    if (launch.case_id != 2) continue;
    launch.start_ns += kMinute;
    launch.end_ns += kMinute;
  }
  recording.nvtx_ranges = {{2, "", "cublas", 0, 1, kMinute + 19'000, kMinute + 34'000}};
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  const std::vector<TimelineSlice>& slices = Named(timeline, "stream 0").slices;
  ASSERT_EQ(slices.size(), 5U);
  EXPECT_EQ(slices[3].start_ns - slices[2].start_ns, 25000 - 20000);
  EXPECT_LT(slices[4].start_ns, 200'000);
  const TimelineSlice& range = Named(timeline, "NVTX, thread 1").slices.at(0);
  EXPECT_EQ(slices[2].start_ns - range.start_ns, 1000);
  EXPECT_EQ(range.duration_ns, 15'000);
}

TEST(MakeTimelineTest, LaunchesThatOverlapAreOnTracksBesideEachOther) {
  Recording recording = sample::MakeRecording();
  recording.launches.push_back(sample::Launched(1, "", "second", 2000, 12000));
  recording.launches.push_back(sample::Launched(1, "", "third", 10000, 11000));
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  EXPECT_EQ(Named(timeline, "stream 0 (2)").slices.at(0).name, "second");
  EXPECT_EQ(Named(timeline, "stream 0").slices.at(1).name, "third");
}

TEST(MakeTimelineTest, LaunchesOfACudaGraphAreOnATrackOfTheGraph) {
  Recording recording = sample::MakeProgramRecording();
  recording.launches[0] = sample::Launched(1, "", "graph_kernel", 1'100'000'000, 1'100'200'000);
  recording.launches[0].graph = 4;
  recording.launches[1] = sample::Launched(2, "", "eager_kernel", 1'100'000'000, 1'100'020'000);
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  EXPECT_EQ(Named(timeline, "CUDA graph 4").slices.at(0).name, "graph_kernel");
  EXPECT_EQ(Named(timeline, "CUDA graph 4").slices[0].start_ns, 100'000'000);
  EXPECT_EQ(Named(timeline, "stream 0").slices.at(0).name, "eager_kernel");
}

TEST(MakeTimelineTest, RangesNestOnTheirThreadAndThoseThatCrossAreBesideEachOther) {
  Recording recording = sample::MakeRecording();
  recording.nvtx_ranges = {{1, "", "outer", 0, 7, 1000, 9000},
                           {1, "lib", "inner", 1, 7, 2000, 3000},
                           {1, "", "same", 1, 7, 3000, 9000},
                           {1, "", "empty", 2, 7, 3000, 3000},
                           {1, "", "crosses", 1, 7, 8000, 9500}};
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  const std::vector<TimelineSlice>& slices = Named(timeline, "NVTX, thread 7").slices;
  ASSERT_EQ(slices.size(), 1U);
  ASSERT_EQ(slices[0].nested.size(), 2U);
  EXPECT_EQ(slices[0].nested[0].name, "lib: inner");
  EXPECT_EQ(slices[0].nested[1].nested.size(), 1U);
  EXPECT_EQ(Named(timeline, "NVTX, thread 7 (2)").slices.at(0).name, "crosses");
}

TEST(MakeTimelineTest, CallsWithoutLaunchesAreLaidEndToEndAndSaySo) {
  Recording recording = sample::MakeRecording();
  recording.launches.clear();
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  const TimelineTrack& track = Named(timeline, "calls without recorded launches");
  ASSERT_EQ(track.slices.size(), 2U);
  EXPECT_EQ(track.slices[0].duration_ns, 9920);
  EXPECT_EQ(track.slices[1].start_ns, 9920);
  EXPECT_EQ(TextOf(track.slices[1], "position"), "laid end to end, order not measured");
}

TEST(MakeTimelineTest, ClassesOfAProgramAreLaidOutByWhatLaunchedThem) {
  const Timeline timeline = Make(sample::MakeProgramRecording());
  ExpectInOrder(timeline.tracks);
  const TimelineTrack& streams = Named(timeline, "launched into streams");
  const TimelineTrack& graphs = Named(timeline, "launched by CUDA graphs");
  EXPECT_EQ(graphs.slices.at(0).name, "flash_fwd_kernel<<<64, 128>>>");
  EXPECT_EQ(graphs.slices[0].duration_ns, 300'000'000);
  EXPECT_EQ(streams.slices.at(0).duration_ns, 20'000'000);
  EXPECT_NE(TextOf(streams.slices[0], "estimated"), "");
  EXPECT_EQ(TextOf(graphs.slices.at(1), "estimated"), "");
  EXPECT_EQ(Named(timeline, "GPU time by NVTX range").slices.at(0).name, "step");
}

TEST(MakeTimelineTest, CountersAreClocksAndHowBusyTheGpuWas) {
  EXPECT_EQ(Named(Make(sample::MakeRecording()), "SM clock").points.size(), 2U);
  EXPECT_EQ(Named(Make(sample::MakeRecording()), "power").points.size(), 1U);
  const std::vector<TimelinePoint> busy = Named(Make(sample::MakeProgramRecording()), "GPU busy").points;
  ASSERT_EQ(busy.size(), 3U);
  EXPECT_DOUBLE_EQ(busy[0].value, 80.0);
  EXPECT_DOUBLE_EQ(busy[1].value, 60.0);
  EXPECT_EQ(busy[1].at_ns, 500'000'000);
  EXPECT_EQ(busy[2].at_ns, 1'000'000'000);
}

TEST(MakeTimelineTest, SamplesInsideACallAreCountersFromItsBeginning) {
  Recording recording = sample::MakeRecording();
  recording.pm_samples = {{2, "tensor", 0, 1000, 75.0}, {2, "tensor", 1000, 1000, 0.0}, {1, "tensor", 0, 1000, 50.0},
                          {1, "l2", 0, 1000, 10.0},     {1, "unknown", 0, 1000, 1.0},   {5, "tensor", 0, 1000, 1.0}};
  const Timeline timeline = Make(recording);
  ExpectInOrder(timeline.tracks);
  const TimelineTrack& tensor = Named(timeline, "tensor pipe");
  EXPECT_EQ(tensor.unit, "%");
  ASSERT_EQ(tensor.points.size(), 3U);
  EXPECT_EQ(tensor.points[0].at_ns, 0);
  EXPECT_DOUBLE_EQ(tensor.points[0].value, 50.0);
  const std::int64_t start = Named(timeline, "stream 0").slices.at(1).start_ns;
  EXPECT_EQ(tensor.points[1].at_ns, start);
  EXPECT_EQ(tensor.points[2].at_ns, start + 1000);
  EXPECT_EQ(Named(timeline, "L2").points.size(), 1U);
}

TEST(MakeTimelineTest, NumbersBeyondReasonStayInOrder) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Recording recording = sample::MakeRecording();
  for (Launch& launch : recording.launches) launch.end_ns = kMost;
  recording.launches.push_back(sample::Launched(1, "", "backwards", 5000, 0));
  recording.launches.push_back(sample::Launched(1, "", "late", kMost, kMost));
  recording.nvtx_ranges = {{1, "", "all", 0, 1, 0, kMost}, {1, "", "late", 0, 1, kMost - 1, kMost}};
  recording.pm_samples = {{1, "tensor", kMost, kMost, 1.0}, {1, "tensor", 0, 0, 1.0}};
  for (Timing& timing : recording.timings) timing.durations_ns.assign(3, 1e300);
  ExpectInOrder(Make(recording).tracks);
  Recording program = sample::MakeProgramRecording();
  for (KernelWork& work : program.kernel_work) work.total_ns = kMost;
  program.watch_windows = {{1, 0, kMost, kMost, 0}, {2, kMost, 0, 0, kMost}};
  ExpectInOrder(Make(program).tracks);
}

TEST(MakeTimelineTest, ARecordingOfNothingHasNoTracks) { EXPECT_TRUE(Make(Recording()).tracks.empty()); }

}  // namespace
}  // namespace fa_profile::analyze::make_timeline_test
