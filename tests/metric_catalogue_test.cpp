#include "fa_profile/metric_catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "fa_profile/expression.h"

namespace fa_profile::analyze::metric_catalogue_test {
namespace {

const std::set<std::string_view> kUnits{"ratio",
                                        "count",
                                        "bytes",
                                        "cycles",
                                        "seconds",
                                        "flops",
                                        "threads",
                                        "sectors",
                                        "instructions",
                                        "flops_per_second",
                                        "bytes_per_second",
                                        "flops_per_byte",
                                        "instructions_per_cycle"};

/// The variables that Analyze() sets; a formula may read no other.
const std::set<std::string> kVariables{"device.max_warps_per_sm",
                                       "device.sm_count",
                                       "range.elapsed_correction",
                                       "launch.busy_ns",
                                       "launch.local_memory_per_thread_bytes",
                                       "launch.registers_per_thread",
                                       "launch.shared_memory_per_block_bytes",
                                       "launch.span_ns",
                                       "launch.theoretical_occupancy_ratio",
                                       "launch.waves",
                                       "shape.flops",
                                       "timing.median_ns",
                                       "timing.parts_median_ns"};

bool IsCounter(const std::string& name) { return name.find("__") != std::string::npos; }

TEST(MetricCatalogueTest, EveryIdIsUniqueSnakeCaseAndFindable) {
  std::set<std::string_view> ids;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    EXPECT_TRUE(ids.insert(metric.id).second) << metric.id;
    EXPECT_TRUE(std::ranges::all_of(metric.id, [](char c) { return std::islower(c) || std::isdigit(c) || c == '_'; }))
        << metric.id;
    EXPECT_EQ(FindMetric(metric.id), &metric);
  }
  EXPECT_EQ(FindMetric("no_such_metric"), nullptr);
}

TEST(MetricCatalogueTest, EveryRowIsComplete) {
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    EXPECT_TRUE(kUnits.contains(metric.unit)) << metric.id << ": " << metric.unit;
    EXPECT_FALSE(metric.label.empty()) << metric.id;
    EXPECT_FALSE(metric.source.empty()) << metric.id;
    ASSERT_FALSE(metric.help.empty()) << metric.id;
    EXPECT_EQ(metric.help.back(), '.') << metric.id;
    EXPECT_EQ(metric.help.find('\n'), std::string_view::npos) << metric.id;
  }
}

TEST(MetricCatalogueTest, IdsOfRatiosAndSecondsEndInTheirUnit) {
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    EXPECT_EQ(metric.id.ends_with("_ratio"), metric.unit == "ratio") << metric.id;
    EXPECT_EQ(metric.id.ends_with("_seconds"), metric.unit == "seconds") << metric.id;
    EXPECT_EQ(metric.id.ends_with("_per_second"), metric.unit.ends_with("_per_second")) << metric.id;
  }
}

TEST(MetricCatalogueTest, EveryFormulaParsesAndReadsKnownNames) {
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    EXPECT_NO_THROW(Expression{metric.formula}) << metric.id;
    for (const std::string& name : FormulaNames(metric.formula)) {
      EXPECT_TRUE(IsCounter(name) || kVariables.contains(name)) << metric.id << " reads " << name;
    }
  }
}

TEST(MetricCatalogueTest, EveryVariableIsReadBySomeFormula) {
  std::set<std::string> read;
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    for (std::string& name : FormulaNames(metric.formula)) read.insert(std::move(name));
  }
  for (const std::string& name : kVariables) {
    EXPECT_TRUE(read.contains(name)) << name;
  }
}

TEST(MetricCatalogueTest, InputsAreCountersOnlySortedAndUnique) {
  const std::vector<std::string> inputs = CatalogueInputs();
  EXPECT_TRUE(std::ranges::is_sorted(inputs));
  EXPECT_EQ(std::ranges::adjacent_find(inputs), inputs.end());
  for (const std::string& name : inputs) EXPECT_TRUE(IsCounter(name)) << name;
  EXPECT_TRUE(std::ranges::binary_search(inputs, "sm__throughput.avg.pct_of_peak_sustained_elapsed"));
}

TEST(MetricCatalogueTest, NoFormulaReadsTheTensorCounterThatCountsOncePerWarp) {
  for (const std::string& name : CatalogueInputs()) {
    EXPECT_FALSE(name.starts_with("sm__inst_executed_pipe_tensor.")) << "it counts kernels without tensor instructions";
  }
}

TEST(MetricCatalogueTest, DeterministicMetricsReadNoClocksAndNoRates) {
  for (const CatalogueMetric& metric : MetricCatalogue()) {
    if (metric.stability != Stability::kDeterministic) continue;
    for (const std::string& name : FormulaNames(metric.formula)) {
      for (const char* noisy :
           {"cycles", "time_duration", "pct", "per_second", "throughput", "dram", "lts__", "timing."}) {
        EXPECT_EQ(name.find(noisy), std::string::npos) << metric.id << " reads " << name;
      }
    }
  }
}

TEST(MetricCatalogueTest, NamesInAFormulaExcludeNumbersAndFunctions) {
  EXPECT_EQ(FormulaNames("max(0, b.x - 1e-9) * a__c.sum | 2 * b.x"), (std::vector<std::string>{"a__c.sum", "b.x"}));
  EXPECT_TRUE(FormulaNames("1 + 2").empty());
}

TEST(MetricCatalogueTest, PhaseMetricsAreCompleteAndFindable) {
  std::set<std::string_view> ids;
  for (const CatalogueMetric& metric : PhaseCatalogue()) {
    EXPECT_TRUE(metric.id.starts_with("phase_") && ids.insert(metric.id).second) << metric.id;
    EXPECT_EQ(FindPhaseMetric(metric.id), &metric);
    EXPECT_TRUE(kUnits.contains(metric.unit)) << metric.id << ": " << metric.unit;
    EXPECT_EQ(metric.id.ends_with("_ratio"), metric.unit == "ratio") << metric.id;
    EXPECT_EQ(metric.id.ends_with("_seconds"), metric.unit == "seconds") << metric.id;
    EXPECT_FALSE(metric.label.empty() || metric.source.empty() || metric.help.empty()) << metric.id;
    EXPECT_EQ(metric.help.find('\n'), std::string_view::npos) << metric.id;
  }
  EXPECT_EQ(FindPhaseMetric("duration_seconds"), nullptr);
}

TEST(MetricCatalogueTest, PhaseFormulasReadSumsOverInstructions) {
  for (const CatalogueMetric& metric : PhaseCatalogue()) {
    EXPECT_NO_THROW(Expression{metric.formula}) << metric.id;
    for (const std::string& name : FormulaNames(metric.formula)) {
      const std::string_view variable =
          name.starts_with("kernel.") ? std::string_view(name).substr(7) : std::string_view(name);
      const std::string_view prefix = variable.substr(0, variable.find('.'));
      const std::set<std::string_view> prefixes{"samples", "time", "sass", "inst", "thread_inst", "work"};
      EXPECT_TRUE(prefixes.contains(prefix) || name == "timing.median_ns" || name == "device.sm_count" ||
                  name == "device.sm_clock_max_hz" || (prefix == "metric" && FindMetric(variable.substr(7)) != nullptr))
          << metric.id << " reads " << name;
    }
  }
}

}  // namespace
}  // namespace fa_profile::analyze::metric_catalogue_test
