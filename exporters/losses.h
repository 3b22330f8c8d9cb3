#pragma once

#include "fa_profile/recording.h"

namespace fa_profile::exporters {

/// False: a name in a metric set for which the hardware has no counter; a report only counts these.
inline bool IsOfACounter(const DataLoss& loss) { return loss.kind != "metric_not_a_counter"; }

}  // namespace fa_profile::exporters
