#include "fa_profile/weigh_gpu_time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/analyze.h"
#include "program_recording.h"
#include "sample_recording.h"

namespace fa_profile::analyze::weigh_gpu_time_test {
namespace {

GpuTime Weigh(const Recording& recording, const std::set<std::string>& ranges = {}) {
  return WeighGpuTime(recording, Analyze(recording), std::nullopt, PhaseSource::kBest, ranges);
}

const GpuTimeNode& Named(const std::vector<GpuTimeNode>& nodes, const std::string& name) {
  static const GpuTimeNode kNone{};
  for (const GpuTimeNode& node : nodes) {
    if (node.name == name) return node;
  }
  ADD_FAILURE() << "no node " << name;
  return kNone;
}

/// Fails where nested nodes take more than what they are in, or nothing.
void ExpectNested(const std::vector<GpuTimeNode>& nodes, std::int64_t most) {
  std::int64_t left = most;
  for (const GpuTimeNode& node : nodes) {
    EXPECT_GT(node.ns, 0) << node.name;
    EXPECT_LE(node.ns, left) << node.name;
    left -= node.ns;
    ExpectNested(node.nested, node.ns);
  }
}

TEST(WeighGpuTimeTest, ACallIsItsMedianAndDividesIntoPhasesAndLines) {
  const GpuTime time = Weigh(sample::MakeRecording());
  ExpectNested(time.nodes, time.total_ns);
  const GpuTimeNode& call = Named(time.nodes, "mma@1,8,512,64");
  EXPECT_EQ(call.ns, 9920);
  const GpuTimeNode& kernel = Named(call.nested, "mma_kernel<64, false>");
  EXPECT_EQ(kernel.kind, GpuTimeKind::kKernel);
  EXPECT_EQ(kernel.ns, 9920);
  const GpuTimeNode& softmax = Named(kernel.nested, "softmax");
  EXPECT_EQ(softmax.kind, GpuTimeKind::kPhase);
  EXPECT_GT(softmax.ns, kernel.ns / 2);  // what waits at the barrier for it is charged to it
  const GpuTimeNode& line = Named(softmax.nested, "mma.cu:40");
  EXPECT_EQ(line.file, "/src/mma.cu");
  EXPECT_EQ(line.line, 40);
  EXPECT_NEAR(static_cast<double>(line.ns) / static_cast<double>(softmax.ns), 1200.0 / 1800.0, 1e-3);
}

TEST(WeighGpuTimeTest, PartsShareTheCallAsTheirDurationsDo) {
  const GpuTimeNode call = Named(Weigh(sample::MakeRecording()).nodes, "cublas@1,8,512,64");
  EXPECT_EQ(call.ns, 14000);
  EXPECT_EQ(Named(call.nested, "qk").ns + Named(call.nested, "softmax").ns + Named(call.nested, "pv").ns, 14000);
  EXPECT_NEAR(static_cast<double>(Named(call.nested, "softmax").ns), 14000 * 3.0 / 11.0, 1.0);
  EXPECT_EQ(Named(call.nested, "softmax").kind, GpuTimeKind::kPart);
}

TEST(WeighGpuTimeTest, AKernelThatIsNotCorrectHasNoTime) {
  for (const GpuTimeNode& node : Weigh(sample::MakeRecording()).nodes) EXPECT_FALSE(node.name.starts_with("broken"));
}

TEST(WeighGpuTimeTest, ACallWithoutATimingWeighsItsLaunches) {
  Recording recording = sample::MakeRecording();
  recording.timings.clear();
  EXPECT_EQ(Named(Weigh(recording).nodes, "mma@1,8,512,64").ns, 9000);
  EXPECT_EQ(Named(Weigh(recording).nodes, "cublas@1,8,512,64").ns, 3500 + 2500 + 4000);
}

TEST(WeighGpuTimeTest, AProgramIsRangesThenClassesAndAddsUpToItsTime) {
  const Recording recording = sample::MakeProgramRecording();
  const GpuTime time = Weigh(recording);
  ExpectNested(time.nodes, time.total_ns);
  EXPECT_EQ(time.total_ns, 500'000'000 + 6'108'000);
  const GpuTimeNode& step = Named(time.nodes, "step");
  EXPECT_EQ(step.ns, 440'000'000);
  const GpuTimeNode& attention = Named(step.nested, "attn");
  EXPECT_EQ(attention.ns, 320'000'000);
  EXPECT_EQ(Named(attention.nested, "flash_fwd_kernel<<<64, 128>>>").ns, 320'000'000);
  EXPECT_EQ(Named(Named(step.nested, "torch: mlp").nested, "gemm_kernel<<<64, 128>>>").ns, 100'000'000);
  const GpuTimeNode& outside = Named(time.nodes, "(outside NVTX ranges)");
  EXPECT_EQ(outside.ns, 60'000'000);
  EXPECT_EQ(Named(outside.nested, "gemm_kernel<<<64, 128>>>").ns, 49'900'000);
  EXPECT_EQ(Named(Named(time.nodes, "(copies and sets)").nested, "copy host to device").ns, 6'000'000);
}

TEST(WeighGpuTimeTest, ChosenRangesAloneCount) {
  const GpuTime time = Weigh(sample::MakeProgramRecording(), {"step / attn"});
  EXPECT_EQ(time.total_ns, 320'000'000);
  EXPECT_EQ(Weigh(sample::MakeProgramRecording(), {"step"}).total_ns, 440'000'000);
}

TEST(WeighGpuTimeTest, WithoutRangesAProgramIsItsClasses) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_work.clear();
  recording.nvtx_kernel_work.clear();
  EXPECT_EQ(Named(Weigh(recording).nodes, "flash_fwd_kernel<<<64, 128>>>").ns, 320'000'000);
}

TEST(WeighGpuTimeTest, NumbersBeyondReasonStayTimes) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Recording recording = sample::MakeProgramRecording();
  for (KernelWork& work : recording.kernel_work) work.total_ns = kMost;
  for (NvtxKernelWork& work : recording.nvtx_kernel_work) work.gpu_ns = kMost;
  for (MemoryWork& work : recording.memory_work) work.total_ns = kMost;
  const GpuTime time = Weigh(recording);
  EXPECT_GT(time.total_ns, 0);
  ExpectNested(time.nodes, time.total_ns);
}

TEST(WeighGpuTimeTest, RangesNestedWithoutEndAreFolded) {
  Recording recording = sample::MakeProgramRecording();
  recording.nvtx_work.clear();
  recording.nvtx_kernel_work.clear();
  std::string path = "r";
  for (int i = 0; i < 300; ++i) {
    recording.nvtx_work.push_back({1, path, i, 1, 1'000, 1, 100'000});
    path += " / r";
  }
  recording.nvtx_kernel_work = {{1, 1, recording.nvtx_work.back().path, 1, 100'000}};
  const GpuTime time = Weigh(recording);
  int depth = 0;
  for (const GpuTimeNode* node = &Named(time.nodes, "r"); !node->nested.empty(); node = &node->nested.front()) ++depth;
  EXPECT_GE(depth, 100);
  EXPECT_LT(depth, 110);
}

}  // namespace
}  // namespace fa_profile::analyze::weigh_gpu_time_test
