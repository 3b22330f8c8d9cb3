#pragma once

#include <optional>
#include <set>
#include <string>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/timeline.h"

namespace fa_profile::analyze {

/// The order of events on the recording's GPU, as far as it is known, and where GPU time went.
///
/// Recorded launches are slices of their stream with their recorded durations, with the phases of sampled kernels
/// nested in them: a phase's length is its share of the samples, and its position is not measured. A recording of calls
/// (the ladder) holds one call of each case, taken minutes apart: the time between calls is cut, and each slice states
/// its recorded start. A recording of a watched program holds one launch of each class; nothing is cut.
///
/// Items with a duration but no recorded start are laid end to end on tracks named accordingly: calls without launches,
/// and all the time of a program, by what launched it and by NVTX range.
///
/// Arguments are those of WeighGpuTime().
Timeline MakeTimeline(const Recording& recording, const Profile& profile,
                      const std::optional<PhaseMap>& map = std::nullopt, PhaseSource source = PhaseSource::kBest,
                      const std::set<std::string>& ranges = {});

}  // namespace fa_profile::analyze
