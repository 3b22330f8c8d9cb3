#pragma once

#include "fa_profile/evidence.h"
#include "fa_profile/kernel_lint.h"

namespace fa_profile::gate {

/// The parts of a lint that the gate compares: instructions summed over loops, spills and arrays over loads and stores.
/// The name lacks nvcc's hash of the source's path, so two checkouts give the same name.
CodeFacts ToCodeFacts(const KernelLint& lint);

}  // namespace fa_profile::gate
