// Counts of launches by kernel and size.
#include "fa_profile/launch_counts.h"

#include <gtest/gtest.h>

#include <string>

namespace fa_profile::collect::launch_counts_test {
namespace {

std::int64_t LaunchesOf(const AskedLaunches& asked, const std::string& kernel) {
  std::int64_t all = 0;
  for (const auto& [key, launches] : asked.kernels) all += key.first == kernel ? launches : 0;
  return all;
}

TEST(LaunchCountsTest, KernelsAreCountedBySizeAndGraphsByTheirNumber) {
  LaunchCounts counts;
  counts.Count({"a", {1, 1, 1}, {32, 1, 1}, 0}, 1);
  counts.Count({"a", {1, 1, 1}, {32, 1, 1}, 0}, 1);
  counts.Count({"a", {2, 1, 1}, {32, 1, 1}, 0}, 1);
  counts.Count({nullptr, {}, {}, 7}, 1);
  const AskedLaunches asked = counts.Take();
  EXPECT_EQ(asked.kernels.size(), 2U);
  EXPECT_EQ(LaunchesOf(asked, "a"), 3);
  EXPECT_EQ(asked.graphs.at(7), 1);
  EXPECT_TRUE(counts.Take().kernels.empty());
}

TEST(LaunchCountsTest, ALaunchThatWasMeasuredIsTakenOffAgain) {
  LaunchCounts counts;
  counts.Count({"a", {1, 1, 1}, {32, 1, 1}, 0}, 1);
  counts.Count({"a", {1, 1, 1}, {32, 1, 1}, 0}, -1);
  EXPECT_EQ(LaunchesOf(counts.Take(), "a"), 0);
}

// CUPTI's names are at addresses of the module.
TEST(LaunchCountsTest, AKernelAtTheAddressOfAnUnloadedOneIsAnotherKernel) {
  LaunchCounts counts;
  char name[] = "unloaded";
  const LaunchCall call = {name, {1, 1, 1}, {32, 1, 1}, 0};
  counts.Count(call, 1);
  std::copy_n("loaded", sizeof "loaded", name);
  counts.Count(call, 1);
  counts.Count(call, 1);
  const AskedLaunches asked = counts.Take();
  EXPECT_EQ(LaunchesOf(asked, "unloaded"), 1);
  EXPECT_EQ(LaunchesOf(asked, "loaded"), 2);
}

TEST(LaunchCountsTest, WhatCannotBeCountedIsALoss) {
  LaunchCounts counts;
  EXPECT_TRUE(counts.Losses().empty());
  counts.OnDeviceGraph();
  counts.OnCapturedLaunch();
  counts.OnCapturedLaunch();
  const std::vector<DataLoss> losses = counts.Losses();
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0].count, 1);
  EXPECT_EQ(losses[1].count, 2);
}

}  // namespace
}  // namespace fa_profile::collect::launch_counts_test
