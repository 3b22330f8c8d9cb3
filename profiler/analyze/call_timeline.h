#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The samples of one case, for metrics in TimelineMetrics(), as series. Samples that have no length, precede the
/// launch, are negative or not finite, or belong to another metric are left out; absent if nothing is left.
std::optional<CallTimeline> CallTimelineOf(const std::vector<const PmSample*>& samples);

/// How many of them CallTimelineOf() leaves out.
std::int64_t LeftOutOf(const std::vector<const PmSample*>& samples);

}  // namespace fa_profile::analyze
