#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// A metric's name without rollup and submetric: "TPC.TriageCompute.sm__cycles_active" for
/// "TPC.TriageCompute.sm__cycles_active.avg". Dots before the unit belong to the base name. The whole text if it has no
/// rollup.
std::string_view MetricBase(std::string_view metric);

/// Throws Error, with near matches, for text that cannot be a metric's name on any chip: CUPTI's look like
/// "sm__cycles_active.avg", a unit, two underscores, a quantity, a dot and a rollup.
void RequireMetricNames(const std::vector<std::string>& metrics);

/// Throws Error, with near matches, for a metric whose base name is not in `counters`, the base names on the chips of
/// MetricSetChips(). Empty `counters`: they are not known, and every name is accepted.
void RequireKnownCounters(const std::vector<std::string>& metrics, const std::set<std::string>& counters);

}  // namespace fa_profile
