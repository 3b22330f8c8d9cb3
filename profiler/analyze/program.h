#pragma once

#include <cstdint>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Recordings may hold any number: a sum stays at the greatest, and what is below 0 counts as 0.
void AddTo(std::int64_t& sum, std::int64_t value);

/// Where the GPU time of a watched program went: Profile::program, the use of each launch class, and names of the
/// classes that are unique. More busy time than watched time is a DataLoss. Does nothing for a recording without watch
/// windows.
void AddProgram(const Recording& recording, Profile& profile);

}  // namespace fa_profile::analyze
