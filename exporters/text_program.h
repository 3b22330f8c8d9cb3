#pragma once

#include "fa_profile/profile.h"
#include "table.h"

namespace fa_profile::exporters {

/// At most ten lines (at 100 columns) for a reader who sees no more: what ran, how busy the GPU was, which kernels took
/// the time and why, what memory operations took, and where NVTX ranges point. `profile` has a program.
void WriteProgramSummary(TextPage& page, const Profile& profile);

/// Kernels, memory operations and NVTX ranges, a table each; what took less than a thousandth is folded into a line.
/// `profile` has a program.
void WriteProgramTables(TextPage& page, const Profile& profile);

/// The launch classes of the profile, most time first.
std::vector<const ProfileEntry*> ClassesByTime(const Profile& profile);

/// Whether more is known of an entry than how often a watched program launched it, and when.
bool IsMeasured(const Profile& profile, const ProfileEntry& entry);

}  // namespace fa_profile::exporters
