#pragma once

#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The inline stack of each instruction of a function, in order; the function owns them.
///
/// They are the line table's but for instructions that ptxas gives no row, so that the table's answer is the place of
/// whatever was scheduled before them. Seen in code of CUDA 13.0:
/// - A warpgroup's matrix instructions (HGMMA and its kin). A group of them is issued after a fence, WARPGROUP.ARRIVE,
///   which has a row: they take its stack.
/// - A wait for an mbarrier that is asked early, and the branch on its answer. The loop that asks again has rows: they
///   take its stack.
std::vector<const std::vector<InlineFrame>*> InlineStacks(const DeviceFunction& function);

}  // namespace fa_profile::analyze
