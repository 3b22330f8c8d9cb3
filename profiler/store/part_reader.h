#pragma once

#include <vector>

#include "fa_profile/recording.h"
#include "rows.h"

namespace fa_profile::store {

// Pieces that take rows of several tables. Each throws Error (damaged) for what no PieceWriter wrote.

std::vector<Timing> LoadTimings(TableReader& tables);
/// All metrics, by id. A name belongs to one.
std::vector<MetricName> LoadMetricNames(TableReader& tables);
std::vector<CounterConfig> LoadConfigs(TableReader& tables, const std::vector<MetricName>& metrics);
/// Of the values those of `metrics`.
std::vector<Range> LoadRanges(TableReader& tables, std::vector<MetricName> metrics);
/// Code and what its instructions did, from a file of version 2 at least.
void LoadCode(TableReader& tables, const std::vector<MetricName>& metrics, Recording& recording);

}  // namespace fa_profile::store
