#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fa_profile/cubin.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/lint.h"

namespace fa_profile::load {

/// What a cubin says about one of its kernels, ready for Lint() except for the disassembled function.
analyze::KernelCode ToKernelCode(const std::string& file, const std::string& architecture, const sass::CubinInfo& info,
                                 const sass::CubinFunction& function);

/// The symbols of a cubin's kernels whose C++ names are wanted.
std::vector<std::string> WantedKernels(const sass::CubinInfo& info,
                                       const std::function<bool(const std::string& name)>& is_wanted);

/// These kernels of a cubin, disassembled, in the order of `symbols`. `file` names the cubin in the result. Throws
/// Error: nvdisasm fails, or does not list one of them.
std::vector<analyze::KernelCode> DisassembleKernels(const std::string& file, const sass::EmbeddedCubin& cubin,
                                                    const sass::CubinInfo& info,
                                                    const std::vector<std::string>& symbols,
                                                    const std::string& nvdisasm);

}  // namespace fa_profile::load
