#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/profile.h"
#include "phase_sums.h"

namespace fa_profile::analyze {

/// The places where these functions wait for asynchronous work: mbarriers (SYNCS.PHASECHK), groups of warpgroup matrix
/// instructions (WARPGROUP.DEPBAR), of cp.async and of TMA stores (DEPBAR). Most waiting first; waits at the same place
/// are combined. `sampling`: without the branch skid. `warp_cycles`: cycles of all warps in the counted call.
///
///   cycles of an instruction = its share of all samples * warp_cycles / how often warps executed it
///
/// A warp is at work where it does not wait: not at an mbarrier, not for a group, not at a barrier.
std::vector<AsyncWait> AsyncWaitsOf(const std::vector<LabelledFunction>& functions, const PcSampling& sampling,
                                    const SassCounting& counting, double warp_cycles);

/// Sort key that puts places in the order of the source or of the code: ("schedule.h", 126) for "schedule.h:126", ("",
/// 0x3a40) for "0x3a40".
std::pair<std::string, long> OrderOfPlace(const std::string& place);

/// Over all waits for groups of products; nothing if there are none.
std::optional<ProductOverlap> OverlapOf(const std::vector<AsyncWait>& waits);

}  // namespace fa_profile::analyze
