#include <fmt/format.h>

#include <iostream>

#include "commands.h"
#include "fa_profile/error.h"
#include "fa_profile/metric_catalogue.h"
#include "fa_profile/metric_sets.h"
#include "gpu_lists.h"

namespace fa_profile {

int RunList(const std::string& what, const std::string& chip, const std::string& pattern) {
  const auto wanted = [&pattern](std::string_view name) { return name.find(pattern) != std::string_view::npos; };
  if (what == "kernels") {
    ListKernels(pattern);
  } else if (what == "counters") {
    ListCounters(chip, pattern);
  } else if (what == "chips") {
    ListChips();
  } else if (what == "sets") {
    for (const std::string& name : MetricSetNames()) {
      if (!wanted(name)) continue;
      const MetricSet set = BuiltinMetricSet(name, chip);
      fmt::print("{:<10} {:>5} metrics  {}\n", set.name, set.metrics.size(), set.description);
    }
  } else {
    for (const CatalogueMetric& metric : MetricCatalogue()) {
      if (wanted(metric.id)) fmt::print("{:<44} {:<18} {}\n", metric.id, metric.unit, metric.help);
    }
  }
  return kExitFine;
}

}  // namespace fa_profile
