// How kernels find the NVTX ranges that they were launched in, on records made by hand.
#include "fa_profile/nvtx_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fa_profile::collect::nvtx_ranges_test {
namespace {

GpuWork Kernel(std::uint32_t correlation, std::int64_t ns, std::uint64_t graph_node = 0) {
  GpuWork work;
  work.name = "k";
  work.start_ns = 1000;
  work.end_ns = 1000 + ns;
  work.correlation = correlation;
  work.graph = graph_node != 0 ? 1 : 0;
  work.graph_node = graph_node;
  return work;
}

std::map<std::string, NvtxWork> Window(NvtxRanges& ranges) {
  std::map<std::string, NvtxWork> window;
  for (NvtxWork& work : ranges.TakeWindow().ranges) window[work.path] = work;
  return window;
}

TEST(NvtxRangesTest, ARangeHasTheWorkOfTheRangesInsideIt) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  EXPECT_EQ(stack.Current(), 0U);
  stack.Push("", "step", 100);
  ranges.OnLaunch(1, stack.Current());
  stack.Push("", "attn", 110);
  ranges.OnLaunch(2, stack.Current());
  stack.Pop("", 150);
  stack.Pop("", 200);
  stack.Pop("", 201);  // nothing is open
  EXPECT_EQ(stack.Current(), 0U);
  ranges.Add(Kernel(1, 30), 0);
  ranges.Add(Kernel(2, 5), 0);
  ranges.Add(Kernel(3, 7), 0);  // launched outside
  auto window = Window(ranges);
  ASSERT_EQ(window.size(), 2U);
  EXPECT_EQ(window["step"].depth, 0);
  EXPECT_EQ(window["step"].ranges, 1);
  EXPECT_EQ(window["step"].host_ns, 100);
  EXPECT_EQ(window["step"].launches, 2);
  EXPECT_EQ(window["step"].gpu_ns, 35);
  EXPECT_EQ(window["step / attn"].depth, 1);
  EXPECT_EQ(window["step / attn"].host_ns, 40);
  EXPECT_EQ(window["step / attn"].gpu_ns, 5);
  EXPECT_TRUE(Window(ranges).empty()) << "a window begins at zero";
  ranges.Add(Kernel(2, 5), 0);
  EXPECT_EQ(Window(ranges)["step"].gpu_ns, 5) << "records may come a window later";
}

TEST(NvtxRangesTest, AWindowHasTheLaunchClassesOfEachRange) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  stack.Push("", "step", 100);
  ranges.OnLaunch(1, stack.Current());
  stack.Push("", "attn", 110);
  ranges.OnLaunch(2, stack.Current());
  ranges.Add(Kernel(1, 3000), 7);
  ranges.Add(Kernel(2, 5000), 4);
  ranges.Add(Kernel(2, 6000), 4);
  ranges.Add(Kernel(2, 1), 5);  // less than a thousandth
  ranges.Add(Kernel(3, 7), 4);  // launched outside
  const std::vector<NvtxKernelWork> kernels = ranges.TakeWindow().kernels;
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].path, "step");
  EXPECT_EQ(kernels[0].case_id, 7);
  EXPECT_EQ(kernels[0].gpu_ns, 3000);
  EXPECT_EQ(kernels[1].path, "step / attn");
  EXPECT_EQ(kernels[1].launches, 2);
  EXPECT_EQ(kernels[1].gpu_ns, 11000);
  EXPECT_TRUE(ranges.TakeWindow().kernels.empty());
}

TEST(NvtxRangesTest, DomainsAreNamedAndPopTheirOwnRanges) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  stack.Push("", "outer", 0);
  stack.Push("lib", "call", 10);
  stack.Pop("", 20);  // the outer one, though it is not the last
  stack.Pop("lib", 30);
  auto window = Window(ranges);
  EXPECT_EQ(window["outer"].host_ns, 20);
  EXPECT_EQ(window["outer / lib: call"].host_ns, 20);
}

TEST(NvtxRangesTest, AStartedRangeEndsOnAnyThread) {
  NvtxRanges ranges;
  NvtxStack one(ranges);
  NvtxStack other(ranges);
  const std::uint64_t id = one.Start("", "whole", 5);
  one.Push("", "step", 6);
  EXPECT_EQ(other.Current(), 0U) << "it counts for the thread that started it";
  ranges.End(id, 25);
  ranges.End(id, 99);
  one.Pop("", 30);
  EXPECT_EQ(one.Current(), 0U);
  auto window = Window(ranges);
  EXPECT_EQ(window["whole"].ranges, 1);
  EXPECT_EQ(window["whole"].host_ns, 20);
  EXPECT_EQ(window["whole / step"].ranges, 1);
}

TEST(NvtxRangesTest, StartedRangesThatOverlapAreNotNested) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  std::uint64_t last = stack.Start("", "request", 0);
  for (int i = 1; i < 100; ++i) {
    const std::uint64_t next = stack.Start("", "request", i);
    ranges.End(last, i);
    last = next;
  }
  ranges.OnLaunch(1, stack.Current());
  ranges.Add(Kernel(1, 5), 0);
  auto window = Window(ranges);
  ASSERT_EQ(window.size(), 1U);
  EXPECT_EQ(window["request"].ranges, 99);
  EXPECT_EQ(window["request"].gpu_ns, 5);
}

TEST(NvtxRangesTest, AProgramThatForgetsToPopFillsNoMemory) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  constexpr int kPushed = 100000;
  for (int i = 0; i < kPushed; ++i) stack.Push("", "leak", 0);
  for (int i = 0; i < kPushed; ++i) stack.Pop("", 1);
  EXPECT_EQ(stack.Current(), 0U);
  std::int64_t ended = 0;
  for (const NvtxWork& work : ranges.TakeWindow().ranges) ended += work.ranges;
  EXPECT_EQ(ended, static_cast<std::int64_t>(NvtxStack::kMostOpen));
}

TEST(NvtxRangesTest, AKernelOfAGraphIsBelowTheLaunchInTheRangeOfItsCapture) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  stack.Push("", "warm-up", 0);
  stack.Push("", "attn", 1);
  ranges.OnGraphNode(10, stack.Current());
  stack.Pop("", 2);
  ranges.OnGraphNode(20, stack.Current());  // the clone, until CUPTI reports what it is
  ranges.OnGraphNodeCloned(20, 10);
  stack.Pop("", 3);
  ranges.OnGraphNode(30, 0);
  (void)Window(ranges);
  ranges.Add(Kernel(1, 4, 20), 0);  // launched outside of ranges
  stack.Push("", "step", 4);
  ranges.OnLaunch(2, stack.Current());
  ranges.Add(Kernel(2, 5, 20), 0);
  ranges.Add(Kernel(2, 6, 30), 0);  // made outside of ranges
  stack.Pop("", 5);
  auto window = Window(ranges);
  EXPECT_EQ(window["warm-up / attn"].gpu_ns, 4);
  EXPECT_EQ(window["step"].gpu_ns, 11);
  EXPECT_EQ(window["step / warm-up / attn"].gpu_ns, 5);
  ranges.OnGraphNodeDestroyed(20);
  ranges.Add(Kernel(1, 4, 20), 0);
  EXPECT_EQ(Window(ranges).size(), 2U) << "its record may come later than its end";
  EXPECT_TRUE(Window(ranges).empty());
  ranges.Add(Kernel(1, 4, 20), 0);
  EXPECT_TRUE(Window(ranges).empty());
}

TEST(NvtxRangesTest, AGraphCapturedAndLaunchedInOneRangeIsThere) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  stack.Push("", "step", 0);
  ranges.OnLaunch(1, stack.Current());
  stack.Push("", "attn", 0);
  ranges.OnGraphNode(10, stack.Current());
  ranges.Add(Kernel(1, 5, 10), 0);
  auto window = Window(ranges);
  EXPECT_EQ(window["step / attn"].gpu_ns, 5);
  EXPECT_FALSE(window.contains("step / step / attn"));
}

TEST(NvtxRangesTest, TooManyAndTooDeepRangesCountForTheRangeAroundThem) {
  NvtxRanges ranges;
  NvtxStack stack(ranges);
  stack.Push("", "all", 0);
  for (std::size_t i = 0; i < NvtxRanges::kMostNodes + 100; ++i) {
    stack.Push("", "request " + std::to_string(i), 0);
    ranges.OnLaunch(static_cast<std::uint32_t>(i), stack.Current());
    ranges.Add(Kernel(static_cast<std::uint32_t>(i), 1), 0);
    stack.Pop("", 1);
  }
  EXPECT_EQ(ranges.beyond_nodes(), 101);
  EXPECT_EQ(Window(ranges)["all"].launches, static_cast<std::int64_t>(NvtxRanges::kMostNodes + 100));
  NvtxRanges deep;
  NvtxStack down(deep);
  for (int i = 0; i < 10 * NvtxRanges::kDeepest; ++i) down.Push("", "f", 0);
  for (int i = 0; i < 10 * NvtxRanges::kDeepest; ++i) down.Pop("", 1);
  EXPECT_EQ(down.Current(), 0U);
  EXPECT_EQ(Window(deep).size(), static_cast<std::size_t>(NvtxRanges::kDeepest));
}

TEST(NvtxRangesTest, NamesHaveNoNumbersThatDifferEachTime) {
  EXPECT_EQ(RangeName("aten::mm, seq = 12, op_id = 345"), "aten::mm");
  EXPECT_EQ(RangeName("aten::mm, op_id = 345, sizes = [[2, 3]]"), "aten::mm, sizes = [[2, 3]]");
  EXPECT_EQ(RangeName("step 3"), "step 3");
  EXPECT_EQ(RangeName(std::string(1000, 'x')).size(), 256U);
}

}  // namespace
}  // namespace fa_profile::collect::nvtx_ranges_test
