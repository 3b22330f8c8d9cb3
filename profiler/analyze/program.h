#pragma once

#include <cstdint>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Recordings may hold any number: a sum saturates at the greatest, and negative values count as 0.
void AddTo(std::int64_t& sum, std::int64_t value);

/// Where the GPU time of a watched program went: fills in Profile::program, the use of each launch class, and unique
/// names of the classes. More busy time than watched time is a DataLoss. Does nothing for a recording without watch
/// windows.
void AddProgram(const Recording& recording, Profile& profile);

}  // namespace fa_profile::analyze
