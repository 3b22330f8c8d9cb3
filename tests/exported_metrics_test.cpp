#include "fa_profile/exported_metrics.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <set>
#include <sstream>
#include <string>

#include "fa_profile/metric_catalogue.h"

namespace fa_profile::exported_metrics_test {
namespace {

std::set<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

TEST(ExportedMetricsTest, NamesAreUniqueAndPrefixed) {
  std::set<std::string_view> names;
  for (const ExportedMetric& metric : ExportedMetrics()) {
    EXPECT_TRUE(metric.name.starts_with("faprof_")) << metric.name;
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    for (const char letter : metric.name) {
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(letter)) || letter == '_') << metric.name;
    }
  }
}

TEST(ExportedMetricsTest, NamesEndInTypeAndUnit) {
  for (const ExportedMetric& metric : ExportedMetrics()) {
    EXPECT_EQ(metric.name.ends_with("_total"), metric.type == ExportedType::kCounter) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_info"), metric.unit == "info") << metric.name;
    EXPECT_EQ(metric.name.ends_with("_ratio"), metric.unit == "ratio" || metric.unit == "change") << metric.name;
    std::string_view stem = metric.name;
    if (stem.ends_with("_total")) stem.remove_suffix(6);
    for (const std::string_view unit : {"seconds", "bytes", "hertz", "watts", "joules", "celsius"}) {
      const bool of_memory = metric.unit == "bytes" && stem.find("bytes") != std::string_view::npos;
      EXPECT_EQ(stem.ends_with(unit) || (unit == "bytes" && of_memory), metric.unit == unit) << metric.name;
    }
  }
}

TEST(ExportedMetricsTest, TheUnitDecidesWhichValuesAreSaneAndOnlyChangesAndTemperaturesMayBeNegative) {
  for (const ExportedMetric& metric : ExportedMetrics()) {
    const ValueBounds bounds = BoundsOf(metric);
    EXPECT_FALSE(bounds.Hold(std::nan(""))) << metric.name;
    EXPECT_TRUE(bounds.Hold(1)) << metric.name;
    EXPECT_EQ(bounds.Hold(-0.5), metric.unit == "change" || metric.unit == "celsius") << metric.name;
    EXPECT_EQ(bounds.Hold(5), metric.unit != "ratio" && metric.unit != "bool" && metric.unit != "info") << metric.name;
    EXPECT_EQ(bounds.Hold(0.5), metric.unit != "bool" && metric.unit != "info") << metric.name;
  }
}

TEST(ExportedMetricsTest, HelpTextsAreOneLine) {
  for (const ExportedMetric& metric : ExportedMetrics()) {
    EXPECT_FALSE(metric.help.empty() || metric.source.empty()) << metric.name;
    EXPECT_EQ(metric.help.find_first_of("\n\\"), std::string_view::npos) << metric.name;
    EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
  }
}

// Who puts these on series has as many series as there are processes, launches or commits.
TEST(ExportedMetricsTest, OnlyInfoMetricsHaveLabelsBeyondIdentity) {
  const std::set<std::string> identity = {"gpu",  "kernel",  "shape", "phase", "reason",    "bottleneck", "case",
                                          "kind", "verdict", "xid",   "code",  "collector", "result"};
  for (const ExportedMetric& metric : ExportedMetrics()) {
    if (metric.unit == "info") continue;
    for (const std::string& label : Words(metric.labels)) {
      EXPECT_TRUE(identity.contains(label)) << metric.name << " has " << label;
    }
  }
}

// A row that names a metric of the catalogues has its help's meaning from there, so the id must exist.
TEST(ExportedMetricsTest, EverySourceIsAKnownMetricId) {
  const std::set<std::string_view> others = {"timing", "ranges", "verification", "stalls", "session",
                                             "gate",   "NVML",   "exporter",     "build",  "samplings"};
  for (const ExportedMetric& metric : ExportedMetrics()) {
    if (others.contains(metric.source) || metric.source.find_first_of(" /") != std::string_view::npos) continue;
    if (metric.source == "getrusage") continue;
    EXPECT_TRUE(FindMetric(metric.source) != nullptr || FindPhaseMetric(metric.source) != nullptr)
        << metric.name << " comes from " << metric.source;
  }
}

}  // namespace
}  // namespace fa_profile::exported_metrics_test
