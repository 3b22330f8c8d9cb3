#include "bottleneck.h"

#include <gtest/gtest.h>

#include <string>

#include "derive.h"

namespace fa_profile::analyze::bottleneck_test {
namespace {

/// "memory | DRAM 71 % of peak: the nearest limit"
std::string Of(const Metrics& metrics, const std::vector<StallShare>& stalls = {}) {
  ProfileEntry entry;
  entry.metrics = metrics;
  entry.stalls = stalls;
  entry.bottleneck = BottleneckOf(entry);
  return entry.bottleneck + " | " + BottleneckEvidence(entry);
}

TEST(BottleneckTest, TheUnitThatIsUsedMostIsNamedWithItsShare) {
  EXPECT_EQ(
      Of({{"compute_sol_ratio", 0.2}, {"memory_sol_ratio", 0.71}, {"dram_sol_ratio", 0.71}, {"l2_sol_ratio", 0.4}}),
      "memory | DRAM 71 % of peak: the nearest limit");
  EXPECT_EQ(
      Of({{"compute_sol_ratio", 0.2}, {"memory_sol_ratio", 0.91}, {"l2_sol_ratio", 0.91}, {"dram_sol_ratio", 0.5}}),
      "memory | L2 91 % of peak: at its roof");
  EXPECT_EQ(Of({{"compute_sol_ratio", 0.95}, {"memory_sol_ratio", 0.3}, {"tensor_core_utilization_ratio", 0.61}}),
            "compute | SM 95 % of peak: at its roof");
}

TEST(BottleneckTest, TensorCoresCountThoughTheSmIsLessBusy) {
  EXPECT_EQ(Of({{"compute_sol_ratio", 0.52}, {"memory_sol_ratio", 0.3}, {"tensor_core_utilization_ratio", 0.62}}),
            "compute | tensor cores 62 % of peak: the nearest limit");
  EXPECT_EQ(Of({{"compute_sol_ratio", 0.52}, {"memory_sol_ratio", 0.56}, {"tensor_core_utilization_ratio", 0.59}}),
            "latency | latency: tensor cores 59 % of peak");
}

TEST(BottleneckTest, BelowSixtyPercentItIsLatencyAndWhatWarpsWaitForMost) {
  const Metrics idle = {{"compute_sol_ratio", 0.59}, {"memory_sol_ratio", 0.3}};
  EXPECT_EQ(Of(idle, {{"selected", 0.5}, {"long_scoreboard", 0.44}, {"wait", 0.1}}),
            "latency | latency: long_scoreboard 44 %, SM 59 % of peak");
  EXPECT_EQ(Of(idle, {{"selected", 0.5}, {"long_scoreboard", 0.06}}), "latency | latency: SM 59 % of peak")
      << "the set triage counts two reasons";
  EXPECT_EQ(Of({{"compute_sol_ratio", 0.1}, {"memory_sol_ratio", 0.5}}), "latency | latency: memory 50 % of peak");
}

TEST(BottleneckTest, WithoutBothSharesNothingIsSaid) {
  EXPECT_EQ(Of({{"compute_sol_ratio", 0.9}}), " | ");
  EXPECT_EQ(Of({{"memory_sol_ratio", 0.9}, {"tensor_core_utilization_ratio", 0.9}}), " | ");
}

}  // namespace
}  // namespace fa_profile::analyze::bottleneck_test
