#include "fa_profile/metric_names.h"

#include "fa_profile/error.h"
#include "fa_profile/metric_sets.h"

namespace fa_profile {
namespace {

std::vector<std::string> CountersOfSets() {
  std::set<std::string> names;
  for (const std::string& chip : MetricSetChips()) {
    for (const std::string& set : MetricSetNames()) {
      for (const std::string& metric : BuiltinMetricSet(set, chip).metrics) names.emplace(MetricBase(metric));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::string_view MetricBase(std::string_view metric) {
  const std::size_t unit = metric.find("__");
  return metric.substr(0, metric.find('.', unit == std::string_view::npos ? 0 : unit));
}

void RequireMetricNames(const std::vector<std::string>& metrics) {
  for (const std::string& metric : metrics) {
    const std::string base(MetricBase(metric));
    const bool has_unit = base.find("__") != std::string::npos;
    if (has_unit && metric.size() > base.size() + 1) continue;
    const std::string where = "--metrics: '" + metric + "'";
    if (has_unit) throw Error(where + " has no rollup", "add one: " + base + ".avg or .sum");
    throw Error(where + " is not a metric's name" + DidYouMean(base, CountersOfSets()),
                "a name has a unit, a quantity and a rollup, as sm__cycles_active.avg; fa-profile list counters lists "
                "the names of a chip");
  }
}

void RequireKnownCounters(const std::vector<std::string>& metrics, const std::set<std::string>& counters) {
  if (counters.empty()) return;
  for (const std::string& metric : metrics) {
    const std::string base(MetricBase(metric));
    if (counters.contains(base)) continue;
    std::string names;
    for (const std::string& chip : MetricSetChips()) names += (names.empty() ? "" : ", ") + chip;
    throw Error("--metrics: there is no counter '" + base + "' on " + names +
                    DidYouMean(base, {counters.begin(), counters.end()}),
                "fa-profile list counters --chip CHIP lists the counters of a chip");
  }
}

}  // namespace fa_profile
