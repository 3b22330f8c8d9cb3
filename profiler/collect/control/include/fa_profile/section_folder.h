#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/metric_sets.h"

namespace fa_profile::collect {

/// Reads the `.section` files (protobuf text format) of an installed Nsight Compute and gives the metrics of set
/// `set` for a compute capability (`cc` = 10*major + minor), applying the files' architecture filters. Names that no
/// hardware counter can give go to `omitted` with the reason. Throws Error: folder absent, no .section file in it, a
/// file that does not parse (file:line), no section belongs to the set (the sets found are offered).
MetricSet ReadSectionFolder(const std::string& folder, std::string_view set, int cc);

}  // namespace fa_profile::collect
