#include "gpu_lists.h"

#include <fmt/format.h>

#include "fa_profile/kernels.h"
#include "fa_profile/metric_host.h"
#include "fa_profile/metric_sets.h"

namespace fa_profile {

void ListKernels(const std::string& pattern) {
  for (const Kernel* const kernel : Ladder()) {
    if (kernel->id().find(pattern) == std::string::npos) continue;
    fmt::print("{} {:<16} {}\n", kernel->rung(), kernel->id(), kernel->teaches());
  }
}

void ListCounters(const std::string& chip, const std::string& pattern) {
  for (const ChipMetric& metric : ChipMetrics(chip)) {
    if (metric.name.find(pattern) == std::string::npos) continue;
    fmt::print("{:<64} {:<10} {}\n", metric.name, metric.type, metric.description);
  }
}

void ListChips() {
  for (const std::string& chip : SupportedChips()) fmt::print("{}\n", chip);
}

std::vector<std::string> KnownChips() { return SupportedChips(); }

std::set<std::string> KnownCounters() {
  std::set<std::string> names;
  for (const std::string& chip : MetricSetChips()) names.merge(CounterNames(chip));
  return names;
}

}  // namespace fa_profile
