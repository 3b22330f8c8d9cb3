#pragma once

#include <string>

#include "fa_profile/profile.h"

namespace fa_profile::analyze {

/// "compute" (SM or tensor cores) or "memory", whichever is used more, from 60 % of its peak (the threshold of Nsight
/// Compute's rules); else "latency". Empty: the entry lacks compute_sol_ratio or memory_sol_ratio.
std::string BottleneckOf(const ProfileEntry& entry);

/// The numbers for `entry.bottleneck`: "DRAM 71 % of peak: the nearest limit"; for latency the reason that its warps
/// wait for most, "latency: long_scoreboard 44 %, SM 51 % of peak". Empty without a bottleneck.
std::string BottleneckEvidence(const ProfileEntry& entry);

}  // namespace fa_profile::analyze
