#pragma once

#include <string>

#include "fa_profile/profile.h"
#include "table.h"

namespace fa_profile::exporters {

/// One line each: what is wrong, how it was measured, and the cure.
void WriteFindings(TextPage& page, const ProfileEntry& entry);

/// What the entry's phases cost and what they did, a table each, and how they were measured. Nothing without phases.
void WritePhases(TextPage& page, const ProfileEntry& entry);

/// "softmax 55%": the phase with the most time; "n/a" without phases.
std::string TopPhase(const ProfileEntry& entry);

}  // namespace fa_profile::exporters
