#pragma once

#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The samples, with those of the slot after a taken branch returned to the branch.
///
/// A warp that has issued a branch is sampled at the next instruction in memory until the branch is taken: on GH100 for
/// about 5 cycles, once as `selected` and as `wait` for the rest, even if that instruction is never executed. In a loop
/// of 16 dependent FFMAs that is 7 % of the time, which would go to the code after the loop. For an instruction after a
/// branch, `selected` and `wait` are divided between the two by how often the branch was taken and how often the
/// instruction was executed; if it was never executed, all its samples belong to the branch. Counts decide, so
/// functions that were not counted keep their samples unchanged, and so do instructions after divergent branches that
/// went both ways.
PcSampling WithoutBranchSkid(const std::vector<const DeviceFunction*>& functions, const PcSampling& sampling,
                             const SassCounting& counting);

}  // namespace fa_profile::analyze
