#pragma once

#include "fa_profile/profile.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// "What to act on": for each kernel, over all its shapes, the weightiest findings in full and the names of the others;
/// for a program the kernels with the most time. Writes nothing if nothing was found.
void WriteActions(TextPage& page, const Profile& profile);

}  // namespace fa_profile::exporters
