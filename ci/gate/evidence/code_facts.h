#pragma once

#include "fa_profile/evidence.h"
#include "fa_profile/kernel_lint.h"

namespace fa_profile {

/// The part of a lint that the gate compares: instructions summed over loops, spills and arrays over loads and stores.
/// The name is without what nvcc makes of the source's path, so that two checkouts give the same.
CodeFacts ToCodeFacts(const KernelLint& lint);

}  // namespace fa_profile
