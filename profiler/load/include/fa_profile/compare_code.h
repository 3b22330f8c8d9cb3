#pragma once

#include <map>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::load {

/// Of the cases that both recordings hold, by CallName(): whether the machine code of their kernels, with the constants
/// that it reads, and their launches are the same. A case whose code one of them does not hold is not there: phases
/// were not measured, or a kernel was not seen inside. Both recordings were loaded with their cubins.
std::map<std::string, bool> CompareCode(const Recording& before, const Recording& after);

}  // namespace fa_profile::load
