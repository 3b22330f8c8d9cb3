#pragma once

#include <set>
#include <string>

#include "commands.h"
#include "fa_profile/profile.h"

namespace fa_profile::cli {

/// Removes the entries that --kernel, --nvtx and --shape do not select, and with a selection the losses of other calls.
/// Returns the paths of the NVTX ranges that --nvtx selects. Throws Error that names what there is where nothing
/// matches. `path`: of the recording, for errors.
std::set<std::string> SelectEntries(const std::string& path, const ReportFilter& filter, Profile& profile);

}  // namespace fa_profile::cli
