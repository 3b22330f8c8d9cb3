#pragma once

#include <string>
#include <vector>

#include "fa_profile/cubin.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/lint.h"

namespace fa_profile {

/// What a cubin says of one of its kernels, ready for Lint() but for the disassembled function.
KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const CubinInfo& info,
                        const CubinFunction& function);

/// These kernels of a cubin, disassembled, in the order of `symbols`. `file` names it in the result. Throws Error:
/// nvdisasm fails, or does not list one of them.
std::vector<KernelCode> DisassembleKernels(const std::string& file, const EmbeddedCubin& cubin, const CubinInfo& info,
                                           const std::vector<std::string>& symbols, const std::string& nvdisasm);

}  // namespace fa_profile
