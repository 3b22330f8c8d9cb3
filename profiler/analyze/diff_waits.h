#pragma once

#include <vector>

#include "fa_profile/profile_diff.h"

namespace fa_profile::analyze {

/// Whether the entry's phases have PC samples.
bool WasSampled(const ProfileEntry& entry);

/// Whether the instructions of the entry's phases were counted.
bool WereInstructionsCounted(const ProfileEntry& entry);

/// The waits of two calls, appended with the names in `names`. Lines move when a file is edited: if a phase and kind
/// has as many places on both sides, they are the same in their order. Otherwise a place is the same if its line is,
/// and warps wait as often there; else one side is absent. Nothing is appended unless both sides were sampled, and know
/// their instructions and how long their warps were active.
void CompareWaits(const ProfileEntry& before, const ProfileEntry& after, const WaitChange& names,
                  std::vector<WaitChange>& waits);

}  // namespace fa_profile::analyze
