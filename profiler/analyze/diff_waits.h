#pragma once

#include <vector>

#include "fa_profile/profile_diff.h"

namespace fa_profile::analyze {

/// Whether the entry's phases have PC samples.
bool WasSampled(const ProfileEntry& entry);

/// Whether the instructions of the entry's phases were counted.
bool WereInstructionsCounted(const ProfileEntry& entry);

/// Appends the waits of two calls, with the names in `names`. Lines move when a file is edited: if a phase and kind has
/// equally many places on both sides, they are matched in order. Otherwise a place is the same if its line is, and
/// warps wait there as often; if not, one side is absent. Nothing is appended unless both sides were sampled, with
/// known instructions and known active time of their warps.
void CompareWaits(const ProfileEntry& before, const ProfileEntry& after, const WaitChange& names,
                  std::vector<WaitChange>& waits);

}  // namespace fa_profile::analyze
