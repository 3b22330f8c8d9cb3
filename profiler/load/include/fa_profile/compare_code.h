#pragma once

#include <map>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// For the cases in both recordings, by CallName(): whether the machine code of their kernels, with the constants that
/// it reads, and their launches are the same. A case whose code is missing in one of them is left out: phases were not
/// measured, or a kernel could not be looked into. Both recordings were loaded with their cubins.
std::map<std::string, bool> CompareCode(const Recording& before, const Recording& after);

}  // namespace fa_profile::load
