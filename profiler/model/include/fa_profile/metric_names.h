#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// "TPC.TriageCompute.sm__cycles_active" of "TPC.TriageCompute.sm__cycles_active.avg": a metric's name without rollup
/// and submetric. Dots before the unit belong to the base name. The whole text when it has no rollup.
std::string_view MetricBase(std::string_view metric);

/// Throws Error, with near matches, for what cannot be the name of a metric on any chip: CUPTI's are
/// "sm__cycles_active.avg", a unit, two underscores, a quantity, a dot and a rollup.
void RequireMetricNames(const std::vector<std::string>& metrics);

/// Throws Error, with near matches, for a metric whose base name is not in `counters`, the base names that the chips of
/// MetricSetChips() have. Empty `counters`: they are not known, and every name is accepted.
void RequireKnownCounters(const std::vector<std::string>& metrics, const std::set<std::string>& counters);

}  // namespace fa_profile
