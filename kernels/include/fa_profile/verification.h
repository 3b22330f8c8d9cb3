#pragma once

#include <string>

#include "fa_profile/kernels.h"

namespace fa_profile {

/// "correct, 100 of 100 draws, max error 4.1e-04", or what is wrong.
std::string Describe(const Verification& result);

/// A kernel that crashed has taken the CUDA context with it. Throws an Error that names it, so that later kernels are
/// not blamed.
void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result);

}  // namespace fa_profile
