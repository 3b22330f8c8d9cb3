#include "fa_profile/metric_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fa_profile/error.h"

namespace fa_profile::metric_sets_test {
namespace {

using Names = std::vector<std::string>;

const Names kChips = {"GA100", "AD104", "GH100", "GB100"};

std::set<std::string> Metrics(const char* set, const std::string& chip) {
  const Names metrics = BuiltinMetricSet(set, chip).metrics;
  return {metrics.begin(), metrics.end()};
}

bool Includes(const std::set<std::string>& outer, const std::set<std::string>& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

TEST(MetricSetsTest, HasTheSetsOfNsightComputeAndOurs) {
  EXPECT_EQ(MetricSetNames(), (Names{"basic", "detailed", "full", "roofline", "phases", "triage"}));
  for (const std::string& name : MetricSetNames()) {
    for (const std::string& chip : kChips) {
      const MetricSet set = BuiltinMetricSet(name, chip);
      EXPECT_EQ(set.name, name);
      EXPECT_FALSE(set.description.empty());
      EXPECT_FALSE(set.metrics.empty());
    }
  }
}

TEST(MetricSetsTest, MetricsAreSortedDistinctAndHaveARollupOrSubmetric) {
  for (const std::string& name : MetricSetNames()) {
    for (const std::string& chip : kChips) {
      const Names metrics = BuiltinMetricSet(name, chip).metrics;
      EXPECT_TRUE(std::is_sorted(metrics.begin(), metrics.end()));
      EXPECT_EQ(std::adjacent_find(metrics.begin(), metrics.end()), metrics.end());
      for (const std::string& metric : metrics) {
        EXPECT_NE(metric.find("__"), std::string::npos) << metric;
        EXPECT_NE(metric.rfind('.'), std::string::npos) << metric;
        EXPECT_EQ(metric.find(':'), std::string::npos) << metric;
        EXPECT_EQ(OmissionReason(metric), "") << metric;
      }
    }
  }
}

TEST(MetricSetsTest, ASetIncludesTheSmallerSets) {
  for (const std::string& chip : kChips) {
    EXPECT_TRUE(Includes(Metrics("full", chip), Metrics("basic", chip))) << chip;
    EXPECT_TRUE(Includes(Metrics("full", chip), Metrics("roofline", chip))) << chip;
  }
}

TEST(MetricSetsTest, Gh100HasAllThatNsightComputeCollectedThere) {
  EXPECT_EQ(Metrics("basic", "GH100").size(), 292u);
  EXPECT_EQ(Metrics("detailed", "GH100").size(), 760u);
  EXPECT_EQ(Metrics("full", "GH100").size(), 1847u);
  EXPECT_EQ(Metrics("roofline", "GH100").size(), 1034u);
  // One of each source: a section, a breakdown, the memory chart, a memory table, a sampled counter.
  const std::set<std::string> full = Metrics("full", "GH100");
  for (const char* metric :
       {"sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "sm__mio_pq_read_cycles_active.avg.pct_of_peak_sustained_elapsed", "smsp__inst_executed_op_ldsm.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "TPC.TriageCompute.sm__cycles_active.avg"}) {
    EXPECT_TRUE(full.contains(metric)) << metric;
  }
}

TEST(MetricSetsTest, FollowsTheArchitectureFilters) {
  const char* gmma = "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio";
  const char* v2 = "sm__pipe_tensor_op_hmma_cycles_active_v2.avg.pct_of_peak_sustained_elapsed";
  const char* l2 = "lrc__ilc_input_sectors.sum";
  EXPECT_TRUE(Metrics("full", "GH100").contains(gmma));
  EXPECT_FALSE(Metrics("full", "GA100").contains(gmma));
  EXPECT_TRUE(Metrics("full", "AD104").contains(v2));
  EXPECT_FALSE(Metrics("full", "GH100").contains(v2));
  EXPECT_TRUE(Metrics("full", "GB100").contains(l2));
  EXPECT_FALSE(Metrics("full", "AD104").contains(l2));
}

TEST(MetricSetsTest, OmittedNamesHaveAReason) {
  const MetricSet set = BuiltinMetricSet("full", "GH100");
  std::set<std::string> reasons;
  for (const MetricSet::Omitted& omitted : set.omitted) {
    EXPECT_FALSE(omitted.reason.empty()) << omitted.metric;
    EXPECT_EQ(omitted.reason, OmissionReason(omitted.metric));
    reasons.insert(omitted.reason);
  }
  EXPECT_EQ(set.omitted.size(), 374u);
  EXPECT_EQ(reasons.size(), 8u);
  EXPECT_EQ(OmissionReason("launch__grid_size"), OmissionReason("launch__block_size"));
  EXPECT_NE(OmissionReason("launch__grid_size"), OmissionReason("smsp__pcsamp_sample_count"));
  EXPECT_NE(OmissionReason("sass__inst_executed_per_opcode"), "");
  EXPECT_EQ(OmissionReason("inst_executed"), OmissionReason("thread_inst_executed_true"));
  EXPECT_EQ(OmissionReason("smsp__inst_executed.sum"), "");
  EXPECT_EQ(OmissionReason(""), "");
}

TEST(MetricSetsTest, ChipsOfAGenerationHaveTheSameNames) {
  EXPECT_EQ(BuiltinMetricSet("full", "AD102").metrics, BuiltinMetricSet("full", "AD104").metrics);
  EXPECT_EQ(BuiltinMetricSet("full", "no such chip").metrics, BuiltinMetricSet("full", "GH100").metrics);
  EXPECT_EQ(BuiltinMetricSet("phases", "").metrics, BuiltinMetricSet("phases", "GH100").metrics);
}

TEST(MetricSetsTest, TheSetPhasesHasTensorOccupancySharedMemoryAndStallsOnEveryChip) {
  for (const std::string& chip : kChips) {
    const Names metrics = BuiltinMetricSet("phases", chip).metrics;
    for (const char* part : {"pipe_tensor_cycles_active", "warps_active", "wavefronts_mem_shared.sum",
                             "bank_conflicts_pipe_lsu_mem_shared.sum", "issue_stalled_", "sm__cycles_active.sum",
                             "gpu__time_duration.sum"}) {
      EXPECT_TRUE(std::any_of(metrics.begin(), metrics.end(),
                              [&](const std::string& metric) { return metric.find(part) != std::string::npos; }))
          << chip << " " << part;
    }
  }
}

TEST(MetricSetsTest, AnUnknownSetIsAnErrorWithNearMatches) {
  try {
    BuiltinMetricSet("ful", "GH100");
    FAIL() << "there is no set ful";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("did you mean full"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("roofline"), std::string::npos) << error.what();
  }
  EXPECT_THROW(BuiltinMetricSet("", "GH100"), Error);
}

TEST(MetricSetsTest, ExpandsTheGroupsOfNsightCompute) {
  const Names breakdown = ExpandMetricGroup("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "GH100");
  EXPECT_EQ(breakdown.size(), 204u);
  EXPECT_TRUE(std::is_sorted(breakdown.begin(), breakdown.end()));
  EXPECT_FALSE(ExpandMetricGroup("group:memory__chart", "GA100").empty());
  EXPECT_EQ(ExpandMetricGroup("group:memory__dram_table", "AD104"),
            ExpandMetricGroup("group:memory__shared_table", "AD104"));
  EXPECT_TRUE(ExpandMetricGroup("group:smsp__pcsamp_warp_stall_reasons", "GH100").empty());
  EXPECT_TRUE(ExpandMetricGroup("sm__cycles_active.avg", "GH100").empty());
}

}  // namespace
}  // namespace fa_profile::metric_sets_test
