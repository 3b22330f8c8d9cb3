#pragma once

#include <vector>

#include "fa_profile/profile_diff.h"

namespace fa_profile::analyze {

/// The waits of two calls, appended with the names in `names`. A place is the same one if phase, kind and line are.
/// Lines move when a file is edited: if those left of a phase and kind are as many on both sides, they are the same in
/// their order; otherwise one side is absent. Nothing is appended unless both sides know how long their warps were
/// active.
void CompareWaits(const ProfileEntry& before, const ProfileEntry& after, const WaitChange& names,
                  std::vector<WaitChange>& waits);

}  // namespace fa_profile::analyze
