#pragma once

#include <string>

#include "fa_profile/cubin.h"
#include "fa_profile/evidence.h"
#include "fa_profile/lint.h"

namespace fa_profile {

/// What a cubin says of one of its kernels, ready for Lint() but for the disassembled function.
KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const CubinInfo& info,
                        const CubinFunction& function);

/// The part of a lint that the gate compares: instructions summed over loops, spills and arrays over loads and stores.
/// The name is without what nvcc makes of the source's path, so that two checkouts give the same.
CodeFacts ToCodeFacts(const KernelLint& lint);

}  // namespace fa_profile
