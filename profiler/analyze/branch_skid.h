#pragma once

#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The samples with those of the slot after a taken branch given back to the branch.
///
/// A warp that has issued a branch is sampled at the next instruction in memory until the branch is taken: on GH100 for
/// about 5 cycles, as `selected` once and `wait` for the rest, also when that instruction is never executed. In a loop
/// of 16 dependent FFMAs that is 7 % of the time, which would go to the code after the loop. Of an instruction
/// after a branch, `selected` and `wait` are shared between the two by how often the branch was taken and how often
/// the instruction was executed; all its samples are the branch's when it was never executed. Counts decide, so a
/// function that was not counted keeps its samples as they are, and so do instructions after divergent branches
/// whose two ways were both taken.
PcSampling WithoutBranchSkid(const std::vector<const DeviceFunction*>& functions, const PcSampling& sampling,
                             const SassCounting& counting);

}  // namespace fa_profile::analyze
