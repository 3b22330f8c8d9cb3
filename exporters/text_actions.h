#pragma once

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// "What to act on": of each kernel, over all its shapes, the weightiest findings in full and the names of the others;
/// of a program the kernels with the most time. Nothing where nothing was found.
void WriteActions(TextPage& page, const Profile& profile);

}  // namespace fa_profile::exporters
