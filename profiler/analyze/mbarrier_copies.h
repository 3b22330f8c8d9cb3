#pragma once

#include <cstddef>
#include <vector>

#include "mbarrier_waits.h"

namespace fa_profile::analyze {

/// By wait of `waits`: the copies that complete its mbarrier, as indices of instructions in the order of the code.
/// Copies are TMA's (UTMALDG, UBLKCP) and those of cp.async (ARRIVES.LDGSTSBAR).
///
/// Mbarriers are told apart by the constant parts of their addresses in shared memory, which are not 0 (the first KiB
/// is CUDA's) unless the address is unknown. The stages of one array count as one. Empty: other warps complete it, or
/// the copies were not found.
std::vector<std::vector<std::size_t>> CopiesWaitedFor(const DeviceFunction& function,
                                                      const std::vector<MbarrierWait>& waits);

}  // namespace fa_profile::analyze
