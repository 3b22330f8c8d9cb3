#pragma once

#include <string>

#include "fa_profile/evidence.h"
#include "fa_profile/kernel_lint.h"

namespace fa_profile::gate {

/// A demangled name without the namespaces that depend on where, or for which architectures, it was built: two builds
/// of a kernel have the same.
std::string LastingName(std::string name);

/// The parts of a lint that the gate compares: instructions summed over loops, spills and arrays over loads and stores.
CodeFacts ToCodeFacts(const KernelLint& lint);

}  // namespace fa_profile::gate
