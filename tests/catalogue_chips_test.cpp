#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fa_profile/expression.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/metric_host.h"

namespace fa_profile::collect::catalogue_chips_test {
namespace {

using Names = std::set<std::string>;

/// Catalogue rows none of whose alternatives a chip can collect, by CUPTI's own host library. No GPU is asked.
Names RowsLackedBy(const std::string& chip, bool single_pass_counters_only = false) {
  std::vector<std::string> asked;
  for (std::string& name : CatalogueInputs()) {
    if (!single_pass_counters_only || name.find("TriageCompute") != std::string::npos) asked.push_back(std::move(name));
  }
  const MetricPlan plan = PlanMetrics(chip, asked);
  const Names accepted(plan.metrics.begin(), plan.metrics.end());
  Names lacked;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    // A variable counts as known, and every value is harmless: the question is whether the names resolve.
    double value = 1.0;
    const auto result =
        analyze::Expression(metric.formula).Evaluate([&](const std::string& name) -> std::optional<double> {
          if (name.find("__") != std::string::npos && !accepted.contains(name)) return std::nullopt;
          return value += 1.0;
        });
    if (!result) lacked.insert(std::string(metric.id));
  }
  return lacked;
}

TEST(CatalogueChipsTest, GH100ResolvesEveryRow) { EXPECT_EQ(RowsLackedBy("GH100"), Names{}); }

TEST(CatalogueChipsTest, GA100LacksWarpgroupMma) {
  EXPECT_EQ(RowsLackedBy("GA100"), (Names{"gmma_instructions", "stall_gmma_ratio"}));
}

TEST(CatalogueChipsTest, AD104LacksWarpgroupMma) {
  EXPECT_EQ(RowsLackedBy("AD104"), (Names{"gmma_instructions", "stall_gmma_ratio"}));
}

TEST(CatalogueChipsTest, GB100LacksWarpgroupMmaAndADenseTensorPeak) {
  EXPECT_EQ(RowsLackedBy("GB100"), (Names{"gmma_instructions", "peak_tensor_flops_per_second", "roofline_ratio",
                                          "roofline_ridge", "stall_gmma_ratio", "stall_imc_miss_ratio"}));
}

TEST(CatalogueChipsTest, AllInputsOfAChipShareThePassesOfTheFullSet) {
  const MetricPlan plan = PlanMetrics("GH100", CatalogueInputs());
  EXPECT_GT(plan.passes, 1);
  EXPECT_LE(plan.passes, 34) << "the passes of the set `full`";
}

TEST(CatalogueChipsTest, TheSampledCountersSufficeForTensorOccupancySharedMemoryStallsAndLimits) {
  std::vector<std::string> triage;
  for (std::string& name : CatalogueInputs()) {
    if (name.find("TriageCompute") != std::string::npos) triage.push_back(std::move(name));
  }
  EXPECT_EQ(PlanMetrics("GH100", triage).passes, 2);
  for (const char* chip : {"GH100", "GB100"}) {
    const Names lacked = RowsLackedBy(chip, true);
    for (const char* id : {"tensor_core_utilization_ratio", "achieved_occupancy_ratio", "shared_wavefronts",
                           "stall_long_scoreboard_ratio", "stall_short_scoreboard_ratio", "instructions_per_cycle",
                           "compute_sol_ratio", "l1_sol_ratio", "l2_sol_ratio"}) {
      EXPECT_FALSE(lacked.contains(id)) << chip << ": " << id;
    }
  }
}

}  // namespace
}  // namespace fa_profile::collect::catalogue_chips_test
