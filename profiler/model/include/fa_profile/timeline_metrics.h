#pragma once

#include <span>
#include <string_view>

namespace fa_profile {

/// A metric of the timeline inside a call, from CUPTI's PM sampling.
struct TimelineMetric {
  std::string_view id;     ///< as in PmSample: "tensor"
  std::string_view label;  ///< "tensor pipe"
  std::string_view cupti;  ///< in percent of what the unit can do in the time
  std::string_view group;  ///< metrics of a group are sampled in the same launch: the hardware takes one at a time
};

/// Ordered by group.
std::span<const TimelineMetric> TimelineMetrics();

/// Null: none has this id.
const TimelineMetric* FindTimelineMetric(std::string_view id);

}  // namespace fa_profile
