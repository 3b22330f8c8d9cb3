#pragma once

#include <string>
#include <vector>

namespace fa_profile {

/// Throws Error, with near matches, for what cannot be a metric's name on any chip: CUPTI's are
/// "sm__cycles_active.avg", a unit, two underscores, a quantity, a dot and a rollup. Needs neither GPU nor CUPTI.
void RequireMetricNames(const std::vector<std::string>& metrics);

/// Throws Error, with near matches, for a counter that none of the chips has which the metric sets are made for; a
/// build without CUDA cannot tell and takes any.
void RequireKnownCounters(const std::vector<std::string>& metrics);

}  // namespace fa_profile
