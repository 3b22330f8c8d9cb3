#pragma once

#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// What was not read, a line for each of the first ten reasons, and how many more of `count`. In text_lint.cpp.
void WriteSkippedCode(TextPage& page, const std::vector<SkippedFile>& skipped, int count);

}  // namespace fa_profile::exporters
