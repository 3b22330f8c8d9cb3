#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// The text of a repository's first threshold file, for `fa-profile gate init`: the defaults, written out; and as
/// comments what was found, and rules that hold for it. It limits nothing beyond what applies without a file. `found`:
/// evidence from recordings, saved runs or machine code; may be empty.
std::string FirstThresholds(const std::vector<Evidence>& found);

}  // namespace fa_profile::gate
