#pragma once

#include <vector>

#include "control_flow.h"

namespace fa_profile::analyze {

/// By block, the number of loops around it. Loops may have several entries. Nests deeper than 64 are not distinguished.
///
/// Wei, Mao, Zou, Chen: A New Algorithm for Identifying Loops in Decompilation (SAS 2007): one walk, in which each
/// block learns the innermost header of a loop around it.
std::vector<int> LoopDepths(const std::vector<BasicBlock>& blocks);

}  // namespace fa_profile::analyze
