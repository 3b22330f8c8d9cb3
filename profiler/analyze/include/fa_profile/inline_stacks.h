#pragma once

#include <vector>

#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// The inline stack of each instruction of a function, in order; the function owns them.
///
/// They are the line table's but for a warpgroup's matrix instructions (HGMMA and its kin). ptxas gives those no row,
/// so the table's answer is the place of whatever was scheduled before them. A group of them is issued behind a fence,
/// WARPGROUP.ARRIVE, which has a row: they take its stack. Seen in code of CUDA 13.0.
std::vector<const std::vector<InlineFrame>*> InlineStacks(const DeviceFunction& function);

}  // namespace fa_profile::analyze
