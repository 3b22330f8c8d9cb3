#pragma once

#include <vector>

#include "fa_profile/profile.h"
#include "phase_sums.h"

namespace fa_profile::analyze {

/// The places where these functions wait for asynchronous work: mbarriers (SYNCS.PHASECHK), groups of warpgroup matrix
/// instructions (WARPGROUP.DEPBAR), of cp.async and of TMA's stores (DEPBAR). Most waiting first; waits at one place
/// are one. `warp_cycles`: cycles of all warps of the call that was counted.
///
/// cycles of an instruction = its share of all samples * warp_cycles / how often warps executed it
std::vector<AsyncWait> AsyncWaitsOf(const std::vector<LabelledFunction>& functions, const PcSampling& sampling,
                                    const SassCounting& counting, double warp_cycles);

}  // namespace fa_profile::analyze
