#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The samples of one case, of metrics of TimelineMetrics(), as series. What has no length, is before the launch, is
/// negative or not a finite number, or is of another metric is left out; absent where nothing is left.
std::optional<CallTimeline> CallTimelineOf(const std::vector<const PmSample*>& samples);

/// How many of them CallTimelineOf() leaves out.
std::int64_t LeftOutOf(const std::vector<const PmSample*>& samples);

}  // namespace fa_profile::analyze
