#pragma once

#include <string>

#include "fa_profile/kernels.h"

namespace fa_profile {

/// "correct, 100 of 100 draws, max error 4.1e-04", or what is wrong.
std::string Describe(const Verification& result);

/// The line that `fa-profile verify --machine-readable` prints of a kernel.
std::string ToJsonLine(const std::string& kernel, const Verification& result);

/// A kernel that crashed has taken the CUDA context with it. Throws an Error that names it, so that the kernels after
/// it are not blamed.
void ThrowIfContextIsLost(const Kernel& kernel, const Verification& result);

/// Verifies a kernel library's kernel in a child process, because its host code may crash: `fa-profile verify` of this
/// program. Throws an Error that names the library when the child is killed by a signal or prints no result.
Verification VerifyInChild(const Kernel& kernel, const std::string& library, const AttentionShape& shape, int draws,
                           int device);

}  // namespace fa_profile
