// The recordings that ship with the program; and raw counter data, evaluated here by the real CUPTI host library.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::collect::bundled_recording_test {
namespace {

const store::RecordingReader& Bundled() {
  static const store::RecordingReader reader(FA_PROFILE_BUNDLED_RECORDING);
  return reader;
}

const Recording& All() {
  static const Recording recording = Bundled().Load();
  return recording;
}

// Bundled recordings have no raw counter data, which are most of a recording. This recording has few counters.
TEST(BundledRecordingTest, RawCounterDataGivesTheRecordedValuesExactly) {
  const store::RecordingReader reader(FA_PROFILE_TEST_DATA "/raw-counters.fap");
  const Recording recording = reader.Load();
  std::map<std::int64_t, CounterImage> images;
  for (const std::int64_t id : reader.ImageIds()) images[id] = reader.LoadImage(id);
  ASSERT_FALSE(images.empty());
  const MetricEvaluator evaluator(recording.device.chip);
  int ranges = 0;
  for (const Range& range : recording.ranges) {
    if (range.image_id == 0) continue;
    const CounterImage& image = images.at(range.image_id);
    const auto config = std::find_if(recording.configs.begin(), recording.configs.end(),
                                     [&](const CounterConfig& c) { return c.id == image.config_id; });
    ASSERT_NE(config, recording.configs.end());
    const auto index = static_cast<std::size_t>(range.image_index);
    EXPECT_EQ(MetricEvaluator::RangeName(image.bytes, index), range.name);
    EXPECT_EQ(evaluator.Evaluate(image.bytes, index, config->metrics), range.metrics) << range.name;
    ++ranges;
  }
  EXPECT_GT(ranges, 0);
}

TEST(BundledRecordingTest, ThePlannerStillMakesTheRecordedPlan) {
  const CounterConfig& config = All().configs.at(0);
  const MetricPlan plan = PlanMetrics(config.chip, config.metrics);
  EXPECT_EQ(plan.passes, config.passes);
  EXPECT_EQ(plan.metrics, config.metrics);
  EXPECT_TRUE(plan.refused.empty());
}

TEST(BundledRecordingTest, HoldsTheRungsAtThreeShapesAllCorrect) {
  const Recording& recording = All();
  EXPECT_TRUE(recording.session.complete);
  EXPECT_EQ(recording.session.metric_set, "full");
  EXPECT_EQ(recording.device.chip, "GH100");
  std::set<std::string> kernels;
  std::set<std::string> shapes;
  for (const Case& entry : recording.cases) {
    kernels.insert(entry.kernel);
    shapes.insert(entry.shape->ToString());
  }
  for (const char* const rung : {"minimal", "scalar", "tiled", "cublas", "serial_softmax", "wmma", "mma", "hopper"}) {
    EXPECT_TRUE(kernels.contains(rung)) << rung;
  }
  EXPECT_EQ(shapes, (std::set<std::string>{"1,8,512,64", "2,16,2048,128", "4,16,1024,64"}));
  EXPECT_EQ(recording.cases.size(), kernels.size() * shapes.size());
  EXPECT_EQ(recording.verifications.size(), recording.cases.size());
  for (const Verification& verification : recording.verifications) {
    EXPECT_EQ(verification.draws, recording.session.draws);
    EXPECT_TRUE(verification.correct()) << verification.case_id;
  }
  for (const Timing& timing : recording.timings) {
    EXPECT_EQ(timing.durations_ns.size(), static_cast<std::size_t>(recording.session.timed_launches));
  }
}

// What distinguishes the regression specimen from a real kernel; occupancy does not.
TEST(BundledRecordingTest, TheSerialSoftmaxIsDistinguishedFromTheRealKernel) {
  const Profile profile = analyze::Analyze(All());
  const auto entry = [&](const std::string& kernel) {
    for (const ProfileEntry& candidate : profile.entries) {
      if (candidate.kernel == kernel && candidate.part.empty() && candidate.shape == AttentionShape{}) return candidate;
    }
    ADD_FAILURE() << kernel;
    return ProfileEntry{};
  };
  const ProfileEntry serial = entry("serial_softmax");
  const ProfileEntry real = entry("mma");
  EXPECT_GT(serial.metrics.at("hmma_instructions"), 0.0);
  EXPECT_LT(serial.metrics.at("tensor_core_utilization_ratio"), 0.01);
  EXPECT_EQ(serial.stalls.at(0).reason, "barrier");
  EXPECT_GT(serial.stalls[0].ratio, 0.5);
  EXPECT_GT(real.metrics.at("tensor_core_utilization_ratio"), 0.10);
  EXPECT_NE(real.stalls.at(0).reason, "barrier");
  EXPECT_LT(real.metrics.at("shared_conflicts_per_request"), 0.02);
  EXPECT_LT(real.timing->median_ns, 10e3);
  EXPECT_LT(real.metrics.at("theoretical_occupancy_ratio"), serial.metrics.at("theoretical_occupancy_ratio"));
}

TEST(BundledRecordingTest, EachRungHasTheFindingsItTeaches) {
  const Profile profile = analyze::Analyze(All());
  const AttentionShape mission{1, 8, 512, 64, false};
  std::map<std::string, std::vector<std::string>> found;
  for (const ProfileEntry& entry : profile.entries) {
    if (entry.shape != mission || !entry.part.empty()) continue;
    for (const Finding& finding : entry.findings) {
      found[entry.kernel].push_back(finding.id + (finding.phase.empty() ? "" : " " + finding.phase));
    }
  }
  const auto has = [&](const std::string& kernel, const std::string& finding) {
    return std::ranges::find(found[kernel], finding) != found[kernel].end();
  };
  ASSERT_GE(found["serial_softmax"].size(), 2U);
  EXPECT_EQ(found["serial_softmax"][0], "bottleneck-phase softmax");
  EXPECT_EQ(found["serial_softmax"][1], "serial-softmax softmax");
  EXPECT_TRUE(has("minimal", "uncoalesced qk"));
  EXPECT_TRUE(has("wmma", "small-grid"));
  for (const char* const kernel : {"minimal", "scalar", "tiled"}) EXPECT_TRUE(has(kernel, "tensor-absent")) << kernel;
  for (const char* const kernel : {"cublas", "serial_softmax", "wmma", "mma", "hopper"}) {
    EXPECT_FALSE(has(kernel, "tensor-absent")) << kernel;
  }
  ASSERT_EQ(found["mma"].size(), 1U) << "nothing but its longest phase";
  EXPECT_TRUE(found["mma"][0].starts_with("bottleneck-phase"));
}

// A program: PyTorch's attention, eager and in CUDA graphs.
TEST(BundledRecordingTest, TheProgramHasTimesCountersAndPhasesAndNoCodeOfCudnn) {
  const Recording recording = store::RecordingReader(FA_PROFILE_SOURCE "/recordings/pytorch-sdpa.fap").Load();
  EXPECT_TRUE(recording.session.complete);
  const Profile profile = analyze::Analyze(recording);
  ASSERT_TRUE(profile.program);
  EXPECT_GT(*profile.program->nvtx_ratio, 0.99);
  EXPECT_GT(profile.program->graph_launches, 4000);
  double share = 0.0;
  for (const char* const kernel : {"flash_fwd_kernel<", "fmha_cutlassF_f16", "cudnn_generated_fort_native_sdpa"}) {
    const auto entry = std::ranges::find_if(profile.entries, [&](const ProfileEntry& candidate) {
      return candidate.kernel.starts_with(kernel) && candidate.part.empty();
    });
    ASSERT_NE(entry, profile.entries.end()) << kernel;
    share += entry->use->share_ratio.value();
    EXPECT_EQ(entry->use->launches, 2934) << kernel;
    EXPECT_GT(entry->metrics.at("tensor_core_utilization_ratio"), 0.2) << kernel;
    EXPECT_EQ(!entry->phases.has_value(), std::string(kernel).starts_with("cudnn")) << kernel;
  }
  EXPECT_GT(share, 0.99);
  EXPECT_EQ(recording.countings.size(), 2U) << "instructions of the two kernels whose code is here";
  for (const NvtxUse& range : profile.program->nvtx) EXPECT_FALSE(range.kernels.empty()) << range.path;
  for (const DeviceFunction& function : recording.functions) {
    EXPECT_EQ(function.name.find("cudnn"), std::string::npos) << function.name;
    EXPECT_FALSE(function.instructions.empty()) << function.name;
  }
}

}  // namespace
}  // namespace fa_profile::collect::bundled_recording_test
