#pragma once

#include <string>

#include "fa_profile/cubin.h"
#include "fa_profile/lint.h"

namespace fa_profile {

/// What a cubin says of one of its kernels, ready for Lint() but for the disassembled function.
KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const CubinInfo& info,
                        const CubinFunction& function);

}  // namespace fa_profile
