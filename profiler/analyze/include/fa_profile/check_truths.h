#pragma once

#include <string>
#include <vector>

#include "fa_profile/phase_map.h"
#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/selftest.h"

namespace fa_profile::analyze {

/// The phases of the self-test's kernels, alpha, beta, gamma and sync: each is the function of that name.
PhaseMap SelftestPhases();

/// Checks each truth against the measurements for the entry's case: the recording's counts per instruction and
/// counters, and the entry's own launch and phases (which Analyze() finds with SelftestPhases()). In the order of
/// `truths`. What was not measured fails, unless the recording says that the chip lacks the metric.
///
/// Shares: "time_share" is the phase catalogue's phase_time_ratio; "warp_time_share" is the part of all samples that
/// were at work in the phase, and for sync all that waited for other warps, wherever they were; "work_share" is
/// "warp_time_share" of those at work.
std::vector<TruthCheck> CheckTruths(const Recording& recording, const ProfileEntry& entry,
                                    const std::vector<Truth>& truths);

/// Counters known to lie (docs/measuring.md), each compared with an honest one if its kernel was measured.
std::vector<KnownLie> CheckKnownLies(const Recording& recording);

/// CUPTI metric names that CheckKnownLies() reads.
std::vector<std::string> KnownLieInputs();

}  // namespace fa_profile::analyze
