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
/// A call weighs its median duration; without one the durations of its recorded launches. Its parts share it as their
/// own durations do. A launch class of a watched program weighs the time of all its launches, divided among the NVTX
/// ranges as recorded: what takes less than a thousandth of the time in ranges is under "(outside NVTX ranges)". Copies
/// and sets of a program are nodes of their own, unless `ranges` chooses some ranges.
///
/// A kernel's time divides among its phases by their share of its time, a phase among source lines by samples. Both are
/// statistical. A kernel that was not sampled has no phases. A kernel that is not correct has no time.
///
/// `profile`: of `recording`; entries may have been removed. `map` and `source` as in Analyze(). `ranges`: paths of
/// NVTX ranges; where there are some, only what was launched in them counts.
GpuTime WeighGpuTime(const Recording& recording, const Profile& profile,
                     const std::optional<PhaseMap>& map = std::nullopt, PhaseSource source = PhaseSource::kBest,
                     const std::set<std::string>& ranges = {});

}  // namespace fa_profile::analyze
