#include "fa_profile/metric_host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"
#include "fa_profile/timeline_metrics.h"
#include "test_files.h"

namespace fa_profile::collect::metric_host_test {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

Names Subjects(const MetricPlan& plan) {
  Names names;
  for (const DataLoss& loss : plan.refused) names.push_back(loss.subject);
  return names;
}

std::string ReasonFor(const MetricPlan& plan, const std::string& metric) {
  for (const DataLoss& loss : plan.refused) {
    if (loss.subject == metric) return loss.reason;
  }
  return {};
}

bool Equal(const MetricPlan& a, const MetricPlan& b) {
  const auto equal = [](const DataLoss& x, const DataLoss& y) {
    return x.kind == y.kind && x.subject == y.subject && x.reason == y.reason && x.count == y.count;
  };
  return a.chip == b.chip && a.metrics == b.metrics && a.config_image == b.config_image && a.passes == b.passes &&
         std::equal(a.refused.begin(), a.refused.end(), b.refused.begin(), b.refused.end(), equal);
}

class MetricPlanCacheTest : public FolderTest {
 protected:
  fs::path OnlyFile() const {
    const std::vector<fs::directory_entry> entries{fs::directory_iterator(cache_), fs::directory_iterator()};
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? fs::path() : entries[0].path();
  }
  MetricPlan Plan(const Names& metrics) const { return PlanMetrics("GH100", metrics, {}, cache_.string()); }

  const fs::path cache_ = folder_ / "a" / "b";  // does not exist at first
  const Names metrics_ = {"sm__cycles_active.avg", "dram__bytes.sum", "no_such__metric.sum"};
};

// PM sampling takes one pass.
TEST(MetricHostTest, GroupsOfTheTimelineTakeOnePassEach) {
  std::map<std::string_view, Names> groups;
  for (const TimelineMetric& metric : TimelineMetrics()) groups[metric.group].emplace_back(metric.cupti);
  for (const auto& [group, metrics] : groups) {
    const MetricPlan plan = PlanMetrics("GH100", metrics);
    EXPECT_EQ(Subjects(plan), Names{}) << group;
    EXPECT_EQ(plan.passes, 1) << group;
  }
}

TEST(MetricHostTest, KnowsTheSupportedChips) {
  const Names chips = SupportedChips();
  for (const char* chip : {"GA100", "AD104", "GH100", "GB100"}) {
    EXPECT_NE(std::find(chips.begin(), chips.end(), chip), chips.end()) << chip;
  }
}

TEST(MetricHostTest, AnUnknownChipIsAnErrorWithSuggestionsAndKnownChips) {
  try {
    PlanMetrics("GH10O", Names{"sm__cycles_active.avg"});
    FAIL() << "a chip that does not exist was planned for";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("did you mean GH100"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("AD104"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ChipMetrics(""), Error);
  EXPECT_THROW(MetricEvaluator("H200"), Error);
}

TEST(MetricHostTest, AddsAllMetricsInOneConfigurationSoThatTheyShareTheirPasses) {
  const MetricPlan plan =
      PlanMetrics("GH100", Names{"sm__cycles_active.avg", "sm__cycles_active.max", "dram__bytes.sum",
                                 "lts__t_sectors.sum", "gpu__time_duration.sum"});
  EXPECT_EQ(plan.passes, 1);
  EXPECT_EQ(plan.metrics.size(), 5u);
  EXPECT_TRUE(plan.refused.empty());
  EXPECT_FALSE(plan.config_image.empty());
  EXPECT_FALSE(plan.from_cache);
}

TEST(MetricHostTest, KeepsTheOrderAndDropsRepeats) {
  const Names metrics = {"smsp__inst_executed.sum", "sm__cycles_active.avg", "smsp__inst_executed.sum",
                         "dram__bytes.sum"};
  EXPECT_EQ(PlanMetrics("GH100", metrics).metrics,
            (Names{"smsp__inst_executed.sum", "sm__cycles_active.avg", "dram__bytes.sum"}));
}

TEST(MetricHostTest, RefusesUnknownMetricsByNameWithNearMatches) {
  const MetricPlan plan =
      PlanMetrics("GH100", Names{"sm__cycles_activ.avg", "sm__cycles_active.avg", "sm__cycles_active",
                                 "sm__cycles_active.average", "smsp__average_warp_latency_per_inst_issued", "", "."});
  EXPECT_EQ(plan.metrics, Names{"sm__cycles_active.avg"});
  EXPECT_EQ(Subjects(plan), (Names{"sm__cycles_activ.avg", "sm__cycles_active", "sm__cycles_active.average",
                                   "smsp__average_warp_latency_per_inst_issued", "", "."}));
  EXPECT_NE(ReasonFor(plan, "sm__cycles_activ.avg").find(" sm__cycles_active "), std::string::npos);
  EXPECT_NE(ReasonFor(plan, "sm__cycles_active").find(".avg"), std::string::npos);
  EXPECT_NE(ReasonFor(plan, "sm__cycles_active.average").find(".average is not known; the name ends with one of .avg"),
            std::string::npos);
  EXPECT_NE(ReasonFor(plan, "smsp__average_warp_latency_per_inst_issued").find(".ratio"), std::string::npos);
  for (const DataLoss& loss : plan.refused) EXPECT_EQ(loss.kind, "metric_unavailable");
}

TEST(MetricHostTest, NoMetricAtAllIsAnError) {
  EXPECT_THROW(PlanMetrics("GH100", Names{}), Error);
  try {
    PlanMetrics("GA100", Names{"lrc__ilc_input_sectors.sum"});
    FAIL() << "GA100 has no such unit";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("lrc__ilc_input_sectors.sum"), std::string::npos) << error.what();
  }
}

TEST(MetricHostTest, RefusesTheSmallerGroupOfUnitsThatCannotShareAPass) {
  const MetricPlan both = PlanMetrics("GH100", Names{"pcie__read_bytes.sum.per_second", "sm__cycles_active.avg",
                                                     "sm__inst_executed.sum", "nvltx__bytes.sum.per_second"});
  EXPECT_EQ(both.metrics, (Names{"sm__cycles_active.avg", "sm__inst_executed.sum"}));
  EXPECT_EQ(Subjects(both), (Names{"pcie__read_bytes.sum.per_second", "nvltx__bytes.sum.per_second"}));
  EXPECT_NE(ReasonFor(both, "pcie__read_bytes.sum.per_second").find("together"), std::string::npos);

  const MetricPlan alone =
      PlanMetrics("GH100", Names{"pcie__read_bytes.sum.per_second", "nvltx__bytes.sum.per_second"});
  EXPECT_EQ(alone.metrics.size(), 2u);
  EXPECT_TRUE(alone.refused.empty());
}

TEST(MetricHostTest, FindsASingleMetricThatCannotShareAPass) {
  // The time goes with PCIe, and so does the unit's name; the throughput, of the same unit, does not.
  const Names links = {"pcie__read_bytes.sum.per_second", "pcie__write_bytes.sum.per_second",
                       "pcie__read_bytes.avg.per_second"};
  Names metrics = links;
  metrics.insert(metrics.begin() + 1,
                 {"gpu__time_duration.sum", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"});
  const MetricPlan plan = PlanMetrics("GH100", metrics);
  EXPECT_EQ(plan.metrics, (Names{links[0], "gpu__time_duration.sum", links[1], links[2]}));
  EXPECT_EQ(Subjects(plan), Names{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"});
  EXPECT_NE(plan.refused[0].reason.find("together"), std::string::npos);
  EXPECT_EQ(plan.passes, 1);
}

TEST(MetricHostTest, RefusesAMetricThatCuptiListsAndCannotConfigure) {
  const std::string metric = "CTC.TriageCompute.ctc__throughput.avg.pct_of_peak_sustained_elapsed";
  const MetricPlan plan = PlanMetrics("GH100", Names{"sm__cycles_active.avg", metric, "dram__bytes.sum"});
  EXPECT_EQ(plan.metrics, (Names{"sm__cycles_active.avg", "dram__bytes.sum"}));
  EXPECT_EQ(ReasonFor(plan, metric), "CUPTI lists it but cannot configure it");
  EXPECT_THROW(PlanMetrics("GH100", Names{metric}), Error);
}

struct SetPlan {
  const char* chip;
  const char* set;
  std::size_t accepted;
  int passes;
  Names refused_units;  // units of refused metrics, sorted
};

void PrintTo(const SetPlan& plan, std::ostream* out) { *out << plan.chip << " " << plan.set; }

class MetricSetPlanTest : public testing::TestWithParam<SetPlan> {};

// Written down from CUPTI 13.0 and documented in docs/metric-sets.md; another CUPTI may plan otherwise, and then this
// is where it shows.
TEST_P(MetricSetPlanTest, EverySetIsPlannedAndItsMissingMetricsAreNamed) {
  const SetPlan& expected = GetParam();
  const MetricSet set = BuiltinMetricSet(expected.set, expected.chip);
  const MetricPlan plan = PlanMetrics(expected.chip, set.metrics);
  EXPECT_EQ(plan.metrics.size(), expected.accepted);
  EXPECT_EQ(plan.passes, expected.passes);
  EXPECT_EQ(plan.metrics.size() + plan.refused.size(), set.metrics.size());
  Names units;
  for (const std::string& name : Subjects(plan)) units.push_back(name.substr(0, name.find("__")));
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  EXPECT_EQ(units, expected.refused_units);
}

const Names kLinks = {"nvlrx", "nvltx", "pcie"};

INSTANTIATE_TEST_SUITE_P(
    AllChips, MetricSetPlanTest,
    testing::Values(SetPlan{"GA100", "basic", 268, 9, {}}, SetPlan{"GA100", "detailed", 636, 15, kLinks},
                    SetPlan{"GA100", "full", 1322, 42, kLinks}, SetPlan{"GA100", "roofline", 680, 14, {}},
                    SetPlan{"GA100", "phases", 15, 1, {}}, SetPlan{"AD104", "basic", 264, 7, {}},
                    SetPlan{"AD104", "detailed", 590, 14, {"pcie"}}, SetPlan{"AD104", "full", 1310, 37, {"pcie"}},
                    SetPlan{"AD104", "roofline", 724, 16, {}}, SetPlan{"AD104", "phases", 15, 1, {}},
                    SetPlan{"AD104", "triage", 15, 1, {}}, SetPlan{"GH100", "basic", 292, 9, {}},
                    SetPlan{"GH100", "detailed", 750, 17, kLinks}, SetPlan{"GH100", "full", 1837, 34, kLinks},
                    SetPlan{"GH100", "roofline", 1034, 16, {}}, SetPlan{"GH100", "phases", 20, 1, {}},
                    SetPlan{"GH100", "triage", 24, 2, {}}, SetPlan{"GB100", "basic", 292, 8, {}},
                    SetPlan{"GB100", "detailed", 713, 17, kLinks},
                    SetPlan{"GB100", "full", 1945, 37, {"TPC.TriageCompute.sm", "nvlrx", "nvltx", "pcie"}},
                    SetPlan{"GB100", "roofline", 1190, 14, {}}, SetPlan{"GB100", "phases", 20, 1, {}},
                    SetPlan{"GB100", "triage", 24, 2, {}}),
    [](const testing::TestParamInfo<SetPlan>& test) { return std::string(test.param.chip) + "_" + test.param.set; });

TEST_F(MetricPlanCacheTest, ASecondRunGetsTheIdenticalPlan) {
  const Names full = BuiltinMetricSet("full", "GH100").metrics;
  const MetricPlan cold = Plan(full);
  EXPECT_FALSE(cold.from_cache);
  const MetricPlan warm = Plan(full);
  EXPECT_TRUE(warm.from_cache);
  EXPECT_TRUE(Equal(cold, warm));
  EXPECT_EQ(OnlyFile().extension(), ".bin");  // no temporary is left
}

TEST_F(MetricPlanCacheTest, ADifferentRequestGetsADifferentPlan) {
  Plan(metrics_);
  EXPECT_FALSE(Plan({"sm__cycles_active.avg"}).from_cache);
  EXPECT_FALSE(PlanMetrics("GA100", metrics_, {}, cache_.string()).from_cache);
  EXPECT_TRUE(Plan(metrics_).from_cache);
  EXPECT_FALSE(PlanMetrics("GH100", metrics_).from_cache);
}

TEST_F(MetricPlanCacheTest, ADamagedCacheFileIsIgnoredAndRewritten) {
  const MetricPlan good = Plan(metrics_);
  const fs::path file = OnlyFile();
  const std::string bytes = ReadFile(file);
  ASSERT_GT(bytes.size(), 100u);
  const auto write = [&](const std::string& content) { std::ofstream(file, std::ios::binary) << content; };
  std::vector<std::string> damaged = {"",
                                      "FAPLAN01",
                                      bytes.substr(0, 8),
                                      bytes.substr(0, 15),
                                      bytes.substr(0, 24),
                                      bytes.substr(0, bytes.size() - 1),
                                      bytes + "x"};
  for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 50) {
    damaged.push_back(bytes);
    damaged.back()[i] ^= 0x10;
  }
  for (const std::string& content : damaged) {
    write(content);
    const MetricPlan again = Plan(metrics_);
    EXPECT_FALSE(again.from_cache);
    EXPECT_TRUE(Equal(again, good));
    EXPECT_EQ(ReadFile(file), bytes);
  }
  EXPECT_TRUE(Plan(metrics_).from_cache);
}

TEST_F(MetricPlanCacheTest, AnUnwritableCacheIsNotAnError) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "a") << "a file where a folder should be";
  EXPECT_EQ(Plan(metrics_).metrics.size(), 2u);
  EXPECT_EQ(Plan(metrics_).metrics.size(), 2u);
}

TEST(MetricEvaluatorTest, InvalidCounterDataIsAnError) {
  const std::vector<std::uint8_t> empty;
  const std::vector<std::uint8_t> zeros(4096);
  for (const std::vector<std::uint8_t>* image : {&empty, &zeros}) {
    EXPECT_THROW(MetricEvaluator::NumRanges(*image), Error) << image->size();
    EXPECT_THROW(MetricEvaluator::RangeName(*image, 0), Error) << image->size();
    EXPECT_THROW(MetricEvaluator("GH100").Evaluate(*image, 0, Names{"sm__cycles_active.avg"}), Error) << image->size();
  }
}

TEST(ChipMetricsTest, ListsBaseNamesWithTypeAndDescription) {
  const std::vector<ChipMetric> metrics = ChipMetrics("GH100");
  EXPECT_EQ(metrics.size(), 3389u + 205u + 56u);
  EXPECT_TRUE(
      std::is_sorted(metrics.begin(), metrics.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  const auto cycles =
      std::find_if(metrics.begin(), metrics.end(), [](const auto& m) { return m.name == "sm__cycles_active"; });
  ASSERT_NE(cycles, metrics.end());
  EXPECT_EQ(cycles->type, "counter");
  EXPECT_FALSE(cycles->description.empty());
  EXPECT_FALSE(cycles->unit.empty());
}

}  // namespace
}  // namespace fa_profile::collect::metric_host_test
