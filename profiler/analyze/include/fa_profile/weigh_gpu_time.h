#pragma once

#include <optional>
#include <set>
#include <string>

#include "fa_profile/gpu_time.h"
#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The GPU time of the profile's entries: NVTX range; kernel; phase; source line. Whole nanoseconds, which add up.
///
/// A call weighs its median duration; without one the durations of its recorded launches. Its parts share that in
/// proportion to their own durations. A launch class of a watched program weighs the time of all its launches, divided
/// among the NVTX ranges as recorded: anything below a thousandth of the time in ranges is under "(outside NVTX
/// ranges)". Copies and sets of a program are separate nodes, unless `ranges` selects some ranges.
///
/// A kernel's time is divided among its phases by their share of its time, a phase's among source lines by samples.
/// Both are statistical. A kernel that was not sampled has no phases. A kernel that is not correct has no time.
///
/// `profile`: that of `recording`; entries may have been removed. `map` and `source` as in Analyze(). `ranges`: paths
/// of NVTX ranges; if there are any, only launches in them count.
GpuTime WeighGpuTime(const Recording& recording, const Profile& profile,
                     const std::optional<PhaseMap>& map = std::nullopt, PhaseSource source = PhaseSource::kBest,
                     const std::set<std::string>& ranges = {});

}  // namespace fa_profile::analyze
