#pragma once

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"

namespace fa_profile::analyze {

/// Where the GPU time of a watched program went: Profile::program, the use of each launch class, and names of the
/// classes that are unique. More busy time than watched time is a DataLoss. Does nothing for a recording without watch
/// windows.
void AddProgram(const Recording& recording, Profile& profile);

}  // namespace fa_profile::analyze
