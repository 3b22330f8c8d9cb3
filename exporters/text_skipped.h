#pragma once

#include <vector>

#include "fa_profile/kernel_lint.h"
#include "fa_profile/text_page.h"

namespace fa_profile::exporters {

/// How many cubins were found, read and skipped; then what was skipped, a line for each of the first ten reasons, and
/// how many more of `count`. In text_lint.cpp.
void WriteReadAndSkipped(TextPage& page, int found, const std::vector<SkippedFile>& skipped, int count);

}  // namespace fa_profile::exporters
