#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile::gate {

/// The text of a repository's first threshold file, for `fa-profile gate init`: the defaults, written out; what was
/// found, as comments; and rules for it as comments too, which hold for what was found. It limits no more than no file
/// does. `found`: evidence of recordings, saved runs or machine code; may be empty.
std::string FirstThresholds(const std::vector<Evidence>& found);

}  // namespace fa_profile::gate
