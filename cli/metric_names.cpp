#include "metric_names.h"

#include <algorithm>
#include <set>

#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"
#include "gpu_lists.h"

namespace fa_profile {
namespace {

// "TPC.TriageCompute.sm__cycles_active" of "TPC.TriageCompute.sm__cycles_active.avg": dots in front of the unit belong
// to it. The whole text when there is no rollup.
std::string Base(const std::string& metric) {
  const std::size_t unit = metric.find("__");
  return metric.substr(0, metric.find('.', unit == std::string::npos ? 0 : unit));
}

std::vector<std::string> CountersOfSets() {
  std::set<std::string> names;
  for (const std::string& chip : MetricSetChips()) {
    for (const std::string& set : MetricSetNames()) {
      for (const std::string& metric : BuiltinMetricSet(set, chip).metrics) names.insert(Base(metric));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

void RequireMetricNames(const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics) {
    const std::string base = Base(metric);
    const bool has_unit = base.find("__") != std::string::npos;
    if (has_unit && metric.size() > base.size() + 1) continue;
    if (has_unit) throw Error("--metrics: '" + metric + "' has no rollup", "for example " + base + ".avg or .sum");
    throw Error("--metrics: '" + metric + "' is not a metric's name" + DidYouMean(base, CountersOfSets()),
                "it has a unit, a quantity and a rollup, as sm__cycles_active.avg; fa-profile list counters lists a "
                "chip's");
  }
}

void RequireKnownCounters(const std::vector<std::string>& metrics) {
  if (metrics.empty()) return;
  const std::set<std::string> known = KnownCounters();
  if (known.empty()) return;
  for (const std::string& metric : metrics) {
    const std::string base = Base(metric);
    if (known.contains(base)) continue;
    std::string chips;
    for (const std::string& chip : MetricSetChips()) chips += (chips.empty() ? "" : ", ") + chip;
    throw Error(
        "--metrics: there is no counter '" + base + "' on " + chips + DidYouMean(base, {known.begin(), known.end()}),
        "fa-profile list counters --chip CHIP lists a chip's");
  }
}

}  // namespace fa_profile
